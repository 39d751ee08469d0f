import { Refusal } from './errors.ts'

const fieldsMax = 32

const formTypes: ReadonlySet<string> = new Set(['application/x-www-form-urlencoded', 'multipart/form-data'])
export const isForm = (mediaType: string): boolean => formTypes.has(mediaType)

const refuse = (message: string): Refusal => new Refusal('invalid_json', { message })

const entriesOf = async (text: string, contentType: string): Promise<[string, unknown][]> => {
  if (!/^multipart\/form-data\b/i.test(contentType.trim())) return [...new URLSearchParams(text)]
  try {
    return [...(await new Response(text, { headers: { 'content-type': contentType } }).formData())]
  } catch {
    throw refuse('The form cannot be read.')
  }
}

/** The fields of a form. A field that is repeated or holds a file is refused: two parsers could choose different values. */
export const readForm = async (text: string, contentType: string): Promise<Record<string, unknown>> => {
  const entries = await entriesOf(text, contentType)
  const names = new Set(entries.map(([name]) => name))
  if (entries.length > fieldsMax || names.size < entries.length)
    throw refuse(`A form has at most ${fieldsMax} fields, each of them once.`)
  if (entries.some(([, value]) => typeof value !== 'string'))
    throw refuse('A field of this form holds a file.')
  // Defines own properties, also for a name such as __proto__.
  return Object.fromEntries(entries)
}

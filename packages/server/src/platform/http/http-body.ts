import type { FastifyInstance, FastifyRequest } from 'fastify'
import { jsonTextFault } from '@pohf/verify/approvals'
import { Refusal } from './errors.ts'
import { headerOf } from './http-headers.ts'
import { isNestedTooDeep, nestingMax } from './json-depth.ts'

const fieldsMax = 32

const formTypes: ReadonlySet<string> = new Set(['application/x-www-form-urlencoded', 'multipart/form-data'])
const isForm = (mediaType: string): boolean => formTypes.has(mediaType)

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
const readForm = async (text: string, contentType: string): Promise<Record<string, unknown>> => {
  const entries = await entriesOf(text, contentType)
  const names = new Set(entries.map(([name]) => name))
  if (entries.length > fieldsMax || names.size < entries.length)
    throw refuse(`A form has at most ${fieldsMax} fields, each of them once.`)
  if (entries.some(([, value]) => typeof value !== 'string'))
    throw refuse('A field of this form holds a file.')
  // Defines own properties, also for a name such as __proto__.
  return Object.fromEntries(entries)
}

/** Endpoints that pages of any site call with text/plain, for which browsers send no CORS preflight. */
const browserLimitGroups: ReadonlySet<string> = new Set(['beacon', 'sessions', 'telemetry'])

/**
 * Reads a body as JSON if its type is JSON, missing, or it comes from a page; an empty body is {}. Signed text stays text.
 * A row with its key in the body reads forms too.
 */
export const addBodyParser = (app: FastifyInstance): void => {
  const parseJson = app.getDefaultJsonParser('error', 'error')
  const readJson = (request: FastifyRequest, text: string) =>
    new Promise<unknown>((resolve, reject) => {
      void parseJson(request, text, (error, value) =>
        error ? reject(new Refusal('invalid_json')) : resolve(value),
      )
    })
  const readBody = async (request: FastifyRequest, body: string | Buffer): Promise<unknown> => {
    const text = typeof body === 'string' ? body : body.toString('utf8')
    // Before anything walks the value: schemas and serializers recurse, and deep nesting exhausts the stack.
    if (isNestedTooDeep(text))
      throw new Refusal('invalid_json', { message: `The body is nested deeper than ${nestingMax} levels.` })
    const { endpoint } = request
    if (endpoint?.textBody) return text
    if (text.trim() === '') return {}
    const contentType = headerOf(request, 'content-type') ?? ''
    const type = contentType.split(';')[0]?.trim().toLowerCase() ?? ''
    if (endpoint?.auth === 'secret' && isForm(type)) return readForm(text, contentType)
    const isFromPage = browserLimitGroups.has(endpoint?.limit ?? '')
    if (type !== '' && type !== 'application/json' && !type.endsWith('+json') && !isFromPage)
      throw new Refusal('unsupported_media_type')
    const value = await readJson(request, text)
    const fault = endpoint?.exactJson ? jsonTextFault(text) : undefined
    if (fault)
      throw new Refusal('invalid_json', {
        message: 'Another program could read other values than ours from this body.',
        details: [{ path: 'body', ...fault }],
      })
    return value
  }
  /** Keeps the body of an order without a key as it was sent, and its fault until the caller is known. */
  const readOrKeep = async (request: FastifyRequest, body: string | Buffer): Promise<unknown> => {
    if (request.endpoint?.auth !== 'order' || request.agent) return readBody(request, body)
    request.bodyText = typeof body === 'string' ? body : body.toString('utf8')
    try {
      return await readBody(request, body)
    } catch (error) {
      request.bodyFault = error instanceof Error ? error : new Refusal('invalid_json')
      return {}
    }
  }
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'string' }, readOrKeep)
}

import { jsonTextFault } from '@pohf/verify/approvals'
import { emptyList, type ReaderList } from '@pohf/protocol/statements'

// The issuers and agents that the reader of the page knows. The file has two fields of the policy of @pohf/verify. It is kept in
// this browser and read from nowhere else: whoever sends a link must not decide what is green.

export type ReadList =
  { readonly ok: true; readonly list: ReaderList } | { readonly ok: false; readonly message: string }

/** A list of 100 long addresses has 26 kB. */
export const charsMax = 65_536
const entriesMax = 100
const entryCharsMax = 256
const storageKey = 'pohf-reader-list'

const fields: Readonly<Record<keyof ReaderList, { readonly form: RegExp; readonly words: string }>> = {
  trustedIssuers: {
    form: /^[^\p{C}]+$/u,
    words: 'the address or name of an issuer, as credentials write it',
  },
  pinnedAgents: { form: /^agt_[A-Za-z0-9_]+$/, words: 'the id of an agent, which begins with agt_' },
}

const refused = (message: string): ReadList => ({ ok: false, message })

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** What is wrong with one field; undefined where nothing is. */
const fieldFault = (name: keyof ReaderList, value: unknown): string | undefined => {
  if (value === undefined) return undefined
  if (!Array.isArray(value)) return `${name} must be a list.`
  if (value.length > entriesMax) return `${name} has ${value.length} entries; there can be ${entriesMax}.`
  const { form, words } = fields[name]
  const wrong = value.findIndex(
    (entry) => typeof entry !== 'string' || entry.length > entryCharsMax || !form.test(entry),
  )
  return wrong === -1
    ? undefined
    : `${name}[${wrong}] must be ${words}, of at most ${entryCharsMax} characters.`
}

/** Reads the text of a policy file. Anything that is not understood is refused: it could be a misspelt field. */
export const readList = (text: string): ReadList => {
  if (text.length > charsMax) return refused(`This has more than ${charsMax} characters.`)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return refused('This is not JSON.')
  }
  const fault = jsonTextFault(text)
  if (fault) return refused(`This ${fault.message}.`)
  if (!isObject(value)) return refused('This must be an object with trustedIssuers or pinnedAgents.')
  const unknown = Object.keys(value).find((key) => !Object.hasOwn(fields, key))
  if (unknown !== undefined)
    return refused(
      `${unknown.slice(0, 64)} is not known here: this page reads trustedIssuers and pinnedAgents alone.`,
    )
  const { trustedIssuers = [], pinnedAgents = [] } = value as Partial<ReaderList>
  const wrong = fieldFault('trustedIssuers', trustedIssuers) ?? fieldFault('pinnedAgents', pinnedAgents)
  return wrong === undefined ? { ok: true, list: { trustedIssuers, pinnedAgents } } : refused(wrong)
}

/** As the file has it, to be read and changed. */
export const listText = (list: ReaderList): string => JSON.stringify(list, null, 2)

export type KeptList = { readonly list: ReaderList; readonly message?: string }

/** The list of this browser. What is kept is checked like a file; without a usable one nobody is listed. */
export const loadList = (): KeptList => {
  let text: string | null
  try {
    text = localStorage.getItem(storageKey)
  } catch {
    return { list: emptyList, message: 'This browser keeps nothing for this page, so no list was read.' }
  }
  if (text === null) return { list: emptyList }
  const read = readList(text)
  return read.ok
    ? { list: read.list }
    : { list: emptyList, message: `The kept list is not used. ${read.message}` }
}

/** Keeps the list, or removes it where it is empty. False where the browser keeps nothing. */
export const keepList = (list: ReaderList): boolean => {
  try {
    if (list.trustedIssuers.length + list.pinnedAgents.length === 0) localStorage.removeItem(storageKey)
    else localStorage.setItem(storageKey, listText(list))
    return true
  } catch {
    return false
  }
}

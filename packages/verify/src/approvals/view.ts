import type { ActionType, ApprovalPolicy, Envelope } from './envelope.ts'
import { hashJson } from './envelope.ts'
import type { Json } from './json.ts'
import { notesOf, visibleText, type TextNote } from './visible-text.ts'

/** The name of these rules. Other rules get another name, so that a view hash says by which rules it was made. */
export const viewName = 'approval-1'

/** What a value is, so that the text "5" and the number 5 are not shown alike. `absent`: a critical field that the action lacks. */
export type ValueKind = 'text' | 'number' | 'boolean' | 'null' | 'list' | 'object' | 'absent'

/** A field as it is shown. `text` has every character that shows nothing replaced by its code point. */
export type ShownField = {
  readonly path: string
  readonly label: string
  readonly kind: ValueKind
  readonly text: string
  readonly notes: readonly TextNote[]
}

/** Everything that the page shows of an envelope, in its order. The page shows no other word of the requester. */
export type ApprovalView = {
  readonly view: typeof viewName
  readonly type: string
  readonly typeVersion: number
  /** Null where the type is not registered. */
  readonly title: string | null
  readonly critical: readonly ShownField[]
  readonly fields: readonly ShownField[]
  readonly words: { readonly title: ShownField; readonly summary: ShownField }
  readonly audience: string
  readonly requestId: string
  readonly approvers: readonly string[]
  readonly policy: ApprovalPolicy
  readonly decideBy: string
  readonly consumeBy: string
}

const kindOf = (value: Json): ValueKind => {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'list'
  if (typeof value === 'string') return 'text'
  return typeof value === 'object' ? 'object' : typeof value === 'number' ? 'number' : 'boolean'
}

const textOf = (value: Json): string => {
  if (typeof value === 'string') return value
  return typeof value === 'object' && value !== null ? (Array.isArray(value) ? '[]' : '{}') : String(value)
}

/** The keys of a pointer, each for itself: the number of an item does not stand beside a letter of the key before it. */
const partsOf = (path: string): string[] => path.split(/(\/|~[01])/)

/** `label`: the administrator's; without one the pointer is shown, whose keys are the requester's words too. */
const showField = (path: string, label: string | undefined, value: Json): ShownField => {
  const text = textOf(value)
  const parts = partsOf(path)
  const notes = new Set([...notesOf(text), ...(label === undefined ? parts.flatMap(notesOf) : [])])
  const shownPath = parts.map(visibleText).join('')
  return {
    path: shownPath,
    label: label === undefined ? shownPath || '/' : visibleText(label),
    kind: kindOf(value),
    text: visibleText(text),
    notes: [...notes],
  }
}

const pointer = (path: string, key: string): string =>
  `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`

/** Every value that is no container, and every empty container, in the order of canonical JSON. */
const leavesOf = (value: Json, path = ''): { readonly path: string; readonly value: Json }[] => {
  if (typeof value !== 'object' || value === null) return [{ path, value }]
  const entries = Object.entries(value)
  if (entries.length === 0) return [{ path, value }]
  // By UTF-16 code units, as RFC 8785 sorts; the items of an array keep their order.
  const sorted = Array.isArray(value) ? entries : entries.toSorted(([a], [b]) => (a < b ? -1 : 1))
  return sorted.flatMap(([key, inner]) => leavesOf(inner, pointer(path, key)))
}

/** Whether a field is at a pointer or below it. */
const isWithin = (path: string, parent: string): boolean => path === parent || path.startsWith(`${parent}/`)

type Leaf = { readonly path: string; readonly shown: ShownField }

/**
 * The critical fields in the administrator's order. One that the action lacks is shown as absent: leaving it out is a choice
 * too.
 */
const criticalOf = (leaves: readonly Leaf[], { critical, labels }: ActionType): ShownField[] => {
  const found = critical.flatMap((parent) => {
    const within = leaves.filter(({ path }) => isWithin(path, parent)).map(({ shown }) => shown)
    return within.length > 0
      ? within
      : [{ ...showField(parent, labels[parent] ?? parent, ''), kind: 'absent' as const }]
  })
  return [...new Set(found)]
}

/** The view of an envelope by the rules `approval-1`; `definition` is undefined where the type is not registered. */
export const approvalView = (envelope: Envelope, definition: ActionType | undefined): ApprovalView => {
  if (
    envelope.typeVersion !== (definition?.version ?? 0) ||
    (definition && definition.type !== envelope.type)
  )
    throw new TypeError('@pohf/verify: the action type is not the one of the envelope')
  const leaves = leavesOf(envelope.action).map(({ path, value }) => ({
    path,
    shown: showField(path, definition?.labels[path], value),
  }))
  const all = leaves.map(({ shown }) => shown)
  // Without a registered type nobody said what matters, so everything does.
  const critical = definition ? criticalOf(leaves, definition) : all
  return {
    view: viewName,
    type: visibleText(envelope.type),
    typeVersion: envelope.typeVersion,
    title: definition ? visibleText(definition.title) : null,
    critical,
    fields: all.filter((field) => !critical.includes(field)),
    words: {
      title: showField('/title', 'title', envelope.words.title),
      summary: showField('/summary', 'summary', envelope.words.summary),
    },
    audience: visibleText(envelope.audience),
    requestId: visibleText(envelope.requestId),
    approvers: envelope.approvers,
    policy: envelope.policy,
    decideBy: envelope.decideBy,
    consumeBy: envelope.consumeBy,
  }
}

/**
 * The first field with a character that no value may have; undefined where there is none. The service refuses a request that has
 * one, so such a view is of a stored or foreign envelope, and nobody may approve it.
 */
export const refusedField = ({ critical, fields }: ApprovalView): ShownField | undefined =>
  [...critical, ...fields].find(({ notes }) => notes.includes('not_permitted'))

/** SHA-256 over the canonical JSON of the view: what a decision says was shown. */
export const viewHash = (view: ApprovalView): Promise<string> => hashJson(view)

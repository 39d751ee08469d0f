import type { ShownField } from '@pohf/verify/approvals'

/** A part of a shown text: as it is, or a code point in place of a character that shows nothing. */
export type TextPart = { readonly text: string; readonly isMark: boolean }

/** The parts of a shown text. Only the renderer writes these brackets, so no text of the requester becomes a mark. */
export const partsOf = (shown: string): TextPart[] =>
  shown
    .split(/(\u27e6U\+[0-9A-F]{4,6}\u27e7)/u)
    .filter((text) => text !== '')
    .map((text) =>
      text.startsWith('\u27e6') ? { text: text.slice(1, -1), isMark: true } : { text, isMark: false },
    )

/** Values longer than this are in a box of their own, which must be read to its end. */
const longCharacters = 600
const longLines = 12
export const isLong = ({ text }: ShownField): boolean =>
  text.length > longCharacters || text.split('\n').length > longLines

/** Codes, accounts and addresses: every character counts, so they are set in a fixed width. */
export const isCode = ({ text }: ShownField): boolean => /^[\w./:@+-]{12,}$/.test(text) && /\d/.test(text)

/** Short enough to be shown large. */
export const isHeadline = ({ text, kind }: ShownField): boolean =>
  (kind === 'text' || kind === 'number') && text.length > 0 && text.length <= 16

export type Progress = { readonly done: number; readonly of: number; readonly hits: number }

/** With more misses, or fewer hits among the questions, the service cannot verify the recording any more. */
const hitShareMin = 0.6
export const isAnswered = ({ done, of, hits }: Progress): boolean =>
  done >= of && hits > 0 && hits / done >= hitShareMin
export const isMissed = (progress: Progress): boolean =>
  progress.done > 0 && progress.done >= progress.of && !isAnswered(progress)

/** A recording in view for less than this is not verified, whatever the policy asks for. */
export const secondsMin = 3

type Readiness = {
  /** The action has a character that no value may have. */
  readonly isRefused: boolean
  readonly phase: 'opening' | 'running' | 'stopped'
  readonly progress: Progress
  /** Long values that were not read to the end. */
  readonly unread: readonly Pick<ShownField, 'path' | 'label'>[]
  readonly secondsLeft: number
  readonly retryAt: string | null
  /** A recording of this request is finished and waits to be used. */
  readonly isRecorded: boolean
}
/** What has to happen before the person can approve; undefined where nothing has to. */
export type Blocker =
  | { readonly what: 'rate'; readonly at: string }
  | { readonly what: 'opening' | 'stopped' | 'missed' | 'question' | 'refused' }
  | { readonly what: 'scroll'; readonly path: string; readonly label: string }
  | { readonly what: 'seconds'; readonly n: number }

export const blockerOf = (readiness: Readiness): Blocker | undefined => {
  const { phase, progress, unread, secondsLeft, retryAt } = readiness
  if (readiness.isRefused) return { what: 'refused' }
  if (retryAt !== null) return { what: 'rate', at: retryAt }
  if (readiness.isRecorded) return undefined
  if (phase !== 'running') return { what: phase }
  if (isMissed(progress)) return { what: 'missed' }
  if (!isAnswered(progress)) return { what: 'question' }
  const [next] = unread
  if (next) return { what: 'scroll', path: next.path, label: next.label }
  return secondsLeft > 0 ? { what: 'seconds', n: secondsLeft } : undefined
}

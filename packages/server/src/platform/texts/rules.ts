import { findHost } from './hosts.ts'
import { viewOf, type Span, type TextView } from './view.ts'

// What a question and the words of its form may not have, by whichever endpoint it is ordered. Workers see them as plain text
// in any case: these rules keep a buyer from leading workers elsewhere. They do not understand a text: an operator reviews the
// orders of new buyers, and workers report what passes both.

/** Of one text that does not say otherwise. */
const textMax = 2_000
/** How much of the refused part an error shows. */
const shownMax = 60

type TextRule = {
  readonly code: string
  readonly message: string
  readonly find: (view: TextView) => Span | undefined
}

const personal =
  'name|surname|e-?mail|phone|telephone|mobile|address|password|passcode|pin|ssn|social security|passport|identity card|id card|driving licen[cs]e|iban|bank|credit card|card number|date of birth|birthday|account|login|wallet|seed phrase|private key'

const findInOriginal =
  (pattern: RegExp) =>
  ({ original }: TextView): Span | undefined => {
    const match = pattern.exec(original)
    return match ? [match.index, match.index + match[0].length] : undefined
  }
const findInView =
  (pattern: RegExp) =>
  ({ text, positionOf }: TextView): Span | undefined => {
    const match = pattern.exec(text)
    return match ? [positionOf(match.index), positionOf(match.index + match[0].length)] : undefined
  }

/** Nine to fifteen digits that begin as a telephone number does, or three groups of an American one; a date is neither. */
const telephone =
  /(?<![\w.])(?!\d{1,2}[./-]\d{1,2}[./-]\d{2,4})(?:\+\s?\d|\(0|00|0[1-9])(?:[ ()/.-]{0,2}\d){7,14}(?!\w)|(?<!\w)\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4}(?!\w)/u

/** In the order in which they are checked. Each run is bounded: an unbounded one would take time by the square of a text. */
const textRules: readonly TextRule[] = [
  {
    code: 'invisible_character',
    message: 'has a character that a reader does not see',
    // Joiners and variation selectors are parts of words and of emoji.
    find: findInOriginal(
      /(?!\t|\n|\u200c|\u200d|\ufe0e|\ufe0f)[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Default_Ignorable_Code_Point}]/u,
    ),
  },
  { code: 'html', message: 'must be plain text', find: findInView(/<\s{0,8}[/!?]?\s{0,8}[a-z]/u) },
  {
    code: 'personal_data',
    message: 'has a mail address or a telephone number',
    find: findInView(new RegExp(`[^\\s@]{1,64}@[^\\s@]{1,255}|${telephone.source}`, 'u')),
  },
  {
    code: 'handle',
    message: 'has the name of an account: workers contact nobody',
    find: findInView(/@[\p{L}\p{N}_]{2}[\p{L}\p{N}_.-]{0,60}/u),
  },
  {
    code: 'link',
    message: 'has a link or something like a host: workers answer from what they know',
    find: findHost,
  },
  {
    code: 'names_person',
    message: 'has the id of a worker, a member or a recording',
    find: findInView(/\b(?:wrk|mem|per|ses|asg)_[a-z0-9_-]{4,}/u),
  },
  {
    code: 'asks_personal_data',
    message: 'asks a worker for data about themselves',
    find: findInView(
      new RegExp(
        `\\byour\\s+(?:[a-z]+\\s+){0,2}(?:${personal})\\b|\\b(?:one[- ]time|verification|security) code\\b`,
        'u',
      ),
    ),
  },
]

/** The refused part as an error shows it; what nobody sees, by its number. */
const showPart = (text: string, [start, end]: Span): string => {
  const part = text.slice(start, Math.min(end, start + shownMax))
  return JSON.stringify(part).replaceAll(
    /[\p{Cf}\p{Co}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  )
}

/** The first rule that a text breaks, with the part that breaks it; empty where it breaks none. */
export const textErrors = (
  text: string,
  path: string,
  max = textMax,
): { readonly path: string; readonly code: string; readonly message: string }[] => {
  // Characters that NFKC writes out may double it.
  if (text.length > max || text.normalize('NFKC').length > 2 * max)
    return [{ path, code: 'too_big', message: `must have at most ${max} characters` }]
  const view = viewOf(text)
  for (const { code, message, find } of textRules) {
    const span = find(view)
    if (span) return [{ path, code, message: `${message}: ${showPart(text, span)}` }]
  }
  return []
}

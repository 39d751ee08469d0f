// What a question and the words of its form may not have, by whichever endpoint it is ordered. Workers see them as plain text
// in any case: these rules keep a buyer from leading workers elsewhere and from collecting data about people in plain words.
// They do not understand a question: a buyer who writes around them is reported by workers, who return the question.

/** Of one text. Characters that NFKC writes out may double it. */
const textMax = 2_000
const writtenOutMax = 2 * textMax

type TextRule = { readonly code: string; readonly message: string; readonly pattern: RegExp }

const topLevels = 'com|net|org|io|co|app|dev|me|ly|info|biz|xyz|site|online|shop|gg|ai|eu|de|uk|ru|cn'
const personal =
  'name|surname|e-?mail|phone|telephone|mobile|address|password|passcode|pin|ssn|social security|passport|identity card|id card|driving licen[cs]e|iban|bank|credit card|card number|date of birth|birthday|account|login|wallet|seed phrase|private key'

/** In the order in which they are checked. Each run is bounded: an unbounded one would take time by the square of a text. */
const textRules: readonly TextRule[] = [
  {
    code: 'invisible_character',
    message: 'has a character that a reader does not see',
    pattern: /(?![\t\n\u200c\u200d])[\p{Cc}\p{Cf}\p{Co}\p{Cs}]/u,
  },
  { code: 'html', message: 'must be plain text', pattern: /<\s{0,8}[/!?]?\s{0,8}[a-z]/i },
  {
    code: 'personal_data',
    message: 'has a mail address or a telephone number',
    pattern: /[^\s@]{1,64}@[^\s@]{1,255}\.[^\s@]{2}|\+\d[\d ()-]{7,20}\d/,
  },
  {
    code: 'link',
    message: 'has a link: workers answer from what they know',
    pattern: new RegExp(
      `[a-z][a-z0-9+.-]{0,30}://|\\bwww\\.|\\b(?:mailto|tel|javascript|data):\\S|\\b[a-z0-9-]{1,63}\\.(?:[a-z0-9-]{1,63}\\.){0,8}(?:${topLevels})\\b(?:/|\\b)`,
      'i',
    ),
  },
  {
    code: 'names_person',
    message: 'has the id of a worker, a member or a recording',
    pattern: /\b(?:wrk|mem|per|ses|asg)_[a-z0-9_-]{4,}/i,
  },
  {
    code: 'asks_personal_data',
    message: 'asks a worker for data about themselves',
    pattern: new RegExp(
      `\\byour\\s+(?:[a-z]+\\s+){0,2}(?:${personal})\\b|\\b(?:one[- ]time|verification|security) code\\b`,
      'i',
    ),
  },
]

/** The first rule that a text breaks; empty where it breaks none. */
export const textErrors = (
  text: string,
  path: string,
): { readonly path: string; readonly code: string; readonly message: string }[] => {
  const writtenOut = text.length > textMax ? '' : text.normalize('NFKC')
  if (text.length > textMax || writtenOut.length > writtenOutMax)
    return [{ path, code: 'too_big', message: `must have at most ${textMax} characters` }]
  const broken = textRules.find(({ pattern }) => pattern.test(writtenOut))
  return broken ? [{ path, code: broken.code, message: broken.message }] : []
}

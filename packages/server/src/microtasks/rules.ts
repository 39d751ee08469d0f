import type { Line } from '../ledger/index.ts'
import { hmacOf } from '../platform/ops/secrets.ts'

/** How often a visitor who is trusted is shown a known-answer item. */
const knownAnswerShare = 0.2
/** The share of the agent's own questions among these, while the visitor has not seen all of them. */
const ownShare = 0.5
/** A visitor with at least `gradedMin` graded answers is trusted only if this share of them, `accuracyMin`, is right. */
const gradedMin = 4
const accuracyMin = 0.6
/** A question is given up after this many times `agreement` answers of trusted visitors without agreement. */
const answersPerAgreement = 3
/** A question is given up after this many answers in all, including those of visitors who are no longer trusted. */
export const answersMax = 50
/** Nobody reads a question and answers it sooner. */
export const answerMsMin = 1_000

/** How a visitor of a campaign did. */
export type VisitorAccuracy = {
  /** Items that the visitor has done. */
  readonly done: number
  /** Questions of the agent whose right answer is known, or on which people agreed. What the service makes does not count. */
  readonly graded: number
  readonly correct: number
  /** Whether the latest answer that could be graded was right, to a question or to what the service made. */
  readonly lastCorrect: boolean
}
export const newVisitor: VisitorAccuracy = { done: 0, graded: 0, correct: 0, lastCorrect: false }

/**
 * Whether answers of the visitor count. A visitor who answers pictures and guesses questions loses the trust after a few
 * questions, and right answers to pictures do not restore it.
 */
export const isTrusted = ({ graded, correct, lastCorrect }: VisitorAccuracy): boolean =>
  lastCorrect && (graded < gradedMin || correct >= accuracyMin * graded)

const fractionOf = (key: Buffer, ...fields: readonly (string | number)[]): number =>
  hmacOf(key)
    .update(JSON.stringify(['slot', ...fields]))
    .digest()
    .readUIntBE(0, 6) /
  2 ** 48

export type SlotKind = 'generated' | 'known' | 'open'
type VisitorPlace = { readonly visitor: string; readonly campaignId: string }
/**
 * The kind of the visitor's next item. It depends on the visitor and the number of items that they have done, never on
 * chance, so that fetching again gives the same kind. A visitor who is not trusted gets only items that the service makes,
 * because nobody can collect their answers.
 */
export const slotOf = (key: Buffer, place: VisitorPlace, standing: VisitorAccuracy): SlotKind => {
  if (!isTrusted(standing)) return 'generated'
  const fraction = fractionOf(key, place.visitor, place.campaignId, standing.done)
  if (fraction >= knownAnswerShare) return 'open'
  return fraction < knownAnswerShare * ownShare ? 'known' : 'generated'
}

/** Which of the candidates a visitor is shown. */
export const chooseQuestion = <Q extends { readonly n: number }>(
  key: Buffer,
  { visitor, campaignId }: VisitorPlace,
  candidates: readonly Q[],
): Q | undefined => {
  let first: { readonly question: Q; readonly rank: number } | undefined
  for (const question of candidates) {
    const rank = fractionOf(key, visitor, campaignId, 'question', question.n)
    if (!first || rank < first.rank) first = { question, rank }
  }
  return first?.question
}

/** A visitor's pseudonym in a campaign: a keyed hash of the member, or of the network and the day. */
export const visitorOf = (
  key: Buffer,
  campaignId: string,
  who: { readonly memberId: string } | { readonly network: string; readonly day: string },
): string =>
  hmacOf(key)
    .update(JSON.stringify(['visitor', campaignId, who]))
    .digest()
    .subarray(0, 16)
    .toString('base64url')

/** Whether people agree on an answer; undefined while they may still. */
export const agreementOf = (
  answers: readonly string[],
  agreement: number,
): { readonly agreed: string } | 'disagreed' | undefined => {
  const counts = new Map<string, number>()
  for (const answer of answers) {
    const count = (counts.get(answer) ?? 0) + 1
    if (count >= agreement) return { agreed: answer }
    counts.set(answer, count)
  }
  return answers.length >= agreement * answersPerAgreement ? 'disagreed' : undefined
}

/**
 * Whether an answer that expired without agreement is paid: somebody else gave the same one, and no other was given more often.
 * An answer that nobody else gave may be a guess.
 */
export const isShared = (answers: readonly string[], answer: string): boolean => {
  const counts = Map.groupBy(answers, (one) => one)
  const count = counts.get(answer)?.length ?? 0
  return count >= 2 && [...counts.values()].every((others) => others.length <= count)
}

const normalizeText = (text: string): string =>
  text
    .trim()
    .toLowerCase()
    .replaceAll(/[\s,.]+/g, ' ')
    .trim()

/** Whether the answer is not empty. */
export const isAnswered = (answer: unknown): boolean =>
  answer !== undefined && answer !== null && !(typeof answer === 'string' && answer.trim() === '')

/** Whether a typed answer is the expected one; digits may be grouped. */
export const isExpected = (expected: string, answer: unknown): boolean => {
  if (typeof answer !== 'string' && typeof answer !== 'number') return false
  const typed = normalizeText(String(answer))
  const plain = /^[\d ]+$/.test(typed) ? typed.replaceAll(' ', '') : typed
  return plain === normalizeText(expected)
}

/** The option that an answer names; undefined for any other answer. */
export const optionOf = (options: readonly string[], answer: unknown): string | undefined =>
  typeof answer === 'string' ? options.find((option) => option === answer) : undefined

/** The Stars that a campaign has left, and those that wait for agreement. */
export const budgetAccountOf = (campaignId: string): string => `tasks:${campaignId}`
export const heldAccountOf = (campaignId: string): string => `tasks_held:${campaignId}`
export const starLines = (from: string, to: string, stars: number): Line[] => [
  { account: from, unit: 'star', amount: -BigInt(stars) },
  { account: to, unit: 'star', amount: BigInt(stars) },
]

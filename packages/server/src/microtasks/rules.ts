import type { Line } from '../ledger/index.ts'
import { hmacOf } from '../platform/ops/secrets.ts'

/** How often a visitor who is trusted is shown a known-answer item. */
const knownAnswerShare = 0.2
/** Of these, how many are the agent's own, where it has some that the visitor has not seen. */
const ownShare = 0.5
/** From so many graded answers on, this share of them must be right. */
const gradedMin = 4
const accuracyMin = 0.6
/** A question that so many times the agreement has answered without agreeing is given up. */
const answersPerAgreement = 3
/** A question is given up at so many answers in all, also of visitors who lost the trust after they answered. */
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
 * Whether answers of the visitor count. Who reads pictures and guesses the rest loses the trust after a few questions, and no
 * picture gives it back.
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
 * What a visitor is shown next. It depends on the visitor and on what they have done, never on chance: who fetches again gets
 * the same. A visitor who is not trusted is shown only what the service made, whose answers nobody can collect.
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

/** A visitor's name in a campaign: a member, or a network on one day. Without the key it leads to neither. */
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
 * Whether an answer that waited in vain is paid: somebody else gave the same, and none was given more often. An answer that nobody
 * joined may be a guess.
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

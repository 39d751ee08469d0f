import type { Tx } from '../platform/db/db.ts'
import {
  claimPlace,
  storeCompletion,
  taskCompletionOf,
  unverifiedAnswer,
  type CompletionDeps,
  type TaskAnswer,
} from './completion.ts'
import { holdReward, payReward } from './rewards.ts'
import { isTrusted, newVisitor, optionOf } from './rules.ts'
import { settleQuestion } from './settle.ts'
import {
  findQuestion,
  findVisitorAccuracy,
  insertAnswer,
  lockServedCampaign,
  updateQuestion,
  upsertVisitorAccuracy,
  type QuestionKey,
  type ServedCampaign,
} from './store.ts'
import type { TaskPlace } from './token.ts'

type QuestionPlace = {
  readonly question: QuestionKey
  readonly campaign: ServedCampaign & { readonly status: string }
  readonly visitor: TaskPlace
  /** What the visitor chose; undefined where it is no option. */
  readonly option: string | undefined
  readonly completionId: string
}

const rewardOf = ({ question, campaign, completionId }: QuestionPlace) => ({
  agentId: question.agentId,
  mode: question.mode,
  campaignId: question.campaignId,
  completionId,
  stars: campaign.rewardStars,
})

/** A question whose right answer is known: by the agent, or because people have agreed meanwhile. */
const completeKnown = async (
  tx: Tx,
  given: TaskAnswer,
  deps: CompletionDeps,
  known: QuestionPlace & { readonly isCorrect: boolean; readonly isOwn: boolean },
) => {
  const { question, visitor, option, completionId, isCorrect, isOwn } = known
  const recorded = await deps.recordTaskSession(tx, taskCompletionOf(given, isCorrect))
  const { verified, attended, sessionId } = recorded
  const grade = verified ? true : isCorrect ? null : false
  await upsertVisitorAccuracy(tx, { ...question, visitor: visitor.visitor }, { done: 0, correct: grade })
  if (attended && option !== undefined) {
    await insertAnswer(tx, question, {
      visitor: visitor.visitor,
      completionId,
      answer: option,
      state: verified ? 'right' : 'wrong',
      memberId: null,
      sessionId,
      recordedSession: null,
      assignedAt: given.assignedAt,
      heldStars: 0,
    })
    if (isOwn) await updateQuestion(tx, question, { answers: 1, right: verified ? 1 : 0 })
  }
  const rewardStars =
    verified && visitor.memberId !== null ? await payReward(tx, rewardOf(known), visitor.memberId) : 0
  return storeCompletion(tx, given, recorded, { completionId, correct: isCorrect, rewardStars })
}

/** A question whose answer is open: the answer waits until people agree. */
const completeOpen = async (
  tx: Tx,
  given: TaskAnswer,
  deps: CompletionDeps,
  open: QuestionPlace & { readonly option: string },
) => {
  const { question, campaign, visitor, option, completionId } = open
  const held = await deps.holdTaskAttention(tx, taskCompletionOf(given, null))
  const isWaiting = 'heldFor' in held
  const { memberId } = visitor
  const stored = {
    visitor: visitor.visitor,
    completionId,
    answer: option,
    state: isWaiting ? ('waiting' as const) : ('right' as const),
    memberId: isWaiting ? memberId : null,
    sessionId: isWaiting ? held.heldFor : held.sessionId,
    recordedSession: isWaiting ? (given.recordedSessionId ?? null) : null,
    assignedAt: given.assignedAt,
    heldStars: isWaiting && memberId !== null ? await holdReward(tx, rewardOf(open)) : 0,
  }
  const isCounted = isWaiting || held.verified
  if (isCounted) {
    await insertAnswer(tx, question, stored)
    await updateQuestion(tx, question, { answers: 1, right: isWaiting ? 0 : 1 })
  }
  if (!isWaiting) {
    const rewardStars = held.verified && memberId !== null ? await payReward(tx, rewardOf(open), memberId) : 0
    const result = await storeCompletion(tx, given, held, { completionId, correct: null, rewardStars })
    if (isCounted) await settleQuestion(tx, deps, campaign, question)
    return result
  }
  await settleQuestion(tx, deps, campaign, question)
  return { ...unverifiedAnswer('agreement_pending'), completionId }
}

/** Stores the answer to a question of a campaign. */
export const completeQuestion = async (tx: Tx, given: TaskAnswer, deps: CompletionDeps) => {
  const { grant, answered, answer } = given
  const { agentId, mode, place } = grant
  if (!place) throw new Error(`a token of agent ${agentId} names a question and no campaign`)
  const question = { agentId, mode, campaignId: place.campaignId, n: place.n }
  const campaign = await lockServedCampaign(tx, question)
  const row = await findQuestion(tx, question)
  if (!campaign || campaign.status === 'ended' || !row || row.state === 'disagreed')
    return unverifiedAnswer('question_over')
  const standing = (await findVisitorAccuracy(tx, question, place.visitor)) ?? newVisitor
  await claimPlace(tx, grant)
  const completionId = tx.ids.make('cmp_')
  const option = optionOf(row.options, answer)
  const at: QuestionPlace = { question, campaign, visitor: place, option, completionId }
  const expected = row.known_answer ?? row.agreed_answer
  if (!answered || !isTrusted(standing) || option === undefined || expected !== null) {
    const isCorrect = answered && isTrusted(standing) && option !== undefined && option === expected
    return completeKnown(tx, given, deps, { ...at, isCorrect, isOwn: row.known_answer !== null })
  }
  return completeOpen(tx, given, deps, { ...at, option })
}

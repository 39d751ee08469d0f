import { publish } from '../platform/queue/outbox.ts'
import type { Tx } from '../platform/db/db.ts'
import type { CompletionDeps } from './completion.ts'
import { payHeldReward, releaseReward } from './rewards.ts'
import { agreementOf, answersMax, isTrusted, newVisitor } from './rules.ts'
import {
  findVisitorAccuracy,
  insertCompletion,
  listAnswers,
  updateAnswerEnded,
  updateQuestion,
  upsertVisitorAccuracy,
  type QuestionKey,
  type ServedCampaign,
  type QuestionAnswer,
} from './store.ts'

export const taskIdOf = ({ campaignId, n }: Pick<QuestionKey, 'campaignId' | 'n'>): string =>
  `tsk_${campaignId.slice(4)}_${n}`

type Ending = {
  readonly question: QuestionKey
  readonly answer: QuestionAnswer
  /** The answer agreed, and the visitor is trusted. */
  readonly isRight: boolean
  readonly hasEnded: boolean
}
/** Ends an answer that waited: its session, its completion, its Stars and its event. */
const endAnswer = async (tx: Tx, deps: CompletionDeps, ending: Ending): Promise<void> => {
  const { question, answer, isRight, hasEnded } = ending
  const { agentId, mode, campaignId, n } = question
  const taskId = taskIdOf(question)
  const { completionId, memberId, heldStars } = answer
  const recorded = await deps.recordHeldTask(tx, {
    agentId,
    mode,
    taskId,
    memberRef: memberId ?? undefined,
    answer: answer.answer,
    answered: true,
    correct: isRight,
    recordedSessionId: answer.recordedSession ?? undefined,
    assignedAt: answer.assignedAt,
    sessionId: answer.sessionId,
  })
  const { verified, attended, sessionId } = recorded
  const reward = { agentId, mode, campaignId, completionId, stars: heldStars }
  const isPaid = verified && memberId !== null
  if (isPaid) await payHeldReward(tx, reward, memberId)
  else await releaseReward(tx, reward, hasEnded)
  await updateAnswerEnded(tx, question, answer.visitor, isRight)
  await insertCompletion(tx, {
    agentId,
    mode,
    completionId,
    taskId,
    campaignId,
    question: n,
    memberRef: memberId ?? undefined,
    answer: answer.answer,
    correct: isRight,
    attended,
    sessionId,
    verified,
    rewardStars: isPaid ? heldStars : 0,
  })
  await publish(tx, {
    agentId,
    mode,
    type: 'task.completed',
    subject: completionId,
    data: { completionId, taskId, sessionId, verified },
  })
}

/** The answers of visitors who are trusted now. */
export const listTrustedAnswers = async (
  tx: Tx,
  question: QuestionKey,
  answers: readonly QuestionAnswer[],
): Promise<QuestionAnswer[]> => {
  const trusted: QuestionAnswer[] = []
  for (const answer of answers)
    if (isTrusted((await findVisitorAccuracy(tx, question, answer.visitor)) ?? newVisitor))
      trusted.push(answer)
  return trusted
}

/** Ends a question once people agree, or once too many have disagreed. The caller has locked its campaign. */
export const settleQuestion = async (
  tx: Tx,
  deps: CompletionDeps,
  campaign: ServedCampaign & { readonly status: string },
  question: QuestionKey,
): Promise<void> => {
  const answers = await listAnswers(tx, question)
  const counted = await listTrustedAnswers(tx, question, answers)
  const trusted = new Set(counted.map(({ visitor }) => visitor))
  const agreement = agreementOf(
    counted.map(({ answer }) => answer),
    campaign.agreement,
  )
  const outcome = agreement ?? (answers.length >= answersMax ? 'disagreed' : undefined)
  if (outcome === undefined) return
  const agreed = outcome === 'disagreed' ? null : outcome.agreed
  let right = 0
  for (const answer of answers) {
    if (answer.state !== 'waiting') continue
    const isSame = answer.answer === agreed
    const isRight = isSame && trusted.has(answer.visitor)
    if (agreed !== null)
      await upsertVisitorAccuracy(tx, { ...question, visitor: answer.visitor }, { done: 0, correct: isSame })
    await endAnswer(tx, deps, { question, answer, isRight, hasEnded: campaign.status === 'ended' })
    if (isRight) right += 1
  }
  await updateQuestion(tx, question, { right, agreed })
  const { agentId, mode, campaignId, n } = question
  await publish(tx, {
    agentId,
    mode,
    type: 'task.question_settled',
    subject: campaignId,
    data: {
      campaignId,
      n,
      state: agreed === null ? 'disagreed' : 'agreed',
      answer: agreed,
      answers: answers.length,
    },
  })
}

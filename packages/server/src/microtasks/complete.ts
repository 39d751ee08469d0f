import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction, readNow, type Tx } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import { completeQuestion } from './complete-question.ts'
import {
  claimPlace,
  storeCompletion,
  taskCompletionOf,
  unverifiedAnswer,
  type CompletionDeps,
  type TaskAnswer,
} from './completion.ts'
import { expectedAnswerOf, isGeneratedId, sampleToken, seedOf, type GeneratedId } from './items/generated.ts'
import { answerMsMin, isAnswered, isExpected } from './rules.ts'
import { insertTokenClaim, upsertVisitorAccuracy } from './store.ts'
import { readTaskToken, tokenMinutes } from './token.ts'

type Input = {
  readonly token?: string | undefined
  readonly site?: string | undefined
  readonly answer?: unknown
  readonly sessionId?: string | undefined
  readonly memberRef?: string | undefined
}
/** An item that the service made: its answer is known, and it pays nothing in live. */
const completeGenerated = async (tx: Tx, ctx: Ctx, given: TaskAnswer, deps: CompletionDeps) => {
  const { grant, answer, answered } = given
  const { place, nonce, language = 'en', mode } = grant
  const seedText = place ? JSON.stringify([place.visitor, place.campaignId, place.done]) : nonce
  const isRight = (key: Buffer): boolean =>
    isExpected(expectedAnswerOf(grant.taskId as GeneratedId, seedOf(key, seedText), language), answer)
  const correct = answered ? ctx.secrets.accepted('task-token').some(isRight) : null
  await claimPlace(tx, grant)
  const recorded = await deps.recordTaskSession(tx, taskCompletionOf(given, correct))
  // In the sandbox every answer is right, whether it is the expected one or not.
  const grade = recorded.verified ? true : correct === true ? null : false
  if (place)
    await upsertVisitorAccuracy(tx, { ...grant, ...place }, { done: 0, correct: grade, isGenerated: true })
  const rewardStars = recorded.verified && mode === 'test' && !place ? 1 : 0
  const completionId = ctx.ids.make('cmp_')
  return storeCompletion(tx, given, recorded, { completionId, correct, rewardStars })
}

const textOf = (text: string | undefined): string | undefined => (text === '' ? undefined : text)

/** Stores the answer to a task: exactly one completion for each token. */
export const tasksComplete = async (ctx: Ctx, input: Input, deps: CompletionDeps) => {
  if (input.token === undefined || input.token === '') return unverifiedAnswer('token_missing')
  if (input.token === sampleToken) return unverifiedAnswer('sample_task')
  const grant = readTaskToken(ctx, input.token)
  const isQuestion = grant?.place !== undefined && grant.place.n > 0
  if (!grant || (!isQuestion && !isGeneratedId(grant.taskId))) return unverifiedAnswer('token_invalid')
  if (textOf(input.site) !== undefined && input.site !== grant.agentId)
    return unverifiedAnswer('token_of_another_site')
  return inTransaction(ctx, grant.agentId, async (tx) => {
    const assignedAt = new Date(grant.expiresAt.getTime() - tokenMinutes * 60_000)
    const now = await readNow(tx)
    if (grant.expiresAt <= now || (await deps.isBeforeRestore(tx, assignedAt)))
      return unverifiedAnswer('token_expired')
    const given: TaskAnswer = {
      grant,
      answer: input.answer,
      answered: isAnswered(input.answer),
      memberRef: textOf(input.memberRef),
      recordedSessionId: textOf(input.sessionId),
      assignedAt,
    }
    // Nothing is stored and the token stays valid: what is wrong is the time, not the answer.
    const isTooFast = now.getTime() - assignedAt.getTime() < answerMsMin
    if (grant.mode === 'live' && given.recordedSessionId !== undefined && isTooFast)
      return unverifiedAnswer('too_fast')
    if (!(await insertTokenClaim(tx, grant, grant.expiresAt))) throw new Refusal('task_token_used')
    return isQuestion ? completeQuestion(tx, given, deps) : completeGenerated(tx, ctx, given, deps)
  })
}

import type { Mode } from '@pohf/protocol'
import type { Tx } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import { publish } from '../platform/queue/outbox.ts'
import { insertCompletion, upsertVisitorAccuracy, type NewCompletion } from './store.ts'
import type { TaskGrant } from './token.ts'

type TaskCompletion = {
  readonly agentId: string
  readonly mode: Mode
  readonly taskId: string
  readonly memberRef: string | undefined
  readonly answer: unknown
  readonly answered: boolean
  readonly correct: boolean | null
  readonly recordedSessionId: string | undefined
  readonly assignedAt: Date
}
type RecordedTask = {
  readonly sessionId: string
  readonly verified: boolean
  readonly attended: boolean
  readonly reasons: readonly string[]
}

/** Provided by the wiring. */
export type CompletionDeps = {
  /** Scores a completion into a session. */
  readonly recordTaskSession: (tx: Tx, completion: TaskCompletion) => Promise<RecordedTask>
  /** Claims the attention for an answer that waits, or stores the session where that is not possible. */
  readonly holdTaskAttention: (
    tx: Tx,
    completion: TaskCompletion,
  ) => Promise<RecordedTask | { readonly heldFor: string }>
  /** Stores the session of an answer that waited. */
  readonly recordHeldTask: (
    tx: Tx,
    completion: TaskCompletion & { readonly sessionId: string },
  ) => Promise<RecordedTask>
  /** Whether a restore voids a token of this time: it may have been used in the lost span. */
  readonly isBeforeRestore: (tx: Tx, at: Date) => Promise<boolean>
}

/** An answer with the token that it belongs to. */
export type TaskAnswer = {
  readonly grant: TaskGrant
  readonly answer: unknown
  readonly answered: boolean
  readonly memberRef: string | undefined
  readonly recordedSessionId: string | undefined
  readonly assignedAt: Date
}

/** The response to a completion that is not stored. It is 200, so that the page of the site never breaks. */
export const unverifiedAnswer = (reason: string) => ({
  ok: true as const,
  verified: false,
  rewardStars: 0,
  reason,
})

/** The reason why a completion is not verified. */
const reasonOf = (answered: boolean, { attended, reasons }: RecordedTask): string => {
  if (!answered) return 'answer_missing'
  if (!attended) return reasons[0] ?? 'attention_missing'
  return reasons.join(', ') || 'not_verified'
}

/** What the session of an answer is made from. */
export const taskCompletionOf = (given: TaskAnswer, correct: boolean | null): TaskCompletion => {
  const { grant, ...rest } = given
  return { ...rest, agentId: grant.agentId, mode: grant.mode, taskId: grant.taskId, correct }
}

/** Stores a completion with its event, and returns the response. */
export const storeCompletion = async (
  tx: Tx,
  given: TaskAnswer,
  recorded: RecordedTask,
  stored: Pick<NewCompletion, 'completionId' | 'correct' | 'rewardStars'>,
) => {
  const { grant, answer, answered, memberRef } = given
  const { agentId, mode, taskId, place } = grant
  const { sessionId, verified, attended } = recorded
  const { completionId, rewardStars } = stored
  await insertCompletion(tx, {
    ...stored,
    agentId,
    mode,
    taskId,
    campaignId: place?.campaignId,
    question: place && place.n > 0 ? place.n : undefined,
    memberRef,
    answer,
    attended,
    sessionId,
    verified,
  })
  await publish(tx, {
    agentId,
    mode,
    type: 'task.completed',
    subject: completionId,
    data: { completionId, taskId, sessionId, verified },
  })
  const result = { ok: true as const, completionId, sessionId, verified, rewardStars }
  return verified ? result : { ...result, reason: reasonOf(answered, recorded) }
}

/**
 * Counts an item of a campaign as done. Several tokens for one place in a campaign lead to one completion: the place counts,
 * not the token.
 */
export const claimPlace = async (tx: Tx, { agentId, mode, place }: TaskGrant): Promise<void> => {
  if (!place) return
  const after = await upsertVisitorAccuracy(tx, { agentId, mode, ...place }, { done: 1, correct: null })
  if (after.done !== place.done + 1) throw new Refusal('task_token_used')
}

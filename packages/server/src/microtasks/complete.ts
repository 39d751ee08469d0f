import type { Mode } from '@pohf/protocol'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction, readNow, type Tx } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import { publish } from '../platform/queue/outbox.ts'
import { isAnswered, gradeAnswer, microTasks, sampleToken } from './items.ts'
import { insertCompletion, insertTokenClaim } from './store.ts'
import { readTaskToken, tokenMinutes } from './token.ts'

/** Provided by the wiring: scores a completion into a session. */
type RecordTaskSession = (
  tx: Tx,
  completion: {
    readonly agentId: string
    readonly mode: Mode
    readonly taskId: string
    readonly memberRef: string | undefined
    readonly answer: unknown
    readonly answered: boolean
    readonly correct: boolean | null
    readonly recordedSessionId: string | undefined
    readonly assignedAt: Date
  },
) => Promise<{
  readonly sessionId: string
  readonly verified: boolean
  readonly attended: boolean
  readonly reasons: readonly string[]
}>

export type CompletionDeps = {
  readonly recordTaskSession: RecordTaskSession
  /** Whether a restore voids a token of this time: it may have been used in the lost span. */
  readonly isBeforeRestore: (tx: Tx, at: Date) => Promise<boolean>
}

type Completion = {
  readonly token?: string | undefined
  readonly answer?: unknown
  readonly sessionId?: string | undefined
  readonly memberRef?: string | undefined
}

/** The response to a completion that is not stored. It is 200, so that the page of the site never breaks. */
const unverifiedAnswer = (reason: string) => ({ ok: true as const, verified: false, rewardStars: 0, reason })

/** The reason why a completion is not verified. */
const reasonOf = (answered: boolean, attended: boolean, reasons: readonly string[]): string => {
  if (!answered) return 'answer_missing'
  if (!attended) return reasons[0] ?? 'attention_missing'
  return reasons.join(', ') || 'not_verified'
}

/** Stores the answer to a task: exactly one completion for each token. */
export const tasksComplete = async (ctx: Ctx, input: Completion, deps: CompletionDeps) => {
  if (input.token === undefined || input.token === '') return unverifiedAnswer('token_missing')
  if (input.token === sampleToken) return unverifiedAnswer('sample_task')
  const grant = readTaskToken(ctx, input.token)
  const task = microTasks.find((candidate) => candidate.id === grant?.taskId)
  if (!grant || !task) return unverifiedAnswer('token_invalid')
  const { agentId, mode } = grant
  return inTransaction(ctx, agentId, async (tx) => {
    const assignedAt = new Date(grant.expiresAt.getTime() - tokenMinutes * 60_000)
    if (grant.expiresAt <= (await readNow(tx)) || (await deps.isBeforeRestore(tx, assignedAt)))
      return unverifiedAnswer('token_expired')
    if (!(await insertTokenClaim(tx, grant, grant.expiresAt))) throw new Refusal('task_token_used')
    const { answer } = input
    const memberRef = input.memberRef === '' ? undefined : input.memberRef
    const answered = isAnswered(answer)
    const correct = answered ? gradeAnswer(task, answer) : null
    const completion = { agentId, mode, taskId: task.id, memberRef, answer, correct }
    const { sessionId, verified, attended, reasons } = await deps.recordTaskSession(tx, {
      ...completion,
      answered,
      recordedSessionId: input.sessionId === '' ? undefined : input.sessionId,
      assignedAt,
    })
    const completionId = ctx.ids.make('cmp_')
    // Live Stars exist only as ledger postings, and there is none for tasks yet.
    const rewardStars = verified && mode === 'test' ? task.rewardStars : 0
    await insertCompletion(tx, { ...completion, attended, completionId, sessionId, verified, rewardStars })
    await publish(tx, {
      agentId,
      mode,
      type: 'task.completed',
      subject: completionId,
      data: { completionId, taskId: task.id, sessionId, verified },
    })
    const result = { ok: true as const, completionId, sessionId, verified, rewardStars }
    return verified ? result : { ...result, reason: reasonOf(answered, attended, reasons) }
  })
}

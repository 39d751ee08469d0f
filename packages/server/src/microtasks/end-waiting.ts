import type { Tx } from '../platform/db/db.ts'
import { publish } from '../platform/queue/outbox.ts'
import { payHeldReward, releaseReward } from './rewards.ts'
import { isTrusted, newVisitor } from './rules.ts'
import { taskIdOf } from './settle.ts'
import { claimOldAnswers } from './ending/store.ts'
import { findVisitorAccuracy, updateAnswerEnded } from './store.ts'

/** How long an answer waits for others. */
const waitingDays = 7
const batch = 50

/**
 * Ends answers that waited too long: a trusted member is paid, because it is not their fault that nobody else came, and
 * nothing is verified.
 */
export const endOldAnswers = async (tx: Tx): Promise<number> => {
  const old = await claimOldAnswers(tx, waitingDays, batch)
  for (const { hasEnded, ...answer } of old) {
    const { agentId, mode, campaignId, completionId, memberId, visitor } = answer
    const isRight = isTrusted((await findVisitorAccuracy(tx, answer, visitor)) ?? newVisitor)
    const reward = { agentId, mode, campaignId, completionId, stars: answer.heldStars }
    if (isRight && memberId !== null) await payHeldReward(tx, reward, memberId)
    else await releaseReward(tx, reward, hasEnded)
    await updateAnswerEnded(tx, answer, visitor, isRight)
    const taskId = taskIdOf(answer)
    await publish(tx, {
      agentId,
      mode,
      type: 'task.completed',
      subject: completionId,
      data: { completionId, taskId, sessionId: null, verified: false },
    })
  }
  return old.length
}

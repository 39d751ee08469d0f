import type { Tx } from '../platform/db/db.ts'
import { publish } from '../platform/queue/outbox.ts'
import { payHeldReward, releaseReward } from './rewards.ts'
import { isShared } from './rules.ts'
import { listTrustedAnswers, taskIdOf } from './settle.ts'
import { claimOldAnswers } from './ending/store.ts'
import { listAnswers, updateAnswerEnded } from './store.ts'

/** How long an answer waits for others. */
const waitingDays = 7
const batch = 50

/**
 * Ends answers that waited too long for agreement. None is verified. A trusted member is paid if others gave the same answer
 * and no other answer was given more often. An answer that nobody else gave may be a guess and is not paid.
 */
export const endOldAnswers = async (tx: Tx): Promise<number> => {
  const old = await claimOldAnswers(tx, waitingDays, batch)
  for (const { hasEnded, ...answer } of old) {
    const { agentId, mode, campaignId, completionId, memberId, visitor } = answer
    const trusted = await listTrustedAnswers(tx, answer, await listAnswers(tx, answer))
    const isRight =
      trusted.some((one) => one.visitor === visitor) &&
      isShared(
        trusted.map((one) => one.answer),
        answer.answer,
      )
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

import type { PayoutRisk } from '@pohf/protocol'
import { listPeopleCreated } from '../../members/index.ts'
import type { Tx } from '../../platform/db/db.ts'
import { listWorkerHistories, type Worker } from './store.ts'

/** What the reviewer of a payout sees of each worker, from their latest assignments; null where there are none. */
export const listPayoutRisks = async (tx: Tx, workers: readonly Worker[]): Promise<(PayoutRisk | null)[]> => {
  const histories = await listWorkerHistories(tx, workers)
  const created = await listPeopleCreated(
    tx,
    histories.flatMap((history) => history?.personId ?? []),
  )
  return histories.map((history) => {
    if (!history) return null
    const { personId, earnedStars, knownAnswerStars, firstClaimedAt, ...counts } = history
    return {
      ...counts,
      knownAnswerShare: earnedStars === 0n ? null : Number(knownAnswerStars) / Number(earnedStars),
      accountCreatedAt: (personId === null ? undefined : created.get(personId))?.toISOString() ?? null,
      firstAssignmentAt: firstClaimedAt.toISOString(),
    }
  })
}

import type { PayoutRisk } from '@pohf/protocol'
import { listPeopleCreated } from '../../members/index.ts'
import type { Tx } from '../../platform/db/db.ts'
import { listBuyerWorkers, listWorkerHistories, type Worker } from './histories/store.ts'

/** What the reviewer of a payout sees of each worker, from their latest assignments; null where there are none. */
export const listPayoutRisks = async (tx: Tx, workers: readonly Worker[]): Promise<(PayoutRisk | null)[]> => {
  const histories = await listWorkerHistories(tx, workers)
  const created = await listPeopleCreated(
    tx,
    histories.flatMap((history) => history?.personId ?? []),
  )
  const pairs = histories.flatMap((history, index) => {
    const worker = workers[index]
    return worker && history?.topBuyer ? [{ ...worker, buyer: history.topBuyer, index }] : []
  })
  const others = await listBuyerWorkers(tx, pairs)
  const othersOf = new Map(pairs.map(({ index }, position) => [index, others[position] ?? 0]))
  return histories.map((history, index) => {
    if (!history) return null
    const {
      personId,
      earnedStars,
      knownAnswerStars,
      firstClaimedAt,
      topBuyer: _topBuyer,
      topBuyerStars,
      ...counts
    } = history
    return {
      ...counts,
      knownAnswerShare: earnedStars === 0n ? null : Number(knownAnswerStars) / Number(earnedStars),
      topBuyerShare: earnedStars === 0n ? null : Number(topBuyerStars) / Number(earnedStars),
      topBuyerWorkers: othersOf.get(index) ?? 0,
      accountCreatedAt: (personId === null ? undefined : created.get(personId))?.toISOString() ?? null,
      firstAssignmentAt: firstClaimedAt.toISOString(),
    }
  })
}

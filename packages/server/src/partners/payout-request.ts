import type { Mode } from '@pohf/protocol'
import { InsufficientBalance, post } from '../ledger/index.ts'
import type { Agent, StoreResult } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction, type Tx } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import { publish } from '../platform/queue/outbox.ts'
import { holdAccountOf, starTransferLines, userAccountOf } from './rules.ts'
import { insertPayout } from './store.ts'

type PayoutRequest = {
  readonly agentId: string
  readonly mode: Mode
  readonly userRef: string
  readonly stars: number
}

/** Moves the Stars to the hold account of this request; false where the balance is too low. */
const holdStars = async (tx: Tx, request: PayoutRequest, requestId: string): Promise<boolean> => {
  const { agentId, mode, userRef, stars } = request
  try {
    await post(tx, {
      agentId,
      mode,
      kind: 'payout_hold',
      reference: requestId,
      lines: starTransferLines(userAccountOf(agentId, userRef), holdAccountOf(requestId), BigInt(stars)),
    })
    return true
  } catch (error) {
    if (error instanceof InsufficientBalance) return false
    throw error
  }
}

/** Holds the Stars and queues the request for review. Without balance it is refused, or simulated where allowed. */
const queuePayout = async (tx: Tx, request: PayoutRequest, allowSimulated: boolean) => {
  const { agentId, mode, userRef, stars } = request
  const requestId = tx.ids.make('pay_')
  const isHeld = await holdStars(tx, request, requestId)
  if (!isHeld && !allowSimulated) throw new Refusal('insufficient_stars')
  await insertPayout(tx, { agentId, requestId, mode, userRef, stars: BigInt(stars), simulated: !isHeld })
  const status = 'queued' as const
  await publish(tx, {
    agentId,
    mode,
    type: 'payout.requested',
    subject: requestId,
    data: { requestId, stars, status },
  })
  return { requestId, status }
}

/** For other modules: never simulated. */
export const requestPayout = (tx: Tx, request: PayoutRequest) => queuePayout(tx, request, false)

/** A partner requests a payout for one of its users. With a test key it is simulated where the balance is too low. */
export const payoutRequest = async (
  ctx: Ctx,
  { agentId, mode }: Agent,
  { userRef, stars }: Pick<PayoutRequest, 'userRef' | 'stars'>,
  storeResult: StoreResult,
) =>
  inTransaction(ctx, agentId, async (tx) =>
    storeResult(tx, await queuePayout(tx, { agentId, mode, userRef, stars }, mode === 'test')),
  )

import type { Mode } from '@pohf/protocol'
import { balanceOf, InsufficientBalance, post } from '../ledger/index.ts'
import type { Agent, StoreResult } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction, type Tx } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import { publish } from '../platform/queue/outbox.ts'
import { nameAccount } from './accounts/accounts.ts'
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

type QueueOptions = { readonly allowSimulated: boolean; readonly accountNo: bigint | null }
/** Holds the Stars and queues the request for review. Without balance it is refused, or simulated where allowed. */
const queuePayout = async (tx: Tx, request: PayoutRequest, { allowSimulated, accountNo }: QueueOptions) => {
  const { agentId, mode, userRef, stars } = request
  const requestId = tx.ids.make('pay_')
  const isHeld = await holdStars(tx, request, requestId)
  if (!isHeld && !allowSimulated) throw new Refusal('insufficient_stars')
  await insertPayout(tx, {
    agentId,
    requestId,
    mode,
    userRef,
    stars: BigInt(stars),
    simulated: !isHeld,
    accountNo,
  })
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

/** Refuses before the account is read, so that only a worker with enough Stars can learn whether an account is taken. */
const requireStars = async (tx: Tx, { agentId, mode, userRef, stars }: PayoutRequest): Promise<void> => {
  const account = userAccountOf(agentId, userRef)
  if ((await balanceOf(tx, { agentId, mode, account, unit: 'star' })) < BigInt(stars))
    throw new Refusal('insufficient_stars')
}

/**
 * Requests a payout to an account of the worker; it is never simulated. The caller throws a returned refusal after the
 * commit, because the refusal is recorded for the reviewers.
 */
export const makeRequestWorkerPayout =
  (ctx: Ctx) =>
  async (tx: Tx, { account, ...request }: PayoutRequest & { readonly account: string }) => {
    await requireStars(tx, request)
    const named = await nameAccount(tx, ctx, { mode: request.mode, worker: request.userRef }, account)
    if ('refusal' in named) return named
    const { accountNo, end } = named
    return { ...(await queuePayout(tx, request, { allowSimulated: false, accountNo })), accountEnd: end }
  }

/** A partner requests a payout for one of its users. With a test key it is simulated where the balance is too low. */
export const payoutRequest = async (
  ctx: Ctx,
  { agentId, mode }: Agent,
  { userRef, stars }: Pick<PayoutRequest, 'userRef' | 'stars'>,
  storeResult: StoreResult,
) =>
  inTransaction(ctx, agentId, async (tx) => {
    const request = { agentId, mode, userRef, stars }
    return storeResult(
      tx,
      await queuePayout(tx, request, { allowSimulated: mode === 'test', accountNo: null }),
    )
  })

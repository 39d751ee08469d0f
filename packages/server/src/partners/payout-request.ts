import { InsufficientBalance, post } from '../ledger/index.ts'
import type { Agent } from '../platform/call.ts'
import type { Ctx } from '../platform/context.ts'
import { inTransaction, type Tx } from '../platform/db.ts'
import { Refusal } from '../platform/errors.ts'
import { publish } from '../platform/outbox.ts'
import { holdAccountOf, moveStars, userAccountOf } from './rules.ts'
import { insertPayout } from './store.ts'

type Wanted = { readonly userRef: string; readonly stars: number }
type Hold = Wanted & { readonly requestId: string }

/** Moves the Stars to the hold of this request; false where the user has too few. */
const holdStars = async (tx: Tx, { agentId, mode }: Agent, hold: Hold): Promise<boolean> => {
  const { requestId, userRef, stars } = hold
  try {
    await post(tx, {
      agentId,
      mode,
      kind: 'payout_hold',
      reference: requestId,
      lines: moveStars(userAccountOf(agentId, userRef), holdAccountOf(requestId), BigInt(stars)),
    })
    return true
  } catch (error) {
    if (error instanceof InsufficientBalance) return false
    throw error
  }
}

/** Holds the Stars and queues the request for people. A test key with too few gets a simulated one. */
export const payoutRequest = async (ctx: Ctx, agent: Agent, wanted: Wanted) =>
  inTransaction(ctx, agent.agentId, async (tx) => {
    const { agentId, mode } = agent
    const requestId = tx.ids.make('pay_')
    const held = await holdStars(tx, agent, { ...wanted, requestId })
    if (!held && mode === 'live') throw new Refusal('insufficient_stars')
    const { userRef, stars } = wanted
    await insertPayout(tx, { agentId, requestId, mode, userRef, stars: BigInt(stars), simulated: !held })
    const status = 'queued' as const
    await publish(tx, {
      agentId,
      mode,
      type: 'payout.requested',
      subject: requestId,
      data: { requestId, stars, status },
    })
    return { requestId, status }
  })

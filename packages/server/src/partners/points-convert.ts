import { balanceAfter, InsufficientBalance, post, type Line, type Posting } from '../ledger/index.ts'
import type { Agent } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction, type Tx } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import { publish } from '../platform/queue/outbox.ts'
import {
  claimOf,
  conversionLines,
  hasIdempotencyKey,
  referenceOf,
  starsOf,
  userAccountOf,
  type Conversion,
} from './rules.ts'
import {
  findConversion,
  insertConversion,
  updateConversionBalance,
  updateConversionRenewed,
} from './store.ts'

export type PartnersDeps = {
  readonly ctx: Ctx
  /** Injected by the wiring: the agents module knows it. */
  readonly isEmailConfirmed: (tx: Tx, agentId: string) => Promise<boolean>
}

type ConversionRequest = {
  readonly userRef: string
  readonly points: number
  readonly key: string | undefined
}

/** The stored balance of a repeated call, or the time of a new claim. */
const claimConversion = async (
  tx: Tx,
  conversion: Conversion,
): Promise<{ stored: bigint } | { claimedAt: Date }> => {
  const claimedAt = await insertConversion(tx, conversion, starsOf(conversion.points))
  if (claimedAt) return { claimedAt }
  const row = await findConversion(tx, conversion)
  if (row.user_ref !== conversion.userRef || row.points !== conversion.points)
    throw new Refusal('idempotency_key_reused')
  if (hasIdempotencyKey(conversion.claim) || !row.window_is_over) return { stored: row.balance }
  return { claimedAt: await updateConversionRenewed(tx, conversion) }
}

/** A live partner converts within its limit: the limit is an account, and no account goes below zero. */
const postConversion = async (
  tx: Tx,
  { agentId, mode }: Conversion,
  entry: { readonly reference: string; readonly lines: readonly Line[] },
): Promise<Posting> => {
  try {
    return await post(tx, { agentId, mode, kind: 'points_convert', ...entry })
  } catch (error) {
    if (error instanceof InsufficientBalance)
      throw new Refusal('conversion_limit_reached', {
        message: `${error.balance} Stars of the conversion limit of this partner are left. Ask the operator of this deployment for a higher limit.`,
      })
    throw error
  }
}

/** Posts the Stars against the receivable of the partner and returns the user's new balance. */
const postStars = async (tx: Tx, conversion: Conversion, claimedAt: Date): Promise<bigint> => {
  const { agentId, mode, userRef, points, claim } = conversion
  const stars = starsOf(points)
  const account = userAccountOf(agentId, userRef)
  const posting = await postConversion(tx, conversion, {
    reference: referenceOf(claim, claimedAt),
    lines: conversionLines(mode, account, stars),
  })
  const balance = balanceAfter(posting, account)
  await publish(tx, {
    agentId,
    mode,
    type: 'points.converted',
    subject: agentId,
    data: { userRef, points, stars: Number(stars), balance: Number(balance) },
  })
  return balance
}

/**
 * Converts points to Stars once: a repeated call gets the stored balance, marked as deduplicated. In live, Stars are
 * worth money: the partner needs a confirmed address and a limit that an operator granted.
 */
export const pointsConvert = async (
  { ctx, isEmailConfirmed }: PartnersDeps,
  agent: Agent,
  request: ConversionRequest,
) =>
  inTransaction(ctx, agent.agentId, async (tx) => {
    const conversion: Conversion = {
      agentId: agent.agentId,
      mode: agent.mode,
      userRef: request.userRef,
      points: request.points,
      claim: claimOf(request),
    }
    const claimed = await claimConversion(tx, conversion)
    if ('stored' in claimed) return { balance: Number(claimed.stored), deduplicated: true }
    if (agent.mode === 'live' && !(await isEmailConfirmed(tx, agent.agentId)))
      throw new Refusal('email_not_confirmed')
    const balance = await postStars(tx, conversion, claimed.claimedAt)
    await updateConversionBalance(tx, conversion, balance)
    return { balance: Number(balance) }
  })

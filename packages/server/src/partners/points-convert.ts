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
  oneToOne,
  referenceOf,
  userAccountOf,
  worthOf,
  type Conversion,
  type Rate,
  type StarsValue,
} from './rules.ts'
import {
  findConversion,
  insertConversion,
  updateConversionBalance,
  updateConversionRenewed,
} from './store.ts'
import { findRate } from './statement/store.ts'

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

type PricedConversion = { readonly conversion: Conversion; readonly rate: Rate; readonly worth: StarsValue }

/** The stored answer of a repeated call, or the time of a new claim. */
const claimConversion = async (
  tx: Tx,
  { conversion, rate, worth }: PricedConversion,
): Promise<{ stored: Awaited<ReturnType<typeof findConversion>> } | { claimedAt: Date }> => {
  const claimedAt = await insertConversion(tx, conversion, { ...worth, rate })
  if (claimedAt) return { claimedAt }
  const row = await findConversion(tx, conversion)
  if (row.user_ref !== conversion.userRef || row.points !== conversion.points)
    throw new Refusal('idempotency_key_reused')
  if (hasIdempotencyKey(conversion.claim) || !row.window_is_over) return { stored: row }
  return { claimedAt: await updateConversionRenewed(tx, conversion, { ...worth, rate }) }
}

/** What the answer says besides the balance, where the partner has a rate of its own. */
const describeRate = (rate: Rate, worth: StarsValue) =>
  rate.stars === rate.points
    ? {}
    : {
        stars: Number(worth.stars),
        rate: { stars: Number(rate.stars), points: Number(rate.points) },
        dropped: worth.dropped,
      }

export const limitReached = (left: bigint): Refusal =>
  new Refusal('conversion_limit_reached', {
    message: `${left} Stars of the conversion limit of this partner are left. Ask the operator of this deployment for a higher limit.`,
  })

/** A live partner converts within its limit: the limit is an account, and no account goes below zero. */
const postConversion = async (
  tx: Tx,
  { agentId, mode }: Conversion,
  entry: { readonly reference: string; readonly lines: readonly Line[] },
): Promise<Posting> => {
  try {
    return await post(tx, { agentId, mode, kind: 'points_convert', ...entry })
  } catch (error) {
    if (error instanceof InsufficientBalance) throw limitReached(error.balance)
    throw error
  }
}

/** Posts the Stars against the receivable of the partner and returns the user's new balance. */
const postStars = async (
  tx: Tx,
  { conversion, worth: { stars } }: PricedConversion,
  claimedAt: Date,
): Promise<bigint> => {
  const { agentId, mode, userRef, points, claim } = conversion
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

/** Points that are worth less than one Star would move nothing and look like a success. */
const requireStar = ({ worth, rate }: PricedConversion): void => {
  if (worth.stars > 0n) return
  throw new Refusal('validation_failed', {
    details: [
      {
        path: 'body.points',
        code: 'too_small',
        message: `must convert to at least 1 Star, at ${rate.stars} Stars for ${rate.points} points`,
      },
    ],
  })
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
    const rate = (await findRate(tx, agent)) ?? oneToOne
    const priced = { conversion, rate, worth: worthOf(request.points, rate) }
    const claimed = await claimConversion(tx, priced)
    if ('stored' in claimed) {
      const { balance, stars, rate_stars, rate_points, dropped } = claimed.stored
      const first = describeRate({ stars: rate_stars, points: rate_points }, { stars, dropped })
      return { balance: Number(balance), ...first, deduplicated: true }
    }
    requireStar(priced)
    if (agent.mode === 'live' && !(await isEmailConfirmed(tx, agent.agentId)))
      throw new Refusal('email_not_confirmed')
    const balance = await postStars(tx, priced, claimed.claimedAt)
    await updateConversionBalance(tx, conversion, balance)
    return { balance: Number(balance), ...describeRate(rate, priced.worth) }
  })

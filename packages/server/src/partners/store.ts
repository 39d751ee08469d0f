import { sql } from 'kysely'
import type { Mode, PayoutState } from '@pohf/protocol'
import { now, type Tx } from '../platform/db/db.ts'
import { deduplicationHours, type Conversion, type Rate, type StarsValue } from './rules.ts'

type ConvertedPoints = StarsValue & { readonly rate: Rate }
const convertedColumns = ({ stars, dropped, rate }: ConvertedPoints) => ({
  stars,
  dropped,
  rate_stars: rate.stars,
  rate_points: rate.points,
})

/** The time of a new claim; undefined where the claim exists. Waits for a concurrent claim to commit. */
export const insertConversion = async (
  tx: Tx,
  conversion: Conversion,
  converted: ConvertedPoints,
): Promise<Date | undefined> => {
  const row = await tx
    .insertInto('partner_conversions')
    .values({
      agent_id: conversion.agentId,
      mode: conversion.mode,
      claim: conversion.claim,
      user_ref: conversion.userRef,
      points: conversion.points,
      ...convertedColumns(converted),
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning('claimed_at')
    .executeTakeFirst()
  return row?.claimed_at
}

/** Without the claim and the user: the partner chose both, and they may be personal. */
const missingConversion = (operation: string, { agentId, mode, points }: Conversion) =>
  new Error(`${mode} conversion of ${points} points of agent ${agentId} not found while ${operation} it`)

/** Locks the claim: of two concurrent calls after the window, the second sees the renewal by the first. */
export const findConversion = async (tx: Tx, conversion: Conversion) =>
  tx
    .selectFrom('partner_conversions')
    .select(['user_ref', 'points', 'balance', 'stars', 'rate_stars', 'rate_points', 'dropped'])
    .select(
      sql<boolean>`claimed_at <= pohf_now() - make_interval(hours => ${deduplicationHours})`.as(
        'window_is_over',
      ),
    )
    .where('agent_id', '=', conversion.agentId)
    .where('mode', '=', conversion.mode)
    .where('claim', '=', conversion.claim)
    .forUpdate()
    .executeTakeFirstOrThrow(() => missingConversion('reading', conversion))

const conversionUpdate = (tx: Tx, conversion: Conversion) =>
  tx
    .updateTable('partner_conversions')
    .where('agent_id', '=', conversion.agentId)
    .where('mode', '=', conversion.mode)
    .where('claim', '=', conversion.claim)

/**
 * Keeps the previous conversion under a claim that no call can have, before an equal one after the window takes its claim.
 */
const insertConversionBefore = async (tx: Tx, { agentId, mode, claim }: Conversion): Promise<void> => {
  await sql`
    insert into partner_conversions (agent_id, mode, claim, claimed_at, user_ref, points, stars, balance, rate_stars, rate_points, dropped)
    select agent_id, mode, 'before:' || claim || ':' || round(extract(epoch from claimed_at) * 1000000), claimed_at, user_ref, points,
      stars, balance, rate_stars, rate_points, dropped
    from partner_conversions where agent_id = ${agentId} and mode = ${mode} and claim = ${claim}`.execute(tx)
}

export const updateConversionRenewed = async (
  tx: Tx,
  conversion: Conversion,
  converted: ConvertedPoints,
): Promise<Date> => {
  await insertConversionBefore(tx, conversion)
  const row = await conversionUpdate(tx, conversion)
    .set({ claimed_at: now(), ...convertedColumns(converted) })
    .returning('claimed_at')
    .executeTakeFirstOrThrow(() => missingConversion('renewing', conversion))
  return row.claimed_at
}

export const updateConversionBalance = async (
  tx: Tx,
  conversion: Conversion,
  balance: bigint,
): Promise<void> => {
  await conversionUpdate(tx, conversion).set({ balance }).execute()
}

type NewPayout = {
  agentId: string
  requestId: string
  mode: Mode
  userRef: string
  stars: bigint
  simulated: boolean
  /** The account that a worker named. */
  accountNo: bigint | null
}
export const insertPayout = async (tx: Tx, payout: NewPayout): Promise<void> => {
  await tx
    .insertInto('payout_requests')
    .values({
      agent_id: payout.agentId,
      request_id: payout.requestId,
      mode: payout.mode,
      user_ref: payout.userRef,
      stars: payout.stars,
      simulated: payout.simulated,
      account_no: payout.accountNo,
    })
    .execute()
}

const payoutColumns = [
  'agent_id',
  'request_id',
  'mode',
  'user_ref',
  'stars',
  'simulated',
  'state',
  'created_at',
  'changed_at',
  'reviewed_by',
  'approved_by',
  'paid_by',
  'payment_ref',
  'rejected_by',
  'reject_reason',
  'account_no',
] as const

/** Locks a payout of any agent, so that concurrent transitions by operators are serialized. */
export const findPayout = async (tx: Tx, requestId: string) =>
  tx
    .selectFrom('payout_requests')
    .select(payoutColumns)
    .where('request_id', '=', requestId)
    .forUpdate()
    .executeTakeFirst()
export type PayoutRow = NonNullable<Awaited<ReturnType<typeof findPayout>>>

export const listPayouts = async (
  tx: Tx,
  page: { state: PayoutState | undefined; after: string; limit: number },
): Promise<PayoutRow[]> => {
  const query = tx
    .selectFrom('payout_requests')
    .select(payoutColumns)
    .where('request_id', '>', page.after)
    .orderBy('request_id')
    .limit(page.limit)
  return (page.state === undefined ? query : query.where('state', '=', page.state)).execute()
}

/** How many payouts wait in each state that an operator ends; each count stops at `max`. */
export const countOpenPayouts = async (
  tx: Tx,
  max: number,
): Promise<{ readonly queued: number; readonly inReview: number; readonly approved: number }> => {
  const { rows } = await sql<{ state: PayoutState; count: number }>`
    select given.state, found.count
    from unnest(array['queued', 'in_review', 'approved']) given(state),
    lateral (
      select count(*)::int as count from (
        select from payout_requests p where p.state = given.state limit ${max}) first) found`.execute(tx)
  const countOf = (state: PayoutState) => rows.find((row) => row.state === state)?.count ?? 0
  return { queued: countOf('queued'), inReview: countOf('in_review'), approved: countOf('approved') }
}

type TransitionColumns = {
  reviewed_by?: string
  approved_by?: string
  paid_by?: string
  payment_ref?: string
  rejected_by?: string
  reject_reason?: string
}
export const updatePayoutState = async (
  tx: Tx,
  payout: Pick<PayoutRow, 'agent_id' | 'request_id'>,
  state: PayoutState,
  columns: TransitionColumns,
): Promise<void> => {
  await tx
    .updateTable('payout_requests')
    .set({ state, ...columns })
    .where('agent_id', '=', payout.agent_id)
    .where('request_id', '=', payout.request_id)
    .execute()
}

/** The sums of payouts of a user: requested and not decided, and paid. */
export const findPayoutSums = async (
  tx: Tx,
  user: { readonly agentId: string; readonly mode: Mode; readonly userRef: string },
): Promise<{ readonly heldStars: bigint; readonly paidStars: bigint }> => {
  const row = await tx
    .selectFrom('payout_requests')
    .select([
      sql<bigint>`coalesce(sum(stars) filter (where state in ('queued', 'in_review', 'approved')), 0)::bigint`.as(
        'held',
      ),
      sql<bigint>`coalesce(sum(stars) filter (where state = 'paid'), 0)::bigint`.as('paid'),
    ])
    .where('agent_id', '=', user.agentId)
    .where('mode', '=', user.mode)
    .where('user_ref', '=', user.userRef)
    .where('simulated', '=', false)
    .executeTakeFirstOrThrow()
  return { heldStars: row.held, paidStars: row.paid }
}

/** After a restore: an approved payout may have been paid in the lost span, so it must be reviewed and approved again. */
export const voidApprovals = async (tx: Tx): Promise<number> => {
  const { numAffectedRows } = await sql`
    update payout_requests set state = 'in_review', approved_by = null where state = 'approved'`.execute(tx)
  return Number(numAffectedRows ?? 0)
}

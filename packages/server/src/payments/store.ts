import { sql } from 'kysely'
import { now, type Tx } from '../platform/db.ts'
import { checkoutHours, type NewCheckout } from './rules.ts'

type Key = Pick<NewCheckout, 'agentId' | 'mode' | 'purpose' | 'reference'>

/** Closes the open checkout of this reference where it is too old or asks for another amount. */
export const updateStaleExpired = async (tx: Tx, checkout: NewCheckout): Promise<void> => {
  await tx
    .updateTable('checkouts')
    .set({ state: 'expired' })
    .where('agent_id', '=', checkout.agentId)
    .where('mode', '=', checkout.mode)
    .where('purpose', '=', checkout.purpose)
    .where('reference', '=', checkout.reference)
    .where('state', '=', 'created')
    .where((where) =>
      where.or([where('expires_at', '<=', now()), where('amount_usd_cents', '<>', checkout.amountUsdCents)]),
    )
    .execute()
}

/** The new checkout, or undefined where one is open for this reference. */
export const insertCheckout = async (tx: Tx, checkoutId: string, checkout: NewCheckout) =>
  tx
    .insertInto('checkouts')
    .values({
      agent_id: checkout.agentId,
      checkout_id: checkoutId,
      mode: checkout.mode,
      purpose: checkout.purpose,
      reference: checkout.reference,
      amount_usd_cents: checkout.amountUsdCents,
      description: checkout.description,
      expires_at: sql<Date>`pohf_now() + make_interval(hours => ${checkoutHours})`,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning(['checkout_id', 'expires_at'])
    .executeTakeFirst()

export const findOpenCheckout = async (tx: Tx, key: Key) =>
  tx
    .selectFrom('checkouts')
    .select(['checkout_id', 'expires_at'])
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('purpose', '=', key.purpose)
    .where('reference', '=', key.reference)
    .where('state', '=', 'created')
    .executeTakeFirst()

/** By the id alone: the page is for whoever was given its address. */
export const findCheckout = async (tx: Tx, checkoutId: string) =>
  tx
    .selectFrom('checkouts')
    .select(['mode', 'state', 'amount_usd_cents', 'description', 'expires_at'])
    .select(sql<boolean>`expires_at <= pohf_now()`.as('outlived'))
    .where('checkout_id', '=', checkoutId)
    .executeTakeFirst()

export const updateTestCompleted = async (tx: Tx, agentId: string, checkoutId: string): Promise<boolean> => {
  const result = await tx
    .updateTable('checkouts')
    .set({ state: 'completed' })
    .where('agent_id', '=', agentId)
    .where('checkout_id', '=', checkoutId)
    .where('mode', '=', 'test')
    .where('state', '=', 'created')
    .executeTakeFirst()
  return result.numUpdatedRows === 1n
}

/** Closes a batch of open checkouts whose time is over; rows that somebody works on wait for the next batch. */
export const updateDueExpired = async (tx: Tx, limit: number): Promise<number> => {
  const { numAffectedRows } = await sql`
    update checkouts set state = 'expired' where (agent_id, checkout_id) in (
      select agent_id, checkout_id from checkouts where state = 'created' and expires_at <= pohf_now()
      order by expires_at limit ${limit} for update skip locked)`.execute(tx)
  return Number(numAffectedRows ?? 0n)
}

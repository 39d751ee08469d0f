import { sql } from 'kysely'
import type { Tx } from '../../platform/db/db.ts'

/** `at` is text, because PostgreSQL has microseconds and a Date has milliseconds. */
type SettledPurchaseCursor = { readonly at: string; readonly purchaseId: string }
type SettledPurchase = {
  readonly position: SettledPurchaseCursor
  readonly agentId: string
  /** The wallet that paid. */
  readonly payer: string
  readonly usdcMicro: bigint
  /** The unit that was sold; null where none was in stock, as for test work. */
  readonly unitRef: string | null
}

/** Live units of stock that were paid and delivered within this time and not reverted since, oldest first. */
export const listSettledPurchases = async (
  tx: Tx,
  span: {
    readonly from: Date
    readonly to: Date
    readonly after: SettledPurchaseCursor | undefined
    readonly limit: number
  },
): Promise<SettledPurchase[]> => {
  const { after } = span
  const page = after
    ? sql`and (changed_at, purchase_id) > (${after.at}::timestamptz, ${after.purchaseId})`
    : sql``
  const { rows } = await sql<Omit<SettledPurchase, 'position'> & SettledPurchaseCursor>`
    select changed_at::text as at, purchase_id as "purchaseId", agent_id as "agentId", payer,
      amount_usdc_micro as "usdcMicro", unit_ref as "unitRef"
    from purchases
    where state = 'delivered' and mode = 'live' and order_id is null and changed_at >= ${span.from} and changed_at < ${span.to} ${page}
    order by changed_at, purchase_id
    limit ${span.limit}`.execute(tx)
  return rows.map(({ at, purchaseId, ...purchase }) => ({ ...purchase, position: { at, purchaseId } }))
}

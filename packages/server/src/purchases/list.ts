import type { Agent } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import { presentPurchase } from './read.ts'
import { listPurchases, type PurchaseCursor, type Purchase } from './store.ts'

type Query = { readonly limit?: number | undefined; readonly cursor?: string | undefined }
const defaultLimit = 50

export const writeCursor = ({ at, purchaseId }: PurchaseCursor): string =>
  Buffer.from(`${at} ${purchaseId}`).toString('base64url')
export const readCursor = (cursor: string): PurchaseCursor => {
  const text = Buffer.from(cursor, 'base64url').toString('utf8')
  const [, at, purchaseId] =
    /^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?\+00) (pur_[a-z0-9]{38})$/.exec(text) ?? []
  if (
    at === undefined ||
    purchaseId === undefined ||
    Number.isNaN(Date.parse(at.replace(' ', 'T').replace('+00', 'Z')))
  )
    throw new Refusal('validation_failed', {
      details: [{ path: 'query.cursor', code: 'invalid', message: 'must be a nextCursor of this endpoint' }],
    })
  return { at, purchaseId }
}

export const presentListedPurchase = (purchase: Purchase) => ({
  ...presentPurchase(purchase),
  network: purchase.network,
  payer: purchase.payer,
  amount: purchase.amountUsdcMicro.toString(),
  transaction: purchase.transactionHash,
  credentialId: purchase.credentialId,
  questionId: purchase.orderId,
})

/** The purchases of an agent, newest first. */
export const purchasesList = async (ctx: Ctx, agent: Agent, query: Query) => {
  const limit = query.limit ?? defaultLimit
  const before = query.cursor === undefined ? undefined : readCursor(query.cursor)
  const { agentId, mode } = agent
  const rows = await inTransaction(ctx, agentId, (tx) =>
    listPurchases(tx, { agentId, mode, before, limit: limit + 1 }),
  )
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  return {
    purchases: page.map(presentListedPurchase),
    nextCursor: rows.length > limit && last ? writeCursor(last.position) : null,
  }
}

import { packs, type PackName } from '@pohf/protocol'
import type { Payments } from '../payments/index.ts'
import type { Agent, StoreResult } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction } from '../platform/db/db.ts'
import type { Credits } from './credits.ts'

/** Opens a checkout for a pack. A test key pays nothing: its pack is posted at once and the page says so. */
export const buy = async (
  ctx: Ctx,
  parts: { readonly credits: Credits; readonly payments: Payments; readonly storeResult: StoreResult },
  agent: Agent,
  pack: PackName,
) => {
  const { agentId, mode } = agent
  const { credits, priceUsd } = packs[pack]
  const newCheckout = {
    agentId,
    purpose: 'credits',
    reference: pack,
    amountUsdCents: BigInt(priceUsd) * 100n,
    description: `${credits.toLocaleString('en')} credits (${pack})`,
  } as const
  if (mode === 'live') {
    const { checkoutUrl } = await parts.payments.openCheckout({ ...newCheckout, mode })
    return { checkoutUrl }
  }
  return inTransaction(ctx, agentId, async (tx) => {
    const { checkoutId, checkoutUrl } = await parts.payments.openTestCheckout(tx, { ...newCheckout, mode })
    await parts.credits.postPurchase(tx, { agentId, mode, pack, reference: checkoutId })
    return parts.storeResult(tx, { checkoutUrl })
  })
}

import { packs, type PackName } from '@pohf/protocol'
import type { Payments } from '../payments/index.ts'
import type { Agent } from '../platform/call.ts'
import type { Ctx } from '../platform/context.ts'
import { inTransaction } from '../platform/db.ts'
import type { Credits } from './credits.ts'

/** Opens a checkout for a pack. A test key pays nothing: its pack is posted at once and the page says so. */
export const buy = async (
  ctx: Ctx,
  parts: { readonly credits: Credits; readonly payments: Payments },
  agent: Agent,
  pack: PackName,
) =>
  inTransaction(ctx, agent.agentId, async (tx) => {
    const { agentId, mode } = agent
    const { credits, priceUsd } = packs[pack]
    const { checkoutId, checkoutUrl } = await parts.payments.createCheckout(tx, {
      agentId,
      mode,
      purpose: 'credits',
      reference: pack,
      amountUsdCents: BigInt(priceUsd) * 100n,
      description: `${credits} credits (${pack})`,
    })
    if (mode === 'test') {
      await parts.credits.postPurchase(tx, { agentId, mode, pack, reference: checkoutId })
      await parts.payments.completeTestCheckout(tx, { agentId, checkoutId })
    }
    return { checkoutUrl }
  })

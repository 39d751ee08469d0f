import { recoverMessageAddress } from 'viem'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import { networkOf, usdcOf } from '../payments/index.ts'
import { capCentsOf, findRehearsal } from '../work/index.ts'
import { purchaseIdFault } from './id.ts'
import { recoverOf } from './answer.ts'
import { isSecretOf, publicIdOf, readProof, recoveryMessage } from './rules.ts'
import { findPurchase, type Purchase } from './store.ts'

/** Whether the wallet that paid has signed for this purchase, just now. */
const isByWallet = async (ctx: Ctx, purchase: Purchase, header: string | undefined): Promise<boolean> => {
  if (header === undefined) return false
  const proof = readProof(header, ctx.clock.now())
  const message = recoveryMessage(ctx.config.BASE_URL, purchase.purchaseId, proof?.time ?? '')
  const signer = proof
    ? await recoverMessageAddress({ message, signature: proof.signature }).catch(() => undefined)
    : undefined
  if (signer?.toLowerCase() !== purchase.payer) throw new Refusal('wallet_signature_invalid')
  return true
}

export const shownPurchase = (purchase: Purchase) => ({
  purchaseId: purchase.purchaseId,
  workflowId: purchase.workflowId,
  status: purchase.state,
  reason: purchase.reason,
  createdAt: purchase.createdAt.toISOString(),
  updatedAt: purchase.changedAt.toISOString(),
})

/** The settlement that never ends is nowhere stored: its id is genuine, and that is all there is. */
const rehearsed = (ctx: Ctx, purchaseId: string) => {
  const found = findRehearsal('wf_test_settle_timeout')
  const network = networkOf(ctx.config)
  if (!found || !network.isTest) return undefined
  const amountUsdcMicro = usdcOf(capCentsOf(found.workflow.priceUsd))
  const terms = { workflowId: found.workflow.id, amountUsdcMicro, network }
  const at = ctx.clock.now()
  if (purchaseIdFault(ctx.secrets.derive('purchase'), terms, { purchaseId, at }) !== undefined)
    return undefined
  return {
    purchaseId: publicIdOf(purchaseId),
    workflowId: found.workflow.id,
    status: 'uncertain' as const,
    reason: 'a rehearsal of a settlement that nobody knows the end of; nothing was charged',
    payment: {
      network: network.caip2,
      transaction: null,
      payer: '0x0000000000000000000000000000000000000000',
      amount: amountUsdcMicro.toString(),
    },
    createdAt: at.toISOString(),
    updatedAt: at.toISOString(),
  }
}

/** How a purchase stands; what was delivered is for who bought it: by the whole id, or by the wallet's own word. */
export const purchaseRead = async (
  ctx: Ctx,
  asked: { readonly purchaseId: string; readonly walletProof: string | undefined },
) => {
  const purchase = await inTransaction(ctx, 'system', (tx) => findPurchase(tx, publicIdOf(asked.purchaseId)))
  const secret = asked.purchaseId.includes('.')
  if (!purchase || (secret && !isSecretOf(asked.purchaseId, purchase.secretHash))) {
    const rehearsal = purchase ? undefined : rehearsed(ctx, asked.purchaseId)
    if (!rehearsal) throw new Refusal('not_found', { message: 'No such purchase.' })
    return rehearsal
  }
  // Where the signature was public before we saw it, anybody may have taken out a purchase id for it.
  const proven = (secret && !purchase.needsWallet) || (await isByWallet(ctx, purchase, asked.walletProof))
  return {
    ...shownPurchase(purchase),
    payment: {
      network: purchase.network,
      transaction: purchase.transactionHash,
      payer: purchase.payer,
      amount: purchase.amountUsdcMicro.toString(),
    },
    ...(proven && purchase.state === 'delivered' && purchase.response !== null
      ? { delivery: JSON.parse(purchase.response) }
      : {}),
    ...(proven ? {} : { recover: recoverOf(ctx.config, purchase.purchaseId) }),
  }
}

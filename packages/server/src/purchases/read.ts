import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import { viem } from '../platform/net/viem.ts'
import { networkOf, usdcMicroOf } from '../payments/index.ts'
import { usdCentsOf, findTestWorkflow } from '../work/index.ts'
import { purchaseIdError } from './id.ts'
import { recoverOf } from './answer.ts'
import { matchesSecretHash, publicIdOf, parseWalletProof, purposeOf, recoveryMessage } from './rules.ts'
import { findPurchase, type Purchase } from './store.ts'

/** Whether the paying wallet signed a fresh proof for this purchase. */
const isSignedByPayer = async (
  ctx: Ctx,
  purchase: Purchase,
  header: string | undefined,
): Promise<boolean> => {
  if (header === undefined) return false
  const proof = parseWalletProof(header, ctx.clock.now())
  const message = recoveryMessage(ctx.config.BASE_URL, purchase.purchaseId, proof?.time ?? '')
  const signer = proof
    ? await viem()
        .recoverMessageAddress({ message, signature: proof.signature })
        .catch(() => undefined)
    : undefined
  if (signer?.toLowerCase() !== purchase.payer) throw new Refusal('wallet_signature_invalid')
  return true
}

export const presentPurchase = (purchase: Purchase) => ({
  purchaseId: purchase.purchaseId,
  workflowId: purchase.workflowId,
  purpose: purposeOf(purchase),
  status: purchase.state,
  reason: purchase.reason,
  createdAt: purchase.createdAt.toISOString(),
  updatedAt: purchase.changedAt.toISOString(),
})

/** A purchase of the test workflow that times out is never stored: a valid id is all there is. */
const presentTestPurchase = (ctx: Ctx, purchaseId: string) => {
  const found = findTestWorkflow('wf_test_settle_timeout')
  const network = networkOf(ctx.config)
  if (!found || !network.isTest) return undefined
  const amountUsdcMicro = usdcMicroOf(usdCentsOf(found.workflow.priceUsd))
  const terms = { subject: found.workflow.id, amountUsdcMicro, network }
  const at = ctx.clock.now()
  if (purchaseIdError(ctx.secrets.accepted('purchase'), terms, { purchaseId, at }) !== undefined)
    return undefined
  return {
    purchaseId: publicIdOf(purchaseId),
    workflowId: found.workflow.id,
    purpose: 'stock' as const,
    status: 'uncertain' as const,
    reason: 'a simulated settlement whose outcome is unknown; nothing was charged',
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

/** The state of a purchase; the delivery only for its buyer, proven by the whole id or by a wallet signature. */
export const purchaseRead = async (
  ctx: Ctx,
  request: { readonly purchaseId: string; readonly walletProof: string | undefined },
) => {
  const purchase = await inTransaction(ctx, 'system', (tx) =>
    findPurchase(tx, publicIdOf(request.purchaseId)),
  )
  const hasSecret = request.purchaseId.includes('.')
  if (!purchase || (hasSecret && !matchesSecretHash(request.purchaseId, purchase.secretHash))) {
    const testPurchase = purchase ? undefined : presentTestPurchase(ctx, request.purchaseId)
    if (!testPurchase) throw new Refusal('not_found', { message: 'No such purchase.' })
    return testPurchase
  }
  // If the signature was public before we received it, anybody may have got a purchase id for it.
  const isBuyer =
    (hasSecret && !purchase.needsWallet) || (await isSignedByPayer(ctx, purchase, request.walletProof))
  return {
    ...presentPurchase(purchase),
    payment: {
      network: purchase.network,
      transaction: purchase.transactionHash,
      payer: purchase.payer,
      amount: purchase.amountUsdcMicro.toString(),
    },
    ...(isBuyer && purchase.state === 'delivered' && purchase.response !== null
      ? { delivery: JSON.parse(purchase.response) }
      : {}),
    ...(isBuyer ? {} : { recover: recoverOf(ctx.config, purchase.purchaseId) }),
  }
}

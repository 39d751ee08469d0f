import { findWalletChallenge, proveByContract, proveByKey, type WalletProof } from '../../evidence/index.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import type { AgentId } from '../../platform/ops/ids.ts'
import { readWalletProof } from '../wallet-proof.ts'
import { parsePaymentRef, type PaymentRef } from './payment-ref.ts'

type PayerFields = {
  readonly paymentRef?: string | undefined
  readonly wallet?: string | undefined
  readonly walletSig?: string | undefined
  readonly walletNonce?: string | undefined
}

/** The wallet proof of a binding, whole or absent; only a transaction on a chain has a paying wallet. */
export const readPayerProof = (fields: PayerFields): WalletProof | undefined => {
  const { proof, missing } = readWalletProof(fields)
  const { paymentRef } = fields
  const target = paymentRef === undefined ? undefined : parsePaymentRef(paymentRef).target
  const details = missing.map((name) => ({
    path: `body.${name}`,
    code: 'missing',
    message: 'send wallet, walletSig and walletNonce together',
  }))
  if (proof && target?.kind !== 'transfer')
    details.push({
      path: 'body.wallet',
      code: 'no_chain',
      message: 'requires a paymentRef that names a transaction on a chain',
    })
  if (details.length > 0) throw new Refusal('validation_failed', { details })
  return proof
}

type PaymentOfMember = { readonly target: PaymentRef['target']; readonly memberId: string | undefined }

/** Proves the wallet of the payer by its key or its contract. Does not consume the nonce. */
export const provePayer = async (
  ctx: Ctx,
  agentId: AgentId,
  proof: WalletProof,
  { target, memberId }: PaymentOfMember,
): Promise<string> => {
  const challenge = await inTransaction(ctx, agentId, (tx) =>
    findWalletChallenge(tx, agentId, proof, memberId ?? ''),
  )
  const provenWallet = (await proveByKey(challenge, proof)) ?? (await proveByContract(ctx, challenge, proof))
  // A contract at this address on another chain may belong to somebody else.
  if (
    provenWallet.type === 'contract' &&
    (target.kind !== 'transfer' || target.chainId !== provenWallet.chainId)
  )
    throw new Refusal('wallet_signature_invalid', {
      message: 'The contract that signed is on another chain than the payment.',
    })
  return provenWallet.wallet
}

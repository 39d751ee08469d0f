import {
  findWalletChallenge,
  proveByContract,
  proveByKey,
  type ProvenWallet,
  type WalletProof,
} from '../evidence/index.ts'
import { inTransaction } from '../platform/db/db.ts'
import type { Agent } from '../platform/http/call.ts'
import type { CredentialsDeps } from './mint/mint.ts'
import { insufficientCredits } from './refusals.ts'

type WalletFields = { readonly [Field in keyof WalletProof]?: string | undefined }

/** The wallet proof of a request. The three fields come together or not at all; `missing` names those not given. */
export const readWalletProof = ({
  wallet,
  walletSig,
  walletNonce,
}: WalletFields): { readonly proof?: WalletProof; readonly missing: readonly string[] } => {
  if (wallet !== undefined && walletSig !== undefined && walletNonce !== undefined)
    return { proof: { wallet, walletSig, walletNonce }, missing: [] }
  const fields = Object.entries({ wallet, walletSig, walletNonce })
  const missing = fields.flatMap(([name, value]) => (value === undefined ? [name] : []))
  return { missing: missing.length === fields.length ? [] : missing }
}

/**
 * Proves the wallet, or refuses it: first by its nonce, then by its signature. A chain is called only for an agent that
 * can pay, and outside a transaction.
 */
export const proveWallet = async (
  deps: CredentialsDeps,
  agent: Agent,
  proof: WalletProof,
  memberId: string,
): Promise<ProvenWallet> => {
  const { challenge, walletByKey } = await inTransaction(deps.ctx, agent.agentId, async (tx) => {
    const found = await findWalletChallenge(tx, agent.agentId, proof, memberId)
    const byKey = await proveByKey(found, proof)
    const asksChain = !byKey && deps.ctx.config.EVM_RPC_URLS.has(found.contractChain ?? 0)
    if (asksChain && !(await deps.credits.hasAllowance(tx, agent))) throw insufficientCredits(deps.ctx)
    return { challenge: found, walletByKey: byKey }
  })
  return walletByKey ?? proveByContract(deps.ctx, challenge, proof)
}

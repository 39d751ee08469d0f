import { getAddress, recoverMessageAddress, type Hex } from 'viem'
import type { Tx } from '../platform/db.ts'
import { Refusal } from '../platform/errors.ts'
import { findNonce, updateNonceUsed } from './store.ts'

export type WalletProof = {
  readonly wallet: string
  readonly walletSig: string
  readonly walletNonce: string
}

const recovered = async (message: string, signature: string): Promise<string | undefined> => {
  try {
    return await recoverMessageAddress({ message, signature: signature as Hex })
  } catch {
    return undefined
  }
}

/** Checks that the wallet signed exactly the stored message; says which chain it was asked for. Uses nothing up. */
export const checkWallet = async (
  tx: Tx,
  agentId: string,
  proof: WalletProof,
  memberId: string,
): Promise<{ wallet: string; chainId: number | null }> => {
  const nonce = await findNonce(tx, { agentId, purpose: 'wallet', nonce: proof.walletNonce })
  if (nonce?.used_at) throw new Refusal('nonce_used')
  if (!nonce || nonce.expired || nonce.message === null) throw new Refusal('nonce_expired')
  const asked = nonce.wallet === null || nonce.wallet.toLowerCase() === proof.wallet.toLowerCase()
  const meant = nonce.member_ref === null || nonce.member_ref === memberId
  const signer = asked && meant ? await recovered(nonce.message, proof.walletSig) : undefined
  if (signer?.toLowerCase() !== proof.wallet.toLowerCase()) throw new Refusal('wallet_signature_invalid')
  return {
    wallet: getAddress(proof.wallet),
    chainId: nonce.chain_id === null ? null : Number(nonce.chain_id),
  }
}

/** Uses the nonce up, in the transaction that mints. */
export const consumeWalletNonce = async (tx: Tx, agentId: string, nonce: string): Promise<void> => {
  if (!(await updateNonceUsed(tx, { agentId, purpose: 'wallet', nonce }))) throw new Refusal('nonce_used')
}

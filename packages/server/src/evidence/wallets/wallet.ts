import type { Hex } from 'viem'
import type { Ctx } from '../../platform/ops/context.ts'
import type { Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { viem } from '../../platform/net/viem.ts'
import { isContractSignature } from './contract.ts'
import { findNonce, updateNonceUsed } from '../store.ts'

export type WalletProof = {
  readonly wallet: string
  readonly walletSig: string
  readonly walletNonce: string
}
/** A proven wallet: by its own key, or by its contract on a chain. */
export type ProvenWallet = {
  readonly wallet: string
  readonly type: 'eoa' | 'contract'
  /** The chain that the challenge named; null where it named none. */
  readonly chainId: number | null
}
type WalletChallenge = {
  readonly message: string
  readonly chainId: number | null
  /**
   * The chain whose contract may confirm the signature: the one in the signed text. A text without a wallet names
   * none.
   */
  readonly contractChain: number | undefined
}

/** r and s of 32 bytes and v of one. Without this, half a byte is read as v. */
const keySignature = /^0x[0-9a-fA-F]{130}$/

const recoverSigner = async (message: string, signature: string): Promise<string | undefined> => {
  if (!keySignature.test(signature)) return undefined
  // Outside the try: a library that cannot be loaded is no wrong signature.
  const { recoverMessageAddress } = viem()
  try {
    return await recoverMessageAddress({ message, signature: signature as Hex })
  } catch {
    return undefined
  }
}

/**
 * The stored challenge of this proof; refuses one that is used, expired, unknown or for another wallet or member.
 * Does not consume it.
 */
export const findWalletChallenge = async (
  tx: Tx,
  agentId: string,
  proof: WalletProof,
  memberId: string,
): Promise<WalletChallenge> => {
  const nonce = await findNonce(tx, { agentId, purpose: 'wallet', nonce: proof.walletNonce })
  if (nonce?.used_at) throw new Refusal('nonce_used')
  if (!nonce || nonce.expired || nonce.message === null) throw new Refusal('nonce_expired')
  const isSameWallet = nonce.wallet === null || nonce.wallet.toLowerCase() === proof.wallet.toLowerCase()
  const meant = nonce.member_ref === null || nonce.member_ref === memberId
  if (!isSameWallet || !meant) throw new Refusal('wallet_signature_invalid')
  const chainId = nonce.chain_id === null ? null : Number(nonce.chain_id)
  return {
    message: nonce.message,
    chainId,
    contractChain: nonce.wallet === null ? undefined : (chainId ?? 1),
  }
}

/** The wallet, when its own key signed exactly the stored message; needs no chain. */
export const proveByKey = async (
  challenge: WalletChallenge,
  proof: WalletProof,
): Promise<ProvenWallet | undefined> => {
  const signer = await recoverSigner(challenge.message, proof.walletSig)
  return signer?.toLowerCase() === proof.wallet.toLowerCase()
    ? { wallet: viem().getAddress(proof.wallet), type: 'eoa', chainId: challenge.chainId }
    : undefined
}

/** Asks the wallet's contract to confirm the signature. Refuses anything but a clear confirmation. */
export const proveByContract = async (
  ctx: Pick<Ctx, 'config' | 'log'>,
  { message, contractChain }: WalletChallenge,
  proof: WalletProof,
): Promise<ProvenWallet> => {
  const url = contractChain === undefined ? undefined : ctx.config.EVM_RPC_URLS.get(contractChain)
  if (contractChain === undefined || url === undefined)
    throw new Refusal('wallet_signature_invalid', {
      message:
        contractChain === undefined
          ? 'The signature is not by this wallet. If the wallet is a contract, ask for the challenge with wallet and chainId.'
          : `The signature is not by this wallet. If the wallet is a contract: chain ${contractChain} cannot be asked here.`,
    })
  const { wallet, walletSig: signature } = proof
  if (!(await isContractSignature(ctx, { url, chainId: contractChain, wallet, message, signature })))
    throw new Refusal('wallet_signature_invalid')
  return { wallet: viem().getAddress(wallet), type: 'contract', chainId: contractChain }
}

/** Consumes the nonce in the transaction that mints. */
export const consumeWalletNonce = async (tx: Tx, agentId: string, nonce: string): Promise<void> => {
  if (!(await updateNonceUsed(tx, { agentId, purpose: 'wallet', nonce }))) throw new Refusal('nonce_used')
}

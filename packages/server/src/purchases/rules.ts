import { createHash, timingSafeEqual } from 'node:crypto'
import type { Mode, purchasePurposes, purchaseStates } from '@pohf/protocol'
import type { Line } from '../ledger/index.ts'
import type { Network } from '../payments/index.ts'
import { viem } from '../platform/net/viem.ts'

export type PurchaseState = (typeof purchaseStates)[number]

/** States in which a purchase can still be delivered. */
const pendingStates: readonly PurchaseState[] = ['reserved', 'broadcast', 'uncertain', 'settled']
export const isPending = (state: PurchaseState): boolean => pendingStates.includes(state)

/** The public part of a purchase id, used in credentials and events. The rest is a secret that proves the buyer. */
export const publicIdOf = (purchaseId: string): string => purchaseId.split('.')[0] ?? ''

export const secretHashOf = (purchaseId: string): Buffer => createHash('sha256').update(purchaseId).digest()

/**
 * The nonce of an authorization that was signed for this purchase alone, as our SDK signs it. Whoever shows the whole id
 * of a nonce is the payer: the id cannot be computed from the nonce.
 */
export const derivedNonceOf = (purchaseId: string): `0x${string}` => {
  const { keccak256, toHex } = viem()
  return keccak256(toHex(`pohf-x402:${purchaseId}`))
}

/** Whether this is the whole id of a purchase, and not only its public part. */
export const matchesSecretHash = (purchaseId: string, secretHash: Buffer): boolean =>
  timingSafeEqual(secretHashOf(purchaseId), secretHash)

/** The message that the payer's wallet signs to receive the delivery. The time bounds the validity of the signature. */
export const recoveryMessage = (baseUrl: string, publicId: string, time: string): string =>
  `I paid for the purchase ${publicId} at ${baseUrl} and ask for what was delivered.\nTime: ${time}`

/** How far the time of a wallet proof may differ from our clock. */
const walletProofSeconds = 300

/** The time and the signature of X-Wallet-Proof; undefined where the form is wrong or the time differs too much. */
export const parseWalletProof = (
  header: string,
  at: Date,
): { readonly time: string; readonly signature: `0x${string}` } | undefined => {
  const [, time, signature] = /^(\d{10,12})\.(0x[0-9a-fA-F]{130})$/.exec(header.trim()) ?? []
  if (time === undefined || signature === undefined) return undefined
  const skewSeconds = Math.abs(Number(time) - at.getTime() / 1_000)
  return skewSeconds <= walletProofSeconds ? { time, signature: signature as `0x${string}` } : undefined
}

/** A test network takes payments in test mode, and no other network does. */
export const modeOf = (network: Pick<Network, 'isTest'>): Mode => (network.isTest ? 'test' : 'live')

export type PurchasePurpose = (typeof purchasePurposes)[number]
type PurchaseSubject = { readonly orderId: string | null; readonly workflowId: string }
export const purposeOf = ({ orderId }: Pick<PurchaseSubject, 'orderId'>): PurchasePurpose =>
  orderId === null ? 'stock' : 'question'
/** What a purchase id is signed for, and what its payment can pay: the question, or a unit of the workflow. */
export const subjectOf = ({ orderId, workflowId }: PurchaseSubject): string => orderId ?? workflowId

/** Ledger accounts of purchases, in millionths of USDC. What pays questions is held for the cents of their orders. */
const accounts = { world: 'world:chain', stock: 'revenue:purchases', question: 'backing:orders' } as const
export const paymentKind = 'purchase_payment'
export const returnKind = 'purchase_return'
export const paymentLines = (purpose: PurchasePurpose, amount: bigint): Line[] => [
  { account: accounts.world, unit: 'usdc_micro', amount: -amount },
  { account: accounts[purpose], unit: 'usdc_micro', amount },
]

/** Exponential backoff between attempts to settle: 2 seconds first, 60 at most. */
export const retryDelaySeconds = (attempts: number): number => Math.min(60, 2 ** Math.min(attempts + 1, 6))

import { createHash, timingSafeEqual } from 'node:crypto'
import type { purchaseStates } from '@pohf/protocol'
import type { Line } from '../ledger/index.ts'

export type PurchaseState = (typeof purchaseStates)[number]

/** Something may still become of it: its payment is on the way, or paid and not delivered yet. */
const pendingStates: readonly PurchaseState[] = ['reserved', 'broadcast', 'uncertain', 'settled']
export const isPending = (state: PurchaseState): boolean => pendingStates.includes(state)

/** The part of a purchase id that may be known: it stands in credentials and events. The rest proves who bought. */
export const publicIdOf = (purchaseId: string): string => purchaseId.split('.')[0] ?? ''

export const secretHashOf = (purchaseId: string): Buffer => createHash('sha256').update(purchaseId).digest()

/** Whether this is the whole id of a purchase, and not only the part that may be known. */
export const matchesSecretHash = (purchaseId: string, secretHash: Buffer): boolean =>
  timingSafeEqual(secretHashOf(purchaseId), secretHash)

/** What the payer's wallet signs to be given what it bought. The time keeps a signature from being good for ever. */
export const recoveryMessage = (baseUrl: string, publicId: string, time: string): string =>
  `I paid for the purchase ${publicId} at ${baseUrl} and ask for what was delivered.\nTime: ${time}`

/** How long such a signature counts, on both sides of our clock. */
const walletProofSeconds = 300

/** The time and the signature of X-Wallet-Proof; undefined where it is not one that could count now. */
export const parseWalletProof = (
  header: string,
  at: Date,
): { readonly time: string; readonly signature: `0x${string}` } | undefined => {
  const [, time, signature] = /^(\d{10,12})\.(0x[0-9a-fA-F]{130})$/.exec(header.trim()) ?? []
  if (time === undefined || signature === undefined) return undefined
  const apart = Math.abs(Number(time) - at.getTime() / 1_000)
  return apart <= walletProofSeconds ? { time, signature: signature as `0x${string}` } : undefined
}

/** Where money of purchases is, in millionths of USDC. */
const accounts = { world: 'world:chain', revenue: 'revenue:purchases' } as const
export const paymentKind = 'purchase_payment'
export const returnKind = 'purchase_return'
export const paymentLines = (amount: bigint): Line[] => [
  { account: accounts.world, unit: 'usdc_micro', amount: -amount },
  { account: accounts.revenue, unit: 'usdc_micro', amount },
]

/** How long to wait before the next look: two seconds first, a minute at most. */
export const retryDelaySeconds = (attempts: number): number => Math.min(60, 2 ** Math.min(attempts + 1, 6))

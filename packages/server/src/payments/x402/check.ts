import { recoverTypedDataAddress } from 'viem'
import type { Network } from './network.ts'
import type { Payment } from './parse.ts'

/** The terms that a payment must meet. */
export type PaymentTerms = {
  readonly network: Network
  readonly amountUsdcMicro: bigint
  readonly at: Date
  /** Whether there is a chain that can check the signature of a contract wallet. */
  readonly acceptsContractWallets: boolean
}

/** A payment that meets the terms; the form says whether a key or a contract signed. */
export type SignedPayment = {
  readonly authorization: Payment['authorization']
  readonly signature: Payment['signature']
  readonly form: 'key' | 'contract'
}
export type PaymentCheckResult =
  { readonly fault: string } | { readonly fault: undefined; readonly signed: SignedPayment }

/** A settlement that starts later than this before the end could miss it. */
const settleSecondsMin = 20n
/** A settlement can stay pending until the authorization ends, and the unit stays reserved so long. */
const validitySecondsMax = 3_600n
/** Far above all dollars in existence, and below what the ledger can hold. */
const valueMax = 2n ** 62n

const types = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const

const same = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase()

/** The first term that the payment does not meet, as a message for the payer. */
const termsFault = (payment: Payment, { network, amountUsdcMicro, at }: PaymentTerms): string | undefined => {
  const { accepted, authorization } = payment
  const nowSeconds = BigInt(Math.floor(at.getTime() / 1_000))
  if (payment.scheme !== 'exact') return 'Only the scheme "exact" is taken.'
  if (payment.network !== network.name && payment.network !== network.caip2)
    return `The payment is for another network; this one is ${network.caip2} (${network.name}).`
  if (accepted && !same(accepted.asset, network.asset))
    return `The payment is in another asset; this one is ${network.asset}.`
  if (!same(authorization.to, network.payTo) || (accepted && !same(accepted.payTo, network.payTo)))
    return `The payment goes to another address; it must go to ${network.payTo}.`
  if (authorization.value < amountUsdcMicro || (accepted && accepted.amount < amountUsdcMicro))
    return `The amount is too small; the price is ${amountUsdcMicro} millionths.`
  if (authorization.value > valueMax) return 'The amount is larger than all the money there is.'
  if (authorization.validAfter > nowSeconds) return 'The authorization is not valid yet.'
  if (authorization.validBefore < nowSeconds + settleSecondsMin)
    return `The authorization has ended or ends within ${settleSecondsMin} seconds.`
  if (authorization.validBefore > nowSeconds + validitySecondsMax)
    return `The authorization is valid for too long; at most ${validitySecondsMax} seconds are taken.`
  return undefined
}

/** Half of the order of secp256k1: tokens refuse high-s signatures, which are malleable. */
const lowSMax = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n

/** ERC-6492: the wallet is not deployed yet. Checking it would run code that the payer chose. */
const undeployedWalletSuffix = '6492'.repeat(16)

const isSignedByPayer = async ({ signature, authorization }: Payment, network: Network): Promise<boolean> => {
  try {
    const signer = await recoverTypedDataAddress({
      domain: {
        name: network.assetName,
        version: network.assetVersion,
        chainId: network.chainId,
        verifyingContract: network.asset.toLowerCase() as `0x${string}`,
      },
      types,
      primaryType: 'TransferWithAuthorization',
      message: authorization,
      signature,
    })
    return same(signer, authorization.from)
  } catch {
    // Values that are not a point of the curve.
    return false
  }
}

/** The payer's key signed, or else a contract that only the chain can ask. */
const checkSignature = async (
  payment: Payment,
  { network, acceptsContractWallets: asksContracts }: PaymentTerms,
): Promise<PaymentCheckResult> => {
  const { signature, authorization } = payment
  const isPlain = signature.length === 2 + 65 * 2
  const isLow = isPlain && BigInt(`0x${signature.slice(66, 130)}`) <= lowSMax
  if (isLow && (await isSignedByPayer(payment, network)))
    return { fault: undefined, signed: { authorization, signature, form: 'key' } }
  if (signature.endsWith(undeployedWalletSuffix))
    return { fault: 'Contract wallets that are not deployed yet (ERC-6492) are not taken.' }
  if (asksContracts && (!isPlain || isLow))
    return { fault: undefined, signed: { authorization, signature, form: 'contract' } }
  if (!isPlain)
    return {
      fault: 'Only a plain signature of 65 bytes by the payer is taken; contract wallets need a chain.',
    }
  return {
    fault: isLow
      ? 'The signature is not by the payer named in "from" over this authorization.'
      : 'The signature is not in its low-s form.',
  }
}

/** Why a payment is refused, or what can be settled. The signature takes about 4 ms, so terms come first. */
export const checkPayment = async (payment: Payment, terms: PaymentTerms): Promise<PaymentCheckResult> => {
  const fault = termsFault(payment, terms)
  return fault === undefined ? checkSignature(payment, terms) : { fault }
}

import { recoverTypedDataAddress } from 'viem'
import type { Network } from './x402-network.ts'
import type { Payment } from './x402-parse.ts'

/** What a payment must fit. */
export type Terms = {
  readonly network: Network
  readonly amountUsdcMicro: bigint
  readonly at: Date
}

/** A settlement started later than this before the end could miss it. */
const settleSeconds = 20n

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

/** The first thing about the terms that does not fit, in words for the payer. */
const termsFault = (payment: Payment, { network, amountUsdcMicro, at }: Terms): string | undefined => {
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
  if (authorization.validAfter > nowSeconds) return 'The authorization is not valid yet.'
  if (authorization.validBefore < nowSeconds + settleSeconds)
    return `The authorization has ended or ends within ${settleSeconds} seconds.`
  return undefined
}

/** Half of the order of secp256k1: tokens refuse the upper half, so that a signature has one form. */
const lowSMax = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n

const signatureFault = async (payment: Payment, { network }: Terms): Promise<string | undefined> => {
  const { signature, authorization } = payment
  if (signature.length !== 2 + 65 * 2)
    return 'Only a plain signature of 65 bytes by the payer is taken; contract wallets need a chain.'
  if (BigInt(`0x${signature.slice(66, 130)}`) > lowSMax) return 'The signature is not in its low-s form.'
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
      ? undefined
      : 'The signature is not by the payer named in "from" over this authorization.'
  } catch {
    // Values that belong to no point of the curve.
    return 'The signature is not by anybody.'
  }
}

/** Why a payment is refused, or undefined for a good one. About 4 ms, nearly all of it the curve, so terms come first. */
export const checkPayment = async (payment: Payment, terms: Terms): Promise<string | undefined> =>
  termsFault(payment, terms) ?? signatureFault(payment, terms)

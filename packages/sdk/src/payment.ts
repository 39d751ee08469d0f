import { keccak_256 } from '@noble/hashes/sha3'
import type { PaymentRequirement } from '@pohf/protocol'
import { PurchaseError } from './purchase-error.ts'

/** The limits of a buyer. Nothing is signed beyond them. */
export type Limits = {
  /** The most that one unit may cost, in US dollars. */
  readonly maxUsd: number
  /** Networks to pay on. Default: Base and its test network. */
  readonly networks?: readonly NetworkName[] | undefined
  /** The only recipient. Default: the one that the service names. */
  readonly payTo?: string | undefined
  /** A token other than USDC of the network, for chains of your own. Must have 6 decimals. */
  readonly asset?: string | undefined
}

/** The address and chain of the real USDC: a challenge that names another token is refused. */
const networks = {
  base: { chainId: 8_453, usdc: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913', isTest: false },
  'base-sepolia': { chainId: 84_532, usdc: '0x036CbD53842c5426634e7929541eC2318f3dCF7e', isTest: true },
} as const
export type NetworkName = keyof typeof networks

const isNetworkName = (name: string): name is NetworkName => Object.hasOwn(networks, name)
const isAddress = (text: string): text is `0x${string}` => /^0x[0-9a-fA-F]{40}$/.test(text)
const same = (one: string, other: string) => one.toLowerCase() === other.toLowerCase()

const usdMax = 1_000_000
/** Millionths of a dollar, the smallest unit of USDC. */
const microOf = (usd: number): bigint => {
  if (!Number.isFinite(usd) || usd <= 0 || usd > usdMax)
    throw new TypeError(`maxUsd must be more than 0 and at most ${usdMax}.`)
  return BigInt(Math.round(usd * 1_000_000))
}
/** An amount in millionths as dollars: '0.01'. */
export const usdOf = (micro: bigint): string => {
  const text = micro.toString().padStart(7, '0')
  const fraction = text.slice(-6).replace(/0{1,4}$/, '')
  return `${text.slice(0, -6)}.${fraction}`
}

/** One offer that the buyer allows, in the words of EIP-3009. */
export type Terms = {
  readonly network: NetworkName
  readonly chainId: number
  readonly isTest: boolean
  readonly asset: `0x${string}`
  readonly assetName: string
  readonly assetVersion: string
  readonly payTo: `0x${string}`
  readonly amountMicro: bigint
  readonly seconds: number
}

/** The longest validity of an authorization, even if the service asks for more. */
const validitySecondsMax = 120

const readTerms = (entry: PaymentRequirement, limits: Limits): Terms | string => {
  const { network, asset, payTo, maxAmountRequired, maxTimeoutSeconds, extra, scheme } = entry
  if (scheme !== 'exact') return `the scheme ${String(scheme)} is not understood`
  if (!isNetworkName(network)) return `the network ${network} is not known`
  if (limits.networks && !limits.networks.includes(network)) return `the network ${network} is not allowed`
  const { chainId, usdc, isTest } = networks[network]
  if (!isAddress(asset) || !same(asset, limits.asset ?? usdc))
    return `${asset} is not the token that may be paid with`
  if (!isAddress(payTo) || (limits.payTo !== undefined && !same(payTo, limits.payTo)))
    return `${payTo} is not the recipient that may be paid`
  if (!/^\d{1,30}$/.test(maxAmountRequired) || !(maxTimeoutSeconds >= 1))
    return 'the amount or the time cannot be read'
  return {
    network,
    chainId,
    isTest,
    asset,
    assetName: String(extra['name']),
    assetVersion: String(extra['version']),
    payTo,
    amountMicro: BigInt(maxAmountRequired),
    seconds: Math.min(validitySecondsMax, Math.floor(maxTimeoutSeconds)),
  }
}

/** The first offer that the limits allow; throws with the reason where there is none. */
export const chooseTerms = (
  offers: readonly PaymentRequirement[],
  limits: Limits,
  purchaseId: string,
): Terms => {
  const cap = microOf(limits.maxUsd)
  const reasons: string[] = []
  for (const offer of offers) {
    const terms = readTerms(offer, limits)
    if (typeof terms === 'string') {
      reasons.push(terms)
      continue
    }
    if (terms.amountMicro <= cap) return terms
    throw new PurchaseError(
      'price_above_cap',
      `The unit costs ${usdOf(terms.amountMicro)} USD and the cap is ${usdOf(cap)} USD. Nothing was signed.`,
      { purchaseId },
    )
  }
  throw new PurchaseError('terms_refused', `Nothing was signed: ${reasons.join('; ')}.`, { purchaseId })
}

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

/** EIP-712 typed data: what the wallet is asked to sign. */
export type TypedData = {
  readonly domain: {
    readonly name: string
    readonly version: string
    readonly chainId: number
    readonly verifyingContract: `0x${string}`
  }
  readonly types: typeof types
  readonly primaryType: 'TransferWithAuthorization'
  readonly message: {
    readonly from: `0x${string}`
    readonly to: `0x${string}`
    readonly value: bigint
    readonly validAfter: bigint
    readonly validBefore: bigint
    readonly nonce: `0x${string}`
  }
}

/**
 * The nonce of a purchase. A second authorization for the same purchase has the same nonce, so the token itself refuses to
 * move money twice; and the chain alone shows which purchase was paid.
 */
const nonceOf = (purchaseId: string): `0x${string}` =>
  `0x${Array.from(keccak_256(new TextEncoder().encode(`pohf-x402:${purchaseId}`)), (byte) => byte.toString(16).padStart(2, '0')).join('')}`

/** A clock that is ten minutes fast still signs what is valid now. */
const clockSkewSeconds = 600

export const typedDataOf = (
  terms: Terms,
  purchase: { readonly purchaseId: string; readonly from: string; readonly atSeconds: number },
): TypedData => {
  if (!isAddress(purchase.from)) throw new TypeError('wallet.address must be 0x and 40 hexadecimal digits.')
  return {
    domain: {
      name: terms.assetName,
      version: terms.assetVersion,
      chainId: terms.chainId,
      verifyingContract: terms.asset,
    },
    types,
    primaryType: 'TransferWithAuthorization',
    message: {
      from: purchase.from,
      to: terms.payTo,
      value: terms.amountMicro,
      validAfter: BigInt(purchase.atSeconds - clockSkewSeconds),
      validBefore: BigInt(purchase.atSeconds + terms.seconds),
      nonce: nonceOf(purchase.purchaseId),
    },
  }
}

/** The value of X-PAYMENT. */
export const paymentHeader = (terms: Terms, { message }: TypedData, signature: string): string => {
  const authorization = {
    ...message,
    value: message.value.toString(),
    validAfter: message.validAfter.toString(),
    validBefore: message.validBefore.toString(),
  }
  return btoa(
    JSON.stringify({
      x402Version: 1,
      scheme: 'exact',
      network: terms.network,
      payload: { signature, authorization },
    }),
  )
}

import { viem } from '../../platform/net/viem.ts'
import type { Network } from './network.ts'
import type { Payment } from './parse.ts'

/** The terms that a payment must meet. */
export type PaymentTerms = {
  readonly network: Network
  readonly amountUsdcMicro: bigint
  readonly at: Date
}

/** A payment that meets the terms; the form says whether a key or a contract signed. */
export type SignedPayment = {
  readonly authorization: Payment['authorization']
  readonly signature: Payment['signature']
  readonly form: 'key' | 'contract'
}
export type SignatureCheckResult =
  { readonly fault: string } | { readonly fault: undefined; readonly signed: SignedPayment }

/** A settlement that starts later than this before the end could miss it. */
const settleSecondsMin = 20n
/** A settlement can stay pending until the authorization ends, and the unit stays reserved so long. */
const validitySecondsMax = 3_600n
/** A billion dollars. A ledger account holds at most 2^53 - 1 millionths: nine such payments. */
const valueMax = 10n ** 15n

/** EIP-712: what the payer of an EIP-3009 authorization signs. */
export const authorizationTypes = {
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

/** The message for the payer where the payment does not meet a term. */
type TermCheck = (payment: Payment, terms: PaymentTerms) => string | undefined

const nowSecondsOf = ({ at }: PaymentTerms): bigint => BigInt(Math.floor(at.getTime() / 1_000))

const checkScheme: TermCheck = ({ scheme }) =>
  scheme === 'exact' ? undefined : 'Only the scheme "exact" is accepted.'

const checkNetwork: TermCheck = (payment, { network }) =>
  payment.network === network.name || payment.network === network.caip2
    ? undefined
    : `The payment is for another network; this one is ${network.caip2} (${network.name}).`

const checkAsset: TermCheck = ({ accepted }, { network }) =>
  accepted && !same(accepted.asset, network.asset)
    ? `The payment is in another asset; this one is ${network.asset}.`
    : undefined

const checkRecipient: TermCheck = ({ accepted, authorization }, { network }) =>
  !same(authorization.to, network.payTo) || (accepted && !same(accepted.payTo, network.payTo))
    ? `The payment goes to another address; it must go to ${network.payTo}.`
    : undefined

const checkAmount: TermCheck = ({ accepted, authorization }, { amountUsdcMicro }) =>
  authorization.value < amountUsdcMicro || (accepted && accepted.amount < amountUsdcMicro)
    ? `The amount is too small; the price is ${amountUsdcMicro} millionths.`
    : undefined

const checkAmountLimit: TermCheck = ({ authorization }) =>
  authorization.value > valueMax ? 'The amount is larger than this service accepts.' : undefined

const checkStart: TermCheck = ({ authorization }, terms) =>
  authorization.validAfter > nowSecondsOf(terms) ? 'The authorization is not valid yet.' : undefined

const checkEnd: TermCheck = ({ authorization }, terms) =>
  authorization.validBefore < nowSecondsOf(terms) + settleSecondsMin
    ? `The authorization has ended or ends within ${settleSecondsMin} seconds.`
    : undefined

const checkValidity: TermCheck = ({ authorization }, terms) =>
  authorization.validBefore > nowSecondsOf(terms) + validitySecondsMax
    ? `The authorization is valid for too long; at most ${validitySecondsMax} seconds are accepted.`
    : undefined

/** The terms of a payment, in the order in which they are checked. */
export const termChecks: readonly (readonly [name: string, check: TermCheck])[] = [
  ['scheme', checkScheme],
  ['network', checkNetwork],
  ['asset', checkAsset],
  ['recipient', checkRecipient],
  ['amount', checkAmount],
  ['amount_limit', checkAmountLimit],
  ['start', checkStart],
  ['end', checkEnd],
  ['validity', checkValidity],
]

/** The first term that the payment does not meet, as a message for the payer. */
export const paymentTermsFault = (payment: Payment, terms: PaymentTerms): string | undefined => {
  for (const [, check] of termChecks) {
    const fault = check(payment, terms)
    if (fault !== undefined) return fault
  }
  return undefined
}

/** Half of the order of secp256k1: tokens refuse high-s signatures, which are malleable. */
const lowSMax = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n

/** ERC-6492: the wallet is not deployed yet. Checking it would run code that the payer chose. */
const undeployedWalletSuffix = '6492'.repeat(16)

/** EIP-712: the token for which it is signed. */
export const domainOf = (network: Network) => ({
  name: network.assetName,
  version: network.assetVersion,
  chainId: network.chainId,
  verifyingContract: network.asset.toLowerCase() as `0x${string}`,
})

const isSignedByPayer = async ({ signature, authorization }: Payment, network: Network): Promise<boolean> => {
  // Outside the try: a library that cannot be loaded is no wrong signature.
  const { recoverTypedDataAddress } = viem()
  try {
    const signer = await recoverTypedDataAddress({
      domain: domainOf(network),
      types: authorizationTypes,
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

type SignatureTerms = {
  readonly network: Network
  /** Whether there is a chain that can check the signature of a contract wallet. */
  readonly acceptsContractWallets: boolean
}
/** Whether the payer's key signed, or else a contract that only the chain can ask. It takes about 4 ms. */
export const checkSignature = async (
  payment: Payment,
  { network, acceptsContractWallets }: SignatureTerms,
): Promise<SignatureCheckResult> => {
  const { signature, authorization } = payment
  const isPlain = signature.length === 2 + 65 * 2
  const isLow = isPlain && BigInt(`0x${signature.slice(66, 130)}`) <= lowSMax
  if (isLow && (await isSignedByPayer(payment, network)))
    return { fault: undefined, signed: { authorization, signature, form: 'key' } }
  if (signature.endsWith(undeployedWalletSuffix))
    return { fault: 'Contract wallets that are not deployed yet (ERC-6492) are not accepted.' }
  if (acceptsContractWallets && (!isPlain || isLow))
    return { fault: undefined, signed: { authorization, signature, form: 'contract' } }
  if (!isPlain)
    return {
      fault: 'Only a plain signature of 65 bytes by the payer is accepted; contract wallets need a chain.',
    }
  return {
    fault: isLow
      ? 'The signature is not by the payer named in "from" over this authorization.'
      : 'The signature is not in its low-s form.',
  }
}

import type { Hex } from 'viem'
import { z } from 'zod'
import { viem } from '../../platform/net/viem.ts'

/** An EIP-3009 authorization. */
export type Authorization = {
  readonly from: Hex
  readonly to: Hex
  readonly value: bigint
  readonly validAfter: bigint
  readonly validBefore: bigint
  readonly nonce: Hex
}
/** key: the payer's own signature. contract: the token asks the payer's contract (EIP-1271). */
export type SignatureForm = 'key' | 'contract'

const keySignature = [
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)',
] as const
const contractSignature = [
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)',
] as const
const authorizationState = [
  'function authorizationState(address authorizer, bytes32 nonce) view returns (bool)',
] as const

export const transferData = (one: Authorization, signature: Hex, form: SignatureForm): Hex => {
  const { encodeFunctionData, hexToNumber, parseAbi, slice } = viem()
  const terms = [one.from, one.to, one.value, one.validAfter, one.validBefore, one.nonce] as const
  if (form === 'contract')
    return encodeFunctionData({
      abi: parseAbi(contractSignature),
      functionName: 'transferWithAuthorization',
      args: [...terms, signature],
    })
  // r, s and the recovery bit, which signers write as 0 and 1 or as 27 and 28.
  const [r, s, v] = [slice(signature, 0, 32), slice(signature, 32, 64), hexToNumber(slice(signature, 64, 65))]
  return encodeFunctionData({
    abi: parseAbi(keySignature),
    functionName: 'transferWithAuthorization',
    args: [...terms, v < 27 ? v + 27 : v, r, s],
  })
}

export const stateData = (payer: Hex, nonce: Hex): Hex => {
  const { encodeFunctionData, parseAbi } = viem()
  const abi = parseAbi(authorizationState)
  return encodeFunctionData({ abi, functionName: 'authorizationState', args: [payer, nonce] })
}

/** AuthorizationUsed(address,bytes32) */
export const usedTopic = '0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5'
/** AuthorizationCanceled(address,bytes32) */
export const canceledTopic = '0x1cdd46ff242716cdaa72d159d339a485b3438398348d68f09d7c8c0a59353d81'
/** Transfer(address,address,uint256) */
const transferTopic = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

const hex = z
  .string()
  .regex(/^0x[0-9a-fA-F]*$/)
  .transform((text) => text.toLowerCase() as Hex)
export const quantity = z
  .string()
  .regex(/^0x[0-9a-fA-F]{1,64}$/)
  .transform(BigInt)

export const log = z.looseObject({
  address: hex,
  topics: z.array(hex).max(4),
  data: hex,
  logIndex: quantity,
  transactionHash: hex,
  blockNumber: quantity,
  removed: z.boolean().optional(),
})
export const receipt = z.looseObject({
  transactionHash: hex,
  blockNumber: quantity,
  status: quantity,
  gasUsed: quantity,
  logs: z.array(log).max(2_000),
})
export type Receipt = z.infer<typeof receipt>
export const block = z.looseObject({
  number: quantity,
  timestamp: quantity,
  baseFeePerGas: quantity.optional(),
})
export type Block = z.infer<typeof block>

export const addressTopic = (address: Hex): Hex => `0x${address.slice(2).padStart(64, '0')}`

/** The transfer of a payment: token, payer, recipient, value. */
export type Transfer = {
  readonly asset: Hex
  readonly payer: Hex
  readonly nonce: Hex
  readonly payTo: Hex
  readonly valueMicro: bigint
}

/**
 * Whether a transaction made this transfer: the token logs that the authorization was used, and its next log is the
 * transfer. Neither a "used" log alone nor a successful call is a payment.
 */
export const hasTransferred = ({ status, logs }: Receipt, paid: Transfer): boolean => {
  if (status !== 1n) return false
  const used = logs.find(
    ({ address, topics }) =>
      address === paid.asset &&
      topics[0] === usedTopic &&
      topics[1] === addressTopic(paid.payer) &&
      topics[2] === paid.nonce,
  )
  const next = used && logs.find(({ logIndex }) => logIndex === used.logIndex + 1n)
  return (
    next !== undefined &&
    next.address === paid.asset &&
    next.topics[0] === transferTopic &&
    next.topics[1] === addressTopic(paid.payer) &&
    next.topics[2] === addressTopic(paid.payTo) &&
    /^0x[0-9a-f]{64}$/.test(next.data) &&
    BigInt(next.data) === paid.valueMicro
  )
}

/** The sum of a token's transfers from one address to another in a transaction. */
export const transferredTo = (
  { status, logs }: Receipt,
  { asset, from, to }: { readonly asset: Hex; readonly from: Hex; readonly to: Hex },
): bigint =>
  status !== 1n
    ? 0n
    : logs
        .filter(
          ({ address, topics, data }) =>
            address === asset &&
            topics[0] === transferTopic &&
            topics[1] === addressTopic(from) &&
            topics[2] === addressTopic(to) &&
            /^0x[0-9a-f]{64}$/.test(data),
        )
        .reduce((sum, { data }) => sum + BigInt(data), 0n)

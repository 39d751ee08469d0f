import { z } from 'zod'
import { isNestedTooDeep } from '../../platform/http/json-depth.ts'

const address = z.string().regex(/^0x[0-9a-fA-F]{40}$/)
const uint256Max = 2n ** 256n - 1n
/** 78 digits hold every uint256. Clients write numbers as text; some write times as JSON numbers. */
const uint256 = z
  .union([z.string().regex(/^\d{1,78}$/), z.int().min(0)])
  .transform((value) => BigInt(value))
  .refine((value) => value <= uint256Max)
const label = z.string().min(1).max(128)

const payload = z.object({
  // Long enough for a contract wallet's signature, so that its refusal can say why.
  signature: z.string().regex(/^0x(?:[0-9a-fA-F]{2}){1,3000}$/),
  authorization: z.object({
    from: address,
    to: address,
    value: uint256,
    validAfter: uint256,
    validBefore: uint256,
    nonce: z.string().regex(/^0x[0-9a-fA-F]{64}$/),
  }),
})
const version1 = z.object({ x402Version: z.literal(1), scheme: label, network: label, payload })
const version2 = z.object({
  x402Version: z.literal(2),
  payload,
  accepted: z.object({
    scheme: label,
    network: label,
    amount: uint256,
    asset: address,
    payTo: address,
    extra: z.object({ purchaseId: z.string().max(512).optional() }).optional(),
  }),
  extensions: z
    .object({
      'payment-identifier': z
        .object({
          info: z.object({
            id: z
              .string()
              .regex(/^[\w-]{16,128}$/)
              .optional(),
          }),
        })
        .optional(),
    })
    .optional(),
})
const anyVersion = z.discriminatedUnion('x402Version', [version1, version2])

/** A payment in one form for both versions. Fields that version 1 does not echo are absent. */
export type Payment = {
  readonly scheme: string
  /** The name in either version. */
  readonly network: string
  readonly accepted?: { readonly amount: bigint; readonly asset: string; readonly payTo: string }
  readonly purchaseId?: string
  /** The name that the client gave to its payment, in the extension payment-identifier. */
  readonly identifier?: string
  readonly signature: `0x${string}`
  readonly authorization: {
    readonly from: `0x${string}`
    readonly to: `0x${string}`
    readonly value: bigint
    readonly validAfter: bigint
    readonly validBefore: bigint
    readonly nonce: `0x${string}`
  }
}

/** Node accepts 16 KB of headers in total. */
const charactersMax = 12_000

/** Lower case: a wrong checksum in an address is no reason to refuse a payment. The schemas checked the 0x. */
const hex = (text: string) => text.toLowerCase() as `0x${string}`

const decode = (header: string): unknown => {
  if (header.length > charactersMax || !/^[A-Za-z0-9+/_-]+={0,2}$/.test(header)) return undefined
  try {
    // Buffer reads both alphabets of base64.
    const text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(header, 'base64'))
    return isNestedTooDeep(text) ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Reads the value of X-PAYMENT or PAYMENT-SIGNATURE, of version 1 or 2; undefined where it cannot be read. */
export const parsePayment = (header: string): Payment | undefined => {
  const parsed = anyVersion.safeParse(decode(header.trim()))
  if (!parsed.success) return undefined
  const { signature, authorization } = parsed.data.payload
  const signed = {
    signature: hex(signature),
    authorization: {
      ...authorization,
      from: hex(authorization.from),
      to: hex(authorization.to),
      nonce: hex(authorization.nonce),
    },
  }
  if (parsed.data.x402Version === 1)
    return { scheme: parsed.data.scheme, network: parsed.data.network, ...signed }
  const { scheme, network, amount, asset, payTo, extra } = parsed.data.accepted
  const identifier = parsed.data.extensions?.['payment-identifier']?.info.id
  return {
    scheme,
    network,
    accepted: { amount, asset: hex(asset), payTo: hex(payTo) },
    ...(extra?.purchaseId === undefined ? {} : { purchaseId: extra.purchaseId }),
    ...(identifier === undefined ? {} : { identifier }),
    ...signed,
  }
}

import { randomBytes } from 'node:crypto'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'

/** What a stock client reads off `accepts[]`, in the words of either version. */
export type Entry = {
  readonly scheme: string
  readonly network: string
  readonly asset: string
  readonly payTo: string
  readonly extra: { readonly name: string; readonly version: string; readonly purchaseId?: string }
  readonly maxAmountRequired?: string
  readonly amount?: string
}
type Authorization = {
  from: `0x${string}`
  to: `0x${string}`
  value: string
  validAfter: string
  validBefore: string
  nonce: `0x${string}`
}

const hex = (text: string) => text as `0x${string}`

/** A wallet that pays as a stock x402 client does: it signs, and sends nothing on-chain. */
export const makePayer = () => {
  const account = privateKeyToAccount(generatePrivateKey())
  const authorize = (
    entry: Entry,
    atSeconds: number,
    change: Partial<Authorization> = {},
  ): Authorization => ({
    from: account.address,
    to: hex(entry.payTo),
    value: entry.amount ?? entry.maxAmountRequired ?? '0',
    validAfter: String(atSeconds - 600),
    validBefore: String(atSeconds + 120),
    nonce: `0x${randomBytes(32).toString('hex')}`,
    ...change,
  })
  const sign = (entry: Entry, authorization: Authorization, chainId = 84_532) =>
    account.signTypedData({
      domain: {
        name: entry.extra.name,
        version: entry.extra.version,
        chainId,
        verifyingContract: hex(entry.asset),
      },
      types: {
        TransferWithAuthorization: [
          { name: 'from', type: 'address' },
          { name: 'to', type: 'address' },
          { name: 'value', type: 'uint256' },
          { name: 'validAfter', type: 'uint256' },
          { name: 'validBefore', type: 'uint256' },
          { name: 'nonce', type: 'bytes32' },
        ],
      },
      primaryType: 'TransferWithAuthorization',
      message: {
        ...authorization,
        value: BigInt(authorization.value),
        validAfter: BigInt(authorization.validAfter),
        validBefore: BigInt(authorization.validBefore),
      },
    })
  return { account, authorize, sign }
}

export const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64')
export const decode = (text: string | undefined) =>
  JSON.parse(Buffer.from(text ?? '', 'base64').toString('utf8'))

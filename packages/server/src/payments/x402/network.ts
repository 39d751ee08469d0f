import type { Config } from '../../platform/ops/config.ts'

/** The network and token that purchases are paid with. */
export type Network = {
  /** The name in x402 version 1, which has a closed list of them. */
  readonly name: string
  /** The name in x402 version 2. */
  readonly caip2: string
  readonly chainId: number
  readonly isTest: boolean
  readonly asset: string
  readonly assetName: string
  readonly assetVersion: string
  readonly payTo: string
}

/** Nobody has a key for it, so that a missing setting cannot send money to a real account. */
const burnAddress = '0x000000000000000000000000000000000000dEaD'

const networks = {
  'base-sepolia': {
    chainId: 84_532,
    isTest: true,
    asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
    assetName: 'USDC',
  },
  base: {
    chainId: 8_453,
    isTest: false,
    asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
    assetName: 'USD Coin',
  },
} as const

export const networkOf = (config: Config): Network => {
  const name = config.X402_NETWORK
  const { chainId, isTest, asset, assetName } = networks[name]
  return {
    name,
    caip2: `eip155:${chainId}`,
    chainId,
    isTest,
    asset: config.X402_ASSET ?? asset,
    assetName: config.X402_ASSET_NAME ?? assetName,
    assetVersion: config.X402_ASSET_VERSION,
    payTo: config.X402_PAY_TO ?? burnAddress,
  }
}

const microOfCent = 10_000n
/** Cents in millionths of a USDC. */
export const usdcMicroOf = (usdCents: bigint): bigint => usdCents * microOfCent
/** Whole cents of an amount that is the price of an order. */
export const usdCentsOfMicro = (usdcMicro: bigint): bigint => usdcMicro / microOfCent

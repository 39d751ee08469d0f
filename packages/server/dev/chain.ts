import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  deployRegistry,
  HumanRegistry,
  openRegistry,
  startChain,
  type Chain,
  type Jwk,
  type Registry,
} from '@pohf/chain'
import type { Config } from '../src/platform/ops/config.ts'

export type DevChain = {
  /** The server's settings for this chain. */
  readonly settings: Record<string, string>
  /** What a developer's shell needs to buy with a wallet and to read the registry. */
  readonly variables: Readonly<Record<'PAYER_PRIVATE_KEY' | 'POHF_CHAIN_URL' | 'POHF_REGISTRY', string>>
  /** Adds the server's keys to the registry, and returns a description for the developer. */
  readonly registerKeys: (serverUrl: string) => Promise<string>
  readonly stop: () => Promise<void>
}

/** Tells a registry of an earlier version of the contract. */
const registryCode = createHash('sha256').update(HumanRegistry.bytecode).digest('hex')

/** The registry of an earlier start if the chain still has it, else a new one. */
const findRegistry = async (chain: Chain, file: string): Promise<Registry> => {
  if (existsSync(file)) {
    const { registry, code } = JSON.parse(readFileSync(file, 'utf8')) as {
      registry: `0x${string}`
      code?: string
    }
    const isThere = (await chain.rpc('eth_getCode', [registry, 'latest'])) !== '0x'
    if (isThere && code === registryCode) return openRegistry(chain, registry)
  }
  // No delay: a developer does not wait until a key becomes valid.
  const made = await deployRegistry(chain, { keyDelaySeconds: 0 })
  writeFileSync(file, JSON.stringify({ registry: made.address, code: registryCode }))
  return made
}

const yearS = 365 * 86_400
const registerKeys = async (chain: Chain, registry: Registry, serverUrl: string): Promise<string> => {
  const response = await fetch(`${serverUrl}/.well-known/jwks.json`)
  const { keys } = (await response.json()) as { keys: (Jwk & { pohf_purpose: string })[] }
  for (const key of keys) {
    if (key.pohf_purpose !== 'onchain' || (await registry.numberOf(key.kid)) !== 0) continue
    const outcome = await registry.addKey(key, Math.floor(Date.now() / 1_000) + 2 * yearS)
    if (typeof outcome === 'string') throw new Error(`the registry rejected a key: ${outcome}`)
  }
  return `${chain.url}   chain id ${chain.chainId}, test dollars at ${chain.token}
  HumanRegistry  ${registry.address}`
}

/**
 * An idle chain makes a block this often. That is enough: wallets sign authorizations that have been valid for ten minutes.
 */
const idleBlockSeconds = 60

/**
 * A local chain with test dollars, a buyer, gas accounts and a registry of humans. It is stored beside the database, since
 * their states belong together. Undefined where anvil is not available for this system.
 */
export const openChain = async (
  config: Config,
  {
    port = 0,
    idleBlockTime = idleBlockSeconds,
  }: { readonly port?: number; readonly idleBlockTime?: number } = {},
): Promise<DevChain | undefined> => {
  const chain = await startChain({
    stateFile: join(config.DATA_DIR, 'chain-state.json'),
    idleBlockTime,
    port,
  })
  if (!chain) return undefined
  try {
    const registry = await findRegistry(chain, join(config.DATA_DIR, 'chain.json'))
    const gasKeysFile = join(config.DATA_DIR, 'chain-gas.keys')
    const gasKeys = chain.gasAccounts.map((account) => account.privateKey)
    writeFileSync(gasKeysFile, `${gasKeys.join('\n')}\n`, { mode: 0o600 })
    return {
      settings: {
        EVM_RPC_URLS: `${chain.chainId}=${chain.url}`,
        ONCHAIN_REGISTRIES: `${chain.chainId}=${registry.address}`,
        X402_CHAIN_RPC: chain.url,
        X402_GAS_KEYS_FILE: gasKeysFile,
        X402_PAY_TO: chain.payTo.address,
      },
      variables: {
        PAYER_PRIVATE_KEY: chain.buyer.privateKey,
        POHF_CHAIN_URL: chain.url,
        POHF_REGISTRY: registry.address,
      },
      registerKeys: (serverUrl) => registerKeys(chain, registry, serverUrl),
      stop: chain.stop,
    }
  } catch (error) {
    await chain.stop()
    throw error
  }
}

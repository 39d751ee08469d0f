import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startChain, type Chain } from '@pohf/chain'
import { startServer } from './server.ts'

type Options = {
  /** Seconds between blocks; default: a block for each transaction, at once. */
  readonly blockTime?: number
  /** What stands between the server and the chain. */
  readonly through?: (chain: Chain) => Promise<string>
  /** How many of the chain's accounts pay the server's gas; the others are the caller's. */
  readonly gasKeys?: number
  readonly environment?: Readonly<Record<string, string>>
}

/** A whole server that sells on a chain of its own; undefined where anvil is not built for this system. */
export const findShop = async ({ blockTime, through, gasKeys = 4, environment }: Options = {}) => {
  const chain = await startChain(blockTime === undefined ? {} : { blockTime })
  if (!chain) return undefined
  const folder = mkdtempSync(join(tmpdir(), 'pohf-gas-'))
  const end = async () => {
    await chain.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    const keys = join(folder, 'gas-keys')
    const lines = chain.gasAccounts.slice(0, gasKeys).map(({ privateKey }) => privateKey)
    writeFileSync(keys, lines.join('\n'), { mode: 0o600 })
    const server = await startServer({
      X402_CHAIN_RPC: (await through?.(chain)) ?? chain.url,
      X402_PAY_TO: chain.payTo.address,
      X402_GAS_KEYS_FILE: keys,
      ...environment,
    })
    const stop = async () => {
      await server.stop()
      await end()
    }
    return { ...server, chain, stop }
  } catch (error) {
    await end()
    throw error
  }
}

/** The same, for whom nothing can be done without a chain. */
export const startShop = async (options: Options = {}) => {
  const shop = await findShop(options)
  if (!shop) throw new Error('anvil is not built for this system')
  return shop
}

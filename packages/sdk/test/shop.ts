import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { startChain, usdcAddress } from '@pohf/chain'
import { pad, toEventSelector, type Hex } from 'viem'
import { freePort } from '../../server/dev/cluster.ts'
import { startHarness } from '../../server/test/harness.ts'

/** A server in this process that listens, and sells on a chain of its own where one can be had. */
export const openShop = async () => {
  const chain = await startChain()
  const folder = mkdtempSync(join(tmpdir(), 'pohf-shop-'))
  after(async () => {
    await chain?.stop()
    rmSync(folder, { recursive: true, force: true })
  })
  const gasKeys = join(folder, 'gas-keys')
  const lines = (chain?.gasAccounts ?? []).map(({ privateKey }) => privateKey)
  writeFileSync(gasKeys, lines.join('\n'), { mode: 0o600 })
  const port = await freePort()
  // Credentials name the address that they can be checked at, so it must be the real one.
  const baseUrl = `http://127.0.0.1:${port}`
  const onChain = chain && {
    X402_CHAIN_RPC: chain.url,
    X402_PAY_TO: chain.payTo.address,
    X402_GAS_KEYS_FILE: gasKeys,
  }
  const harness = await startHarness({ BASE_URL: baseUrl, ...onChain })
  await harness.app.api.listen({ port, host: '127.0.0.1' })
  return {
    harness,
    baseUrl,
    folder,
    /** For tests that need the chain. */
    withChain: { skip: chain ? false : 'anvil is not built for this system' },
    fund: async (address: Hex) => chain?.mint(address, 1_000_000n),
    /** The nonces of all authorizations of a payer that the token has used, by its own log. */
    usedNonces: async (payer: Hex): Promise<string[]> => {
      const topics = [toEventSelector('AuthorizationUsed(address,bytes32)'), pad(payer)]
      const filter = { address: usdcAddress, fromBlock: '0x0', toBlock: 'latest', topics }
      const logs = (await chain?.rpc('eth_getLogs', [filter])) as { topics: string[] }[]
      return logs.map((log) => log.topics[2] ?? '')
    },
  }
}

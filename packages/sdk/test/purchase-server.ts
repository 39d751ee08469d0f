import { usdcAddress } from '@pohf/chain'
import { pad, toEventSelector, type Hex } from 'viem'
import { freePort } from '../../server/dev/cluster.ts'
import { startHarness } from '../../server/test/fixtures/harness.ts'
import { startPurchaseHarness } from '../../server/test/fixtures/payments/purchases.ts'

/** A server in this process that listens, and sells on a chain of its own where one can be had. */
export const startPurchaseServer = async () => {
  const port = await freePort()
  // Credentials name the address that they can be checked at, so it must be the real one.
  const baseUrl = `http://127.0.0.1:${port}`
  const shop = await startPurchaseHarness({ BASE_URL: baseUrl })
  const harness = shop?.harness ?? (await startHarness({ BASE_URL: baseUrl }))
  await harness.app.api.listen({ port, host: '127.0.0.1' })
  return {
    harness,
    baseUrl,
    /** For tests that need the chain. */
    withChain: { skip: shop ? false : 'anvil is not built for this system' },
    fund: async (address: Hex) => shop?.chain.mint(address, 1_000_000n),
    /** The nonces of all authorizations of a payer that the token has used, by its own log. */
    usedNonces: async (payer: Hex): Promise<string[]> => {
      const topics = [toEventSelector('AuthorizationUsed(address,bytes32)'), pad(payer)]
      const filter = { address: usdcAddress, fromBlock: '0x0', toBlock: 'latest', topics }
      const logs = (await shop?.chain.rpc('eth_getLogs', [filter])) as { topics: string[] }[]
      return logs.map((log) => log.topics[2] ?? '')
    },
  }
}

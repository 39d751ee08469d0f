import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { usdcAddress, type Chain } from '@pohf/chain'
import { verifyCredential } from '@pohf/verify'
import { keccak256, pad, toHex, type Address, type Hex } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'

const installLimitMs = 900_000

/** Installs a folder of clients by its own lockfile, where that has changed since the last time. */
export const installClients = (folder: string): void => {
  const installed = join(folder, 'node_modules/.package-lock.json')
  const lockfile = join(folder, 'package-lock.json')
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(lockfile).mtimeMs) return
  const { status } = spawnSync('npm', ['ci', '--ignore-scripts', '--no-progress'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
    timeout: installLimitMs,
  })
  if (status !== 0)
    throw new Error(`npm ci in ${folder} ended with status ${status}: the clients are not installed`)
}

export const installedVersion = (folder: string, name: string): string =>
  (
    JSON.parse(readFileSync(join(folder, 'node_modules', name, 'package.json'), 'utf8')) as {
      version: string
    }
  ).version

const balanceOf = async (chain: Chain, owner: Address): Promise<bigint> =>
  BigInt(
    (await chain.rpc('eth_call', [
      { to: usdcAddress, data: `0x70a08231${pad(owner).slice(2)}` },
      'latest',
    ])) as Hex,
  )

/** How many authorizations of this payer the token has used, in any transaction. */
const chargesOf = async (chain: Chain, payer: Address): Promise<number> => {
  const topic = keccak256(toHex('AuthorizationUsed(address,bytes32)'))
  const filter = { address: usdcAddress, fromBlock: '0x0', toBlock: 'latest', topics: [topic, pad(payer)] }
  return ((await chain.rpc('eth_getLogs', [filter])) as unknown[]).length
}

const fundsMicro = 1_000_000n
const priceMicro = 10_000n

/** A wallet with a dollar. */
export const makeBuyer = async (chain: Chain): Promise<{ privateKey: Hex; address: Address }> => {
  const privateKey = generatePrivateKey()
  const { address } = privateKeyToAccount(privateKey)
  await chain.mint(address, fundsMicro)
  return { privateKey, address }
}

/** Why the purchase of wf_test_ok is wrong: its credential, or not exactly one charge of the price. */
export const purchaseFault = async (
  { chain, baseUrl }: { readonly chain: Chain; readonly baseUrl: string },
  buyer: Address,
  credential: string,
): Promise<string | undefined> => {
  const verified = await verifyCredential(credential, {
    issuer: baseUrl,
    policy: {
      kinds: ['purchase'],
      minAssurance: 'low',
      minQuality: 0,
      status: 'if-present',
      allowTest: true,
    },
  })
  if (!verified.ok) return `its credential is refused: ${verified.message}`
  const charges = await chargesOf(chain, buyer)
  const spent = fundsMicro - (await balanceOf(chain, buyer))
  return charges !== 1 || spent !== priceMicro
    ? `was charged ${charges} times, ${spent} millionths in all`
    : undefined
}

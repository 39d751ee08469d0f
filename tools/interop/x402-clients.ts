// Other people's clients, unmodified, buy from a server of ours on a chain of its own. npm run conformance:x402 [-- --json]
import { execFile, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { usdcAddress, type Chain } from '@pohf/chain'
import { verifyCredential } from '@pohf/verify'
import { keccak256, pad, toHex, type Address, type Hex } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { startPurchaseServer } from '../../packages/server/test/fixtures/processes/purchase-server.ts'

const run = promisify(execFile)
const folder = fileURLToPath(new URL('../../conformance/x402-clients', import.meta.url))
const installLimitMs = 900_000
const clientLimitMs = 60_000

const clients = [
  { name: 'x402-fetch', file: 'x402-fetch.mjs', version: 1 },
  { name: '@x402/fetch', file: 'x402-v2-fetch.mjs', version: 2 },
  { name: '@x402/axios', file: 'x402-v2-axios.mjs', version: 2 },
  { name: 'mppx', file: 'mppx.mjs', version: 2 },
  // It finds what to buy by the documents of discovery, and verifies the credential itself.
  { name: 'jose', file: 'agent.mjs', version: 2 },
] as const
type Client = (typeof clients)[number]

/** Installs by the folder's own lockfile, where that has changed since the last time. */
const install = (): void => {
  const installed = join(folder, 'node_modules/.package-lock.json')
  const lockfile = join(folder, 'package-lock.json')
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(lockfile).mtimeMs) return
  const { status } = spawnSync('npm', ['ci', '--ignore-scripts', '--no-progress'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
    timeout: installLimitMs,
  })
  if (status !== 0)
    throw new Error(`npm ci in ${folder} ended with status ${status}: the x402 clients are not installed`)
}

const versionOf = (name: string): string =>
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

type Told = {
  readonly status: number
  readonly body: { readonly pohf_jwt?: string; readonly payment?: { readonly transaction?: string } }
  readonly receipt: { readonly success?: boolean; readonly transaction?: string } | null
}

const faultOf = async (chain: Chain, baseUrl: string, client: Client): Promise<string | undefined> => {
  const privateKey = generatePrivateKey()
  const { address } = privateKeyToAccount(privateKey)
  await chain.mint(address, fundsMicro)
  const { stdout } = await run(process.execPath, [join(folder, 'clients', client.file)], {
    timeout: clientLimitMs,
    maxBuffer: 1_048_576,
    env: {
      ...process.env,
      ...(client.file === 'agent.mjs'
        ? { BASE_URL: baseUrl }
        : { BUY_URL: `${baseUrl}/api/agent/tasks/wf_test_ok/buy` }),
      PAYER_PRIVATE_KEY: privateKey,
    },
  })
  const { status, body, receipt } = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Told
  if (status !== 200 || body.pohf_jwt === undefined)
    return `got ${status}: ${JSON.stringify(body).slice(0, 500)}`
  const verified = await verifyCredential(body.pohf_jwt, {
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
  if (receipt?.success !== true || receipt.transaction !== body.payment?.transaction)
    return `its receipt does not fit: ${JSON.stringify(receipt)}`
  const charges = await chargesOf(chain, address)
  const spent = fundsMicro - (await balanceOf(chain, address))
  if (charges !== 1 || spent !== priceMicro) return `was charged ${charges} times, ${spent} millionths in all`
  return undefined
}

const seconds = (from: number, to: number) => ((to - from) / 1_000).toFixed(1)

const startedAt = performance.now()
install()
const installedAt = performance.now()
const server = await startPurchaseServer()
try {
  let failed = 0
  console.log('client                    x402   one charge, one credential that verifies')
  for (const client of clients) {
    const clientStartedAt = performance.now()
    const fault = await faultOf(server.chain, server.baseUrl, client).catch((error: unknown) =>
      error instanceof Error ? error.message.slice(0, 2_000) : String(error),
    )
    if (fault !== undefined) failed += 1
    const name =
      client.file === 'agent.mjs'
        ? `an agent by ${client.name} ${versionOf(client.name)}`
        : `${client.name} ${versionOf(client.name)}`
    const took = `${((performance.now() - clientStartedAt) / 1_000).toFixed(1)} s`
    console.log(
      `${name.padEnd(26)}v${client.version}     ${fault === undefined ? `✓  ${took}` : `✗  ${fault}`}`,
    )
  }
  const passed = clients.length - failed
  console.log(
    `\n${passed} of ${clients.length} bought; install ${seconds(startedAt, installedAt)} s, in all ${seconds(startedAt, performance.now())} s`,
  )
  if (process.argv.includes('--json'))
    console.log(JSON.stringify({ clients: clients.length, passed, failed }))
  if (failed > 0) process.exitCode = 1
} finally {
  await server.stop()
}

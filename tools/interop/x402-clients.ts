// Other people's clients, unmodified, buy from a server of ours on a chain of its own. npm run battery -- x402 [--json]
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startPurchaseServer } from '../../packages/server/test/fixtures/processes/purchase-server.ts'
import { installClients, installedVersion, makeBuyer, purchaseFault } from './foreign-clients.ts'

const run = promisify(execFile)
const folder = fileURLToPath(new URL('../../conformance/x402-clients', import.meta.url))
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

type PurchaseReply = {
  readonly status: number
  readonly body: { readonly pohf_jwt?: string; readonly payment?: { readonly transaction?: string } }
  readonly receipt: { readonly success?: boolean; readonly transaction?: string } | null
}

type Server = Awaited<ReturnType<typeof startPurchaseServer>>

const faultOf = async (server: Server, client: Client): Promise<string | undefined> => {
  const { privateKey, address } = await makeBuyer(server.chain)
  const { stdout } = await run(process.execPath, [join(folder, 'clients', client.file)], {
    timeout: clientLimitMs,
    maxBuffer: 1_048_576,
    env: {
      ...process.env,
      ...(client.file === 'agent.mjs'
        ? { BASE_URL: server.baseUrl }
        : { BUY_URL: `${server.baseUrl}/api/agent/tasks/wf_test_ok/buy` }),
      PAYER_PRIVATE_KEY: privateKey,
    },
  })
  const { status, body, receipt } = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as PurchaseReply
  if (status !== 200 || body.pohf_jwt === undefined)
    return `got ${status}: ${JSON.stringify(body).slice(0, 500)}`
  if (receipt?.success !== true || receipt.transaction !== body.payment?.transaction)
    return `its receipt does not fit: ${JSON.stringify(receipt)}`
  return purchaseFault(server, address, body.pohf_jwt)
}

const seconds = (from: number, to: number) => ((to - from) / 1_000).toFixed(1)

const startedAt = performance.now()
installClients(folder)
const installedAt = performance.now()
const server = await startPurchaseServer()
try {
  let failed = 0
  console.log('client                    x402   one charge, one credential that verifies')
  for (const client of clients) {
    const clientStartedAt = performance.now()
    const fault = await faultOf(server, client).catch((error: unknown) =>
      error instanceof Error ? error.message.slice(0, 2_000) : String(error),
    )
    if (fault !== undefined) failed += 1
    const name =
      client.file === 'agent.mjs'
        ? `an agent by ${client.name} ${installedVersion(folder, client.name)}`
        : `${client.name} ${installedVersion(folder, client.name)}`
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

// Other people's MCP clients and test tools, unmodified, against a server of ours on a chain of its own.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startPurchaseServer } from '../../packages/server/test/fixtures/processes/purchase-server.ts'
import { closingAfter } from '../driver/closing.ts'
import { runProgram, starting, step } from '../driver/program.ts'
import { tableOfFigures, tableOfRecords } from '../driver/report.ts'
import { quantile, rounded } from '../driver/rounds.ts'
import { installClients, installedVersion, makeBuyer, purchaseFault } from './foreign-clients.ts'

const run = promisify(execFile)
const folder = fileURLToPath(new URL('../../conformance/mcp-clients', import.meta.url))
const limitMs = 120_000

type Server = Awaited<ReturnType<typeof startPurchaseServer>>
type Check = {
  readonly name: string
  readonly package: string
  readonly does: string
  /** Throws, or returns why it failed. */
  readonly run: (server: Server) => Promise<string | undefined>
}

const runNode = async (script: string, args: readonly string[], environment: Record<string, string> = {}) =>
  run(process.execPath, [join(folder, script), ...args], {
    cwd: folder,
    timeout: limitMs,
    maxBuffer: 16_777_216,
    env: { ...process.env, ...environment },
  })

const lastLine = (text: string): Record<string, unknown> =>
  JSON.parse(text.trim().split('\n').at(-1) ?? '') as Record<string, unknown>

const journey =
  'lists tools, all pages of resources and templates; reads; calls all nine tools, with and without a key'

const journeyBy = (name: string, packageName: string, file: string, protocol?: string): Check => ({
  name,
  package: packageName,
  does: journey,
  run: async ({ baseUrl }) => {
    const environment = { BASE_URL: baseUrl, ...(protocol === undefined ? {} : { PROTOCOL: protocol }) }
    const { stdout } = await runNode(`clients/${file}`, [], environment)
    return lastLine(stdout)['ok'] === true ? undefined : stdout
  },
})

const purchaseBy = (name: string, packageName: string, file: string, does: string): Check => ({
  name,
  package: packageName,
  does,
  run: async (server) => {
    const { privateKey, address } = await makeBuyer(server.chain)
    const environment = { BASE_URL: server.baseUrl, PAYER_PRIVATE_KEY: privateKey }
    const { stdout } = await runNode(`clients/${file}`, [], environment)
    return purchaseFault(server, address, String(lastLine(stdout)['credential']))
  },
})

const inspector = (method: string, args: readonly string[], expected: RegExp): Check => ({
  name: `inspector --cli, ${method}`,
  package: '@modelcontextprotocol/inspector',
  does: args.join(' ') || 'no arguments',
  run: async ({ baseUrl }) => {
    const script = 'node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js'
    const { stdout } = await runNode(script, [
      '--cli',
      `${baseUrl}/mcp`,
      '--transport',
      'http',
      '--method',
      method,
      ...args,
    ])
    return expected.test(stdout) ? undefined : stdout.slice(0, 1_000)
  },
})

const suite = 'node_modules/@modelcontextprotocol/conformance/dist/index.js'
/** The scenarios that must pass. The others are run too: most use what only the suite's example server has. */
const scenarios = ['server-initialize', 'ping', 'tools-list', 'resources-list', 'dns-rebinding-protection']

const conformance = (scenario: string): Check => ({
  name: `conformance, ${scenario}`,
  package: '@modelcontextprotocol/conformance',
  does: 'both addresses',
  run: async ({ baseUrl }) => {
    for (const path of ['/mcp', '/mcp/identity']) {
      await runNode(suite, ['server', '--url', `${baseUrl}${path}`, '--scenario', scenario])
    }
    return undefined
  },
})

const checks: readonly Check[] = [
  journeyBy('client 2.4, 2026-07-28', '@modelcontextprotocol/client', 'client-v2.mjs', '2026-07-28'),
  journeyBy('client 2.4, negotiating', '@modelcontextprotocol/client', 'client-v2.mjs', 'auto'),
  journeyBy('client 2.4, 2025-11-25', '@modelcontextprotocol/client', 'client-v2.mjs', 'legacy'),
  journeyBy('SDK 1.32', '@modelcontextprotocol/sdk', 'sdk-v1.mjs'),
  inspector('tools/list', [], /"purchase_verified_human_task"/),
  inspector('tools/call', ['--tool-name', 'list_verified_work'], /wf_test_ok/),
  inspector('resources/list', [], /"resources"/),
  ...scenarios.map(conformance),
  purchaseBy(
    'agents, withX402Client',
    'agents',
    'agents-x402.mjs',
    'buys without a key; one charge, a credential that verifies',
  ),
  purchaseBy(
    '@x402/core and extensions',
    '@x402/extensions',
    'x402-core.mjs',
    'buys with a payment identifier; reads both challenges as a directory does',
  ),
]

type Outcome = { readonly check: Check; readonly fault: string | undefined; readonly seconds: number }

const messageOf = (error: unknown): string => {
  const { message, stdout, stderr } = error as { message: string; stdout?: string; stderr?: string }
  return [message, stdout, stderr].join('\n').slice(0, 3_000)
}

const post = async (url: string, body: object): Promise<string> => {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return response.text()
}

/** Which of the suite's other server scenarios pass, by name. */
const runOtherScenarios = async (baseUrl: string): Promise<Map<string, boolean>> => {
  const { stdout } = await runNode(suite, ['list'])
  const listed = stdout.split('Client scenarios')[0]?.matchAll(/^ {2}- (\S+)/gm) ?? []
  const others = [...listed].map((match) => match[1] ?? '').filter((name) => !scenarios.includes(name))
  const results = new Map<string, boolean>()
  for (const name of others) {
    const ran = runNode(suite, ['server', '--url', `${baseUrl}/mcp`, '--scenario', name])
    results.set(name, await ran.then(() => true).catch(() => false))
  }
  return results
}

const request = (method: string, params: object = {}) => ({ jsonrpc: '2.0', id: 1, method, params })
const call = (name: string, input: object) => request('tools/call', { name, arguments: input })

/** What a model reads, in characters; four characters are about one token. */
const measureSizes = async (baseUrl: string) => {
  const sized = async (name: string, path: string, body: object) => {
    const { result } = JSON.parse(await post(`${baseUrl}${path}`, body)) as { result: object }
    return [name, JSON.stringify(result).length] as const
  }
  return [
    await sized('`tools/list` of `/mcp`', '/mcp', request('tools/list')),
    await sized('`tools/list` of `/mcp/identity`', '/mcp/identity', request('tools/list')),
    await sized('`resources/list` of `/mcp`, first page', '/mcp', request('resources/list')),
    await sized(
      'payment challenge',
      '/mcp',
      call('purchase_verified_human_task', { workflowId: 'wf_test_ok' }),
    ),
  ]
}

const samples = 300
/** Milliseconds of one `tools/list` after another. */
const measureSpeed = async (baseUrl: string) => {
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
  const taken: number[] = []
  for (let sample = 0; sample < samples; sample++) {
    const startedAt = performance.now()
    await post(`${baseUrl}/mcp`, body)
    taken.push(performance.now() - startedAt)
  }
  return { p50: rounded(quantile(taken, 0.5)), p99: rounded(quantile(taken, 0.99)) }
}

await runProgram({
  command: 'battery -- mcp',
  title: 'MCP clients',
  about: `Question: do other people's MCP clients of three generations, the inspector, the conformance suite of the protocol and clients that pay work with [the tools](../guides/mcp.md), unmodified? The versions are those of \`conformance/mcp-clients/package-lock.json\`. The server and its chain are started for the run. A token is counted as four characters of JSON: no tokenizer was used.

The conformance suite covers versions up to 2025-11-25. Of its server scenarios, ${scenarios.length} must pass. The others are run against \`/mcp\`; they use tools, prompts, resources and capabilities that the suite's own example server has. Clients with a person in front of them, such as desktop assistants, were not tried. No directory of x402 services was asked to list us: the directory's own reader accepted both challenges.`,
  options: {},
  minutes: () => 60,
  run: () =>
    closingAfter(async (defer) => {
      starting('the clients, a server and a chain')
      installClients(folder)
      const server = await startPurchaseServer()
      defer(server.stop)
      const outcomes: Outcome[] = []
      for (const check of checks) {
        step(check.name)
        const startedAt = performance.now()
        const fault = await check.run(server).catch(messageOf)
        outcomes.push({ check, fault, seconds: (performance.now() - startedAt) / 1_000 })
      }
      step('other scenarios, sizes and times')
      const others = await runOtherScenarios(server.baseUrl)
      const sizes = await measureSizes(server.baseUrl)
      const speed = await measureSpeed(server.baseUrl)
      const faults = outcomes.flatMap(({ check, fault }) =>
        fault === undefined ? [] : [`${check.name}: ${fault}`],
      )
      return {
        figures: {
          passed: outcomes.length - faults.length,
          failed: faults.length,
          sizes: Object.fromEntries(sizes),
          speed,
          others: Object.fromEntries(others),
        },
        tables: [
          tableOfRecords(
            outcomes.map(({ check, fault, seconds }) => ({
              Client: check.name,
              Package: `${check.package} ${installedVersion(folder, check.package)}`,
              'What it does': check.does,
              Result: fault === undefined ? 'passes' : 'fails',
              Seconds: rounded(seconds),
            })),
          ),
          tableOfRecords(
            sizes.map(([name, size]) => ({
              Answer: name,
              Characters: size,
              'Tokens (characters / 4)': Math.round(size / 4),
            })),
            'What a model reads:',
          ),
          tableOfFigures(speed, `${samples} calls of \`tools/list\`, one after another, ms:`),
          tableOfRecords(
            [...others].map(([scenario, passes]) => ({ scenario, passes })),
            'Other scenarios of the suite:',
          ),
        ],
        faults,
        holds: `${outcomes.length} pass`,
      }
    }),
})

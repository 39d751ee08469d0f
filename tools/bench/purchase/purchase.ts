import { cpus, loadavg } from 'node:os'
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Client } from 'pg'
import type { Account, Chain } from '@pohf/chain'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { startPurchaseServer } from '../../../packages/server/test/fixtures/processes/purchase-server.ts'
import { today, writeReport } from '../../report.ts'
import { cpuOfProcessTree } from '../../../packages/server/test/fixtures/processes/cpu.ts'
import { buy, makeBareTransfer, startRpcCounter, startOfficialFacilitator } from './fixture.ts'
import { profilePurchase, profileTable } from './profile.ts'
import { median, quantile } from '../median.ts'

const rounded = (value: number, digits = 2): number => Number(value.toFixed(digits))

const buyPath = '/api/agent/tasks/wf_test_ok/buy'
const payersMax = 10

/** Several wallets, so that no limit of one payer is what is measured. */
const makePayers = async (chain: Chain): Promise<readonly Account[]> => {
  const payers: Account[] = []
  for (let n = 0; n < payersMax; n += 1) {
    const privateKey = generatePrivateKey()
    const { address } = privateKeyToAccount(privateKey)
    await chain.mint(address, 1_000_000_000n)
    payers.push({ address, privateKey })
  }
  return payers
}
const atIndexModulo = <T>(list: readonly T[], n: number): T => list[n % list.length] as T

const databaseBytes = async (url: string): Promise<number> => {
  const client = new Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query<{ bytes: string }>(
    'select pg_database_size(current_database()) as bytes',
  )
  await client.end()
  return Number(rows[0]?.bytes ?? 0)
}

const idleMs = 5_000
/**
 * CPU of processes for one act, in milliseconds. Linux counts in ticks of 10 ms, so over many acts; less what they use when
 * idle.
 */
const cpuMsPerAct = async (
  pids: readonly number[],
  times: number,
  act: (n: number) => Promise<unknown>,
): Promise<readonly number[]> => {
  const used = async (work: () => Promise<unknown>) => {
    const before = pids.map(cpuOfProcessTree)
    const startedAt = performance.now()
    await work()
    const tookMs = performance.now() - startedAt
    return { tookMs, cpuUs: pids.map((pid, index) => cpuOfProcessTree(pid) - (before[index] ?? 0)) }
  }
  const idle = await used(() => setTimeout(idleMs))
  const busy = await used(async () => {
    for (let n = 0; n < times; n += 1) await act(n)
  })
  return pids.map((_, index) => {
    const background = ((idle.cpuUs[index] ?? 0) * busy.tookMs) / idle.tookMs
    return rounded(((busy.cpuUs[index] ?? 0) - background) / times / 1_000)
  })
}

type Round = {
  readonly paid: number
  readonly whole: number
  readonly official: number
  readonly officialWhole: number
  readonly bare: number
  readonly ratio: number
  readonly wholeRatio: number
  readonly officialRatio: number
  readonly load: number
  /** The fastest of each: what others on the machine cost hardly shows in them. */
  readonly fastest: { readonly paid: number; readonly official: number; readonly bare: number }
}

type Sides = {
  readonly ours: (n: number) => ReturnType<typeof buy>
  readonly official: (n: number) => ReturnType<typeof buy>
  readonly bare: Awaited<ReturnType<typeof makeBareTransfer>>
}

/** Ours, the official path and the floor in short turns, each first as often as the others: a slow moment hits all. */
const runRound = async ({ ours, official, bare }: Sides, perRound: number): Promise<Round> => {
  const times: Record<'paid' | 'whole' | 'official' | 'officialWhole' | 'bare', number[]> = {
    paid: [],
    whole: [],
    official: [],
    officialWhole: [],
    bare: [],
  }
  const turns = [
    async (n: number) => {
      const { paidMs, wholeMs } = await ours(n)
      times.paid.push(paidMs)
      times.whole.push(wholeMs)
    },
    async (n: number) => {
      const { paidMs, wholeMs } = await official(n)
      times.official.push(paidMs)
      times.officialWhole.push(wholeMs)
    },
    async () => void times.bare.push((await bare()).paidMs),
  ]
  for (let n = 0; n < perRound; n += 1)
    for (let turn = 0; turn < turns.length; turn += 1) await atIndexModulo(turns, n + turn)(n)
  const p50 = (name: keyof typeof times) => median(times[name])
  return {
    paid: rounded(p50('paid')),
    whole: rounded(p50('whole')),
    official: rounded(p50('official')),
    officialWhole: rounded(p50('officialWhole')),
    bare: rounded(p50('bare')),
    ratio: rounded(p50('paid') / p50('bare')),
    wholeRatio: rounded(p50('whole') / p50('bare')),
    officialRatio: rounded(p50('official') / p50('bare')),
    load: rounded(loadavg()[0] ?? 0, 1),
    fastest: {
      paid: rounded(Math.min(...times.paid)),
      official: rounded(Math.min(...times.official)),
      bare: rounded(Math.min(...times.bare)),
    },
  }
}

/** Rounds of all three sides, then the cost of one purchase in CPU time and bytes. */
const compare = async (rounds: number, perRound: number) => {
  const server = await startPurchaseServer({ gasKeys: 2 })
  const { chain } = server
  const [, , officialGas, bareGas] = chain.gasAccounts
  const official = await startOfficialFacilitator(chain, officialGas.privateKey)
  try {
    const payers = await makePayers(chain)
    const sides: Sides = {
      ours: (n) => buy(`${server.baseUrl}${buyPath}`, atIndexModulo(payers, n)),
      official: (n) => buy(official.url, atIndexModulo(payers, n)),
      bare: await makeBareTransfer(chain, bareGas, atIndexModulo(payers, 0)),
    }
    await runRound(sides, perRound)
    const found: Round[] = []
    for (let round = 0; round < rounds; round += 1) found.push(await runRound(sides, perRound))

    const purchases = perRound * 4
    const bytesBefore = await databaseBytes(server.databaseUrl)
    const pids = [server.pids.server, server.pids.postgres]
    const [nodeCpuMs, databaseCpuMs] = await cpuMsPerAct(pids, purchases, sides.ours)
    const bytes = (await databaseBytes(server.databaseUrl)) - bytesBefore
    const [officialNodeCpuMs] = await cpuMsPerAct([official.pid], purchases, sides.official)
    const perPurchase = {
      nodeCpuMs,
      databaseCpuMs,
      officialNodeCpuMs,
      bytesStored: Math.round(bytes / purchases),
    }
    return { found, perPurchase }
  } finally {
    official.stop()
    await server.stop()
  }
}

/** The RPC calls to the chain for each purchase, ours and on the official path. */
const countRpcCalls = async (purchases: number) => {
  let counter: Awaited<ReturnType<typeof startRpcCounter>> | undefined
  const server = await startPurchaseServer({
    gasKeys: 2,
    rpcProxy: async (chain) => (counter = await startRpcCounter(chain.url)).url,
  })
  if (!counter) throw new Error(`the RPC counter did not start in front of ${server.chain.url}`)
  const official = await startOfficialFacilitator(
    server.chain,
    server.chain.gasAccounts[2].privateKey,
    counter.url,
  )
  try {
    const payers = await makePayers(server.chain)
    const count = async (url: string) => {
      await buy(url, atIndexModulo(payers, 0))
      counter?.takeCounts()
      for (let n = 0; n < purchases; n += 1) await buy(url, atIndexModulo(payers, n))
      const taken = counter?.takeCounts() ?? new Map<string, number>()
      const byMethod = Object.fromEntries(
        [...taken].map(([method, times]) => [method, rounded(times / purchases)]),
      )
      return {
        calls: rounded([...taken.values()].reduce((sum, times) => sum + times, 0) / purchases),
        byMethod,
      }
    }
    return { ours: await count(`${server.baseUrl}${buyPath}`), official: await count(official.url) }
  } finally {
    official.stop()
    counter.stop()
    await server.stop()
  }
}

/** With blocks every two seconds: how much later a purchase is answered than a bare transfer of the same block. */
const delayAfterBlock = async (pairs: number) => {
  const server = await startPurchaseServer({ gasKeys: 2, blockTime: 2 })
  const { chain } = server
  try {
    const payers = await makePayers(chain)
    const bare = await makeBareTransfer(chain, chain.gasAccounts[3], atIndexModulo(payers, 0))
    const url = `${server.baseUrl}${buyPath}`
    const later: number[] = []
    // The first of each starts in the middle of nowhere; from then on both begin right after a block.
    await Promise.all([buy(url, atIndexModulo(payers, 1)), bare()])
    for (let n = 0; n < pairs; n += 1) {
      const [ours, floor] = await Promise.all([buy(url, atIndexModulo(payers, n)), bare()])
      later.push(rounded(ours.endedAt - floor.endedAt, 1))
    }
    return later
  } finally {
    await server.stop()
  }
}

const roundTable = (found: readonly Round[]): string => {
  const keys = [
    'paid',
    'whole',
    'official',
    'officialWhole',
    'bare',
    'ratio',
    'wholeRatio',
    'officialRatio',
    'load',
  ] as const
  return [
    `| round | ${keys.join(' | ')} |`,
    `| --- |${' --- |'.repeat(keys.length)}`,
    ...found.map((round, index) => `| ${index + 1} | ${keys.map((key) => round[key]).join(' | ')} |`),
    `| **median** | ${keys.map((key) => median(found.map((round) => round[key]))).join(' | ')} |`,
  ].join('\n')
}

const fastestOf = (found: readonly Round[]) => {
  const least = (side: keyof Round['fastest']) => Math.min(...found.map(({ fastest }) => fastest[side]))
  return { paid: least('paid'), official: least('official'), bare: least('bare') }
}
const goal = 3.5

type PurchaseMeasurements = Awaited<ReturnType<typeof compare>> & {
  readonly rpcCalls: Awaited<ReturnType<typeof countRpcCalls>>
  readonly later: readonly number[]
  readonly profile: Awaited<ReturnType<typeof profilePurchase>>
  readonly perRound: number
}

const reportOf = (
  day: string,
  { found, perPurchase, rpcCalls, later, profile, perRound }: PurchaseMeasurements,
): string => {
  const methods = [
    ...new Set([rpcCalls.ours, rpcCalls.official].flatMap(({ byMethod }) => Object.keys(byMethod))),
  ]
  const of = (side: keyof typeof rpcCalls, method: string) => rpcCalls[side].byMethod[method] ?? 0
  const loads = found.map(({ load }) => load)
  const fastest = fastestOf(found)
  const ratio = median(found.map((round) => round.ratio))
  return `# A purchase beside a bare transfer, ${day}

One buyer at a time buys \`wf_test_ok\` over HTTP on anvil with a block for each transaction. Beside it: a server on the official
path (\`@x402/evm\` 2.27 with viem's signer: verify, settle, one ES256 signature, no database), and the floor: sign the same
transaction and hand it to the node by \`eth_sendRawTransactionSync\`. The three take turns, ${perRound} of each in a round. One
machine: ${cpus().length} cores, ${cpus()[0]?.model ?? 'unknown'}, Node ${process.version}; server, PostgreSQL, chain and buyer share it. Its load
average during the rounds was ${Math.min(...loads)} to ${Math.max(...loads)}: above 2, others took part of the machine.

Medians in milliseconds. \`paid\` is the call with the payment, until the credential is there; \`whole\` adds the challenge and the
buyer's own signature. \`ratio\` is \`paid\` over \`bare\`, \`wholeRatio\` is \`whole\` over \`bare\`, \`officialRatio\` the official path's
paid call over \`bare\`. Goal: ratio <= ${goal}.

${roundTable(found)}

**The goal is ${ratio <= goal ? 'reached' : 'not reached'}.** The fastest of all, which shows least of what others did to the machine: ${fastest.paid} ms ours, ${fastest.official} ms
official, ${fastest.bare} ms bare. Ours writes twice to a disk before it answers, once before it sends and once with the credential; neither
of the others writes anything.

## Where the time goes

Medians over purchases of their own, with tracing on and a proxy before the chain, which both cost something. The times of the chain are those
behind the proxy.

${profileTable(profile)}

One of them:

\`\`\`text
${profile.tree.join('\n')}
\`\`\`

## RPC calls to the chain for each purchase

| Method | ours | official |
| --- | --- | --- |
${methods.map((method) => `| \`${method}\` | ${of('ours', method)} | ${of('official', method)} |`).join('\n')}
| **all** | ${rpcCalls.ours.calls} | ${rpcCalls.official.calls} |

## With a block every two seconds

A purchase and a bare transfer begin together, right after a block, and are in the next one. The purchase was answered later by
so many milliseconds: ${later.join(', ')}; median ${median(later)}. The purchase begins with the challenge. Goal: at most 100.

## What one purchase costs

CPU, less what the same processes use when idle: ours ${perPurchase.nodeCpuMs} ms (api, worker and signer; the official server: ${perPurchase.officialNodeCpuMs} ms), of PostgreSQL ${perPurchase.databaseCpuMs} ms, and
${perPurchase.bytesStored} bytes on disk, indexes and dead rows included. A test purchase takes no unit from stock.
`
}

/** A purchase over HTTP beside the bare transfer and the official path. */
export const purchase = async (): Promise<Readonly<Record<string, unknown>>> => {
  const { values } = parseArgs({
    allowPositionals: true,
    options: {
      short: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      report: { type: 'boolean', default: false },
    },
  })
  const perRound = values.short ? 5 : 20
  const compared = await compare(values.short ? 2 : 5, perRound)
  const rpcCalls = await countRpcCalls(values.short ? 5 : 30)
  const later = await delayAfterBlock(values.short ? 2 : 9)
  const profile = await profilePurchase(buyPath, values.short ? 10 : 60)
  const { found, perPurchase } = compared
  console.table(found.map(({ fastest: _fastest, ...round }) => round))
  console.log('fastest', fastestOf(found))
  console.log(`RPC calls to the chain: ours ${rpcCalls.ours.calls}, official ${rpcCalls.official.calls}`)
  console.log(`later than the block: ${later.join(', ')} ms, p90 ${quantile(later, 0.9)}`)
  console.table(perPurchase)
  console.log(profileTable(profile))
  if (values.report)
    writeReport('purchase.md', reportOf(today(), { ...compared, rpcCalls, later, profile, perRound }))
  const ratio = median(found.map((round) => round.ratio))
  console.log(`median ratio ${ratio}; goal <= ${goal}`)
  return {
    ratio,
    rounds: found.map((round) => round.ratio),
    rpcCalls: rpcCalls.ours.calls,
    wholeRatio: median(found.map((round) => round.wholeRatio)),
    officialRatio: median(found.map((round) => round.officialRatio)),
    officialRpcCalls: rpcCalls.official.calls,
    aboveBlockMs: median(later),
    ...perPurchase,
  }
}

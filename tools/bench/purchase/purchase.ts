import { setTimeout } from 'node:timers/promises'
import type { Account, Chain } from '@pohf/chain'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { cpuOfProcessTree } from '../../../packages/server/test/fixtures/processes/cpu.ts'
import { startPurchaseServer } from '../../../packages/server/test/fixtures/processes/purchase-server.ts'
import { closingAfter } from '../../driver/closing.ts'
import { programOf, starting, step } from '../../driver/program.ts'
import { tableOfFigures, tableOfRounds, type Table } from '../../driver/report.ts'
import { inTurns, loadNow, median, mediansOf, quantile, rounded, sum } from '../../driver/rounds.ts'
import { withDatabase } from '../../driver/service.ts'
import {
  buy,
  makeBareTransfer,
  missingFacilitator,
  startOfficialFacilitator,
  startRpcCounter,
} from './fixture.ts'
import { profilePurchase, profileTable } from './profile.ts'

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

const databaseBytes = (url: string): Promise<number> =>
  withDatabase(url, async (client) => {
    const size = 'select pg_database_size(current_database()) as bytes'
    return Number((await client.query<{ bytes: string }>(size)).rows[0]?.bytes ?? 0)
  })

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
    return rounded(((busy.cpuUs[index] ?? 0) - background) / times / 1_000, 2)
  })
}

type Sides = {
  readonly ours: (n: number) => ReturnType<typeof buy>
  readonly official: (n: number) => ReturnType<typeof buy>
  readonly bare: Awaited<ReturnType<typeof makeBareTransfer>>
}

const p50 = (values: readonly number[]): number => rounded(median(values), 2)

/** Ours, the official path and the floor in short turns, each first as often as the others: a slow moment hits all. */
const runRound = async ({ ours, official, bare }: Sides, perRound: number) => {
  const load = loadNow()
  const turns = await inTurns<keyof Sides, { paidMs: number; wholeMs?: number }>(perRound, {
    ours,
    official,
    bare,
  })
  const paid = (side: keyof Sides) => turns.map((turn) => turn[side].paidMs)
  const whole = (side: 'ours' | 'official') => turns.map((turn) => turn[side].wholeMs ?? NaN)
  const ratio = (values: readonly number[]) => rounded(median(values) / median(paid('bare')), 2)
  return {
    figures: {
      paid: p50(paid('ours')),
      whole: p50(whole('ours')),
      official: p50(paid('official')),
      officialWhole: p50(whole('official')),
      bare: p50(paid('bare')),
      ratio: ratio(paid('ours')),
      wholeRatio: ratio(whole('ours')),
      officialRatio: ratio(paid('official')),
      load,
    },
    /** The fastest of each: what others on the machine cost hardly shows in them. */
    fastest: {
      paid: rounded(Math.min(...paid('ours')), 2),
      official: rounded(Math.min(...paid('official')), 2),
      bare: rounded(Math.min(...paid('bare')), 2),
    },
  }
}

/** Rounds of all three sides, then the cost of one purchase in CPU time and bytes. */
const compare = (rounds: number, perRound: number) =>
  closingAfter(async (defer) => {
    starting('a chain, a server and the official facilitator')
    const server = await startPurchaseServer({ gasKeys: 2 })
    defer(server.stop)
    const { chain } = server
    const [, , officialGas, bareGas] = chain.gasAccounts
    const official = await startOfficialFacilitator(chain, officialGas.privateKey)
    defer(official.stop)
    const payers = await makePayers(chain)
    const sides: Sides = {
      ours: (n) => buy(`${server.baseUrl}${buyPath}`, atIndexModulo(payers, n)),
      official: (n) => buy(official.url, atIndexModulo(payers, n)),
      bare: await makeBareTransfer(chain, bareGas, atIndexModulo(payers, 0)),
    }
    step('warming up')
    await runRound(sides, perRound)
    const found: Awaited<ReturnType<typeof runRound>>[] = []
    for (let round = 0; round < rounds; round += 1) {
      step(`round ${round + 1}`)
      found.push(await runRound(sides, perRound))
    }
    step('CPU and bytes of a purchase')
    const purchases = perRound * 4
    const bytesBefore = await databaseBytes(server.databaseUrl)
    const pids = [server.pids.server, server.pids.postgres]
    const [nodeCpuMs, databaseCpuMs] = await cpuMsPerAct(pids, purchases, sides.ours)
    const bytes = (await databaseBytes(server.databaseUrl)) - bytesBefore
    const [officialNodeCpuMs] = await cpuMsPerAct([official.pid], purchases, sides.official)
    const bytesStored = Math.round(bytes / purchases)
    return { found, perPurchase: { nodeCpuMs, databaseCpuMs, officialNodeCpuMs, bytesStored } }
  })

/** The RPC calls to the chain for each purchase, ours and on the official path. */
const countRpcCalls = (purchases: number) =>
  closingAfter(async (defer) => {
    starting('a server whose calls to the chain are counted')
    let counter: Awaited<ReturnType<typeof startRpcCounter>> | undefined
    defer(() => counter?.stop())
    const server = await startPurchaseServer({
      gasKeys: 2,
      rpcProxy: async (chain) => (counter = await startRpcCounter(chain.url)).url,
    })
    defer(server.stop)
    if (!counter) throw new Error(`the RPC counter did not start in front of ${server.chain.url}`)
    const gasKey = server.chain.gasAccounts[2].privateKey
    const official = await startOfficialFacilitator(server.chain, gasKey, counter.url)
    defer(official.stop)
    const payers = await makePayers(server.chain)
    step('counting the calls to the chain')
    const count = async (url: string) => {
      await buy(url, atIndexModulo(payers, 0))
      counter?.takeCounts()
      for (let n = 0; n < purchases; n += 1) await buy(url, atIndexModulo(payers, n))
      const taken = counter?.takeCounts() ?? new Map<string, number>()
      const byMethod = Object.fromEntries(
        [...taken].map(([method, times]) => [method, rounded(times / purchases, 2)]),
      )
      return { calls: rounded(sum([...taken.values()]) / purchases, 2), byMethod }
    }
    return { ours: await count(`${server.baseUrl}${buyPath}`), official: await count(official.url) }
  })

/** With blocks every two seconds: how much later a purchase is answered than a bare transfer of the same block. */
const delayAfterBlock = (pairs: number) =>
  closingAfter(async (defer) => {
    starting('a chain with a block every two seconds')
    const server = await startPurchaseServer({ gasKeys: 2, blockTime: 2 })
    defer(server.stop)
    const { chain } = server
    const payers = await makePayers(chain)
    const bare = await makeBareTransfer(chain, chain.gasAccounts[3], atIndexModulo(payers, 0))
    step('buying with a block every two seconds')
    const url = `${server.baseUrl}${buyPath}`
    const later: number[] = []
    // The first of each starts in the middle of nowhere; from then on both begin right after a block.
    await Promise.all([buy(url, atIndexModulo(payers, 1)), bare()])
    for (let n = 0; n < pairs; n += 1) {
      const [ours, floor] = await Promise.all([buy(url, atIndexModulo(payers, n)), bare()])
      later.push(rounded(ours.endedAt - floor.endedAt))
    }
    return later
  })

const rpcTable = ({ ours, official }: Awaited<ReturnType<typeof countRpcCalls>>): Table => ({
  title: 'RPC calls to the chain for each purchase:',
  head: ['Method', 'ours', 'official'],
  rows: [
    ...[...new Set([ours, official].flatMap(({ byMethod }) => Object.keys(byMethod)))].map((method) => [
      `\`${method}\``,
      ours.byMethod[method] ?? 0,
      official.byMethod[method] ?? 0,
    ]),
    ['**all**', ours.calls, official.calls],
  ],
})

/** A purchase over HTTP beside the bare transfer and the official path. */
export const purchase = programOf({
  command: 'bench -- purchase',
  title: 'A purchase beside a bare transfer',
  about: `One buyer at a time buys \`wf_test_ok\` over HTTP on anvil with a block for each transaction. Beside it: a server on the official path (\`@x402/evm\` with viem's signer: verify, settle, one ES256 signature, no database), and the floor: sign the same transaction and hand it to the node by \`eth_sendRawTransactionSync\`. The three take turns, \`--each\` of each in a round. Server, PostgreSQL, chain and buyer share the machine. Ours writes twice to a disk before it answers, once before it sends and once with the credential; neither of the others writes anything.

Medians in milliseconds. \`paid\` is the call with the payment, until the credential is there; \`whole\` adds the challenge and the buyer's own signature. \`ratio\` is \`paid\` over \`bare\`, \`wholeRatio\` is \`whole\` over \`bare\`, \`officialRatio\` the official path's paid call over \`bare\`. The profile is over purchases of their own, with tracing on and a proxy before the chain, which both cost something. With a block every two seconds a purchase and a bare transfer begin together, right after a block, and are in the next one; the goal is an answer at most 100 ms later. CPU is less what the same processes use when idle. Bytes on disk are with indexes and dead rows.`,
  options: { rounds: 5, each: 20, pairs: 9, profiled: 60 },
  smoke: { rounds: 2, each: 5, pairs: 2, profiled: 10 },
  minutes: ({ rounds, each, pairs, profiled }) => 15 + (rounds * each + profiled) / 30 + pairs,
  missing: missingFacilitator,
  run: async ({ rounds, each, pairs, profiled }) => {
    const { found, perPurchase } = await compare(rounds, each)
    const rpcCalls = await countRpcCalls(profiled / 2)
    const later = await delayAfterBlock(pairs)
    const profile = await profilePurchase(buyPath, profiled)
    const measured = found.map(({ figures }) => figures)
    const { ratio, wholeRatio, officialRatio } = mediansOf(measured, 2)
    const least = (side: 'paid' | 'official' | 'bare') =>
      Math.min(...found.map(({ fastest }) => fastest[side]))
    return {
      figures: {
        ratio,
        rounds: measured.map((round) => round.ratio),
        rpcCalls: rpcCalls.ours.calls,
        wholeRatio,
        officialRatio,
        officialRpcCalls: rpcCalls.official.calls,
        aboveBlockMs: median(later),
        ...perPurchase,
      },
      tables: [
        tableOfRounds(measured, { goals: { ratio: '<= 3.5' } }),
        tableOfFigures(
          { ours: least('paid'), official: least('official'), bare: least('bare') },
          'The fastest of all, ms:',
        ),
        profileTable(profile),
        { title: 'One of them:', head: ['Span'], rows: profile.tree.map((span) => [span]) },
        rpcTable(rpcCalls),
        tableOfFigures(
          { each: later.join(', '), median: median(later), p90: quantile(later, 0.9) },
          'Later than a bare transfer of the same block, ms:',
        ),
        tableOfFigures(perPurchase, 'What one purchase costs:'),
      ],
      holds: 'every purchase was delivered',
    }
  },
})

// Where the time of a paid call goes: the spans that the server itself sends, and the answers of the chain.
import {
  startCollector,
  treeOf,
  type ReceivedSpan,
} from '../../../packages/server/test/fixtures/collector.ts'
import { startPurchaseServer } from '../../../packages/server/test/fixtures/processes/purchase-server.ts'
import { pollUntil } from '../../../packages/server/test/fixtures/polling.ts'
import { closingAfter } from '../../driver/closing.ts'
import { starting, step } from '../../driver/program.ts'
import type { Table } from '../../driver/report.ts'
import { buy, startRpcCounter } from './fixture.ts'
import { median, rounded, sum } from '../../driver/rounds.ts'

/** Medians in milliseconds; `transactions` in their order. */
export type PurchaseProfile = {
  readonly paid: number
  readonly transactions: readonly number[]
  readonly signer: number
  readonly chain: Readonly<Record<string, number>>
  readonly rest: number
  readonly tree: readonly string[]
}

type Trace = readonly ReceivedSpan[]
const rootOf = (trace: Trace): ReceivedSpan | undefined =>
  trace.find(({ parentId }) => !trace.some(({ spanId }) => spanId === parentId))
const timesOf = (trace: Trace, name: string): number[] =>
  trace
    .filter((span) => span.name === name)
    .toSorted((a, b) => Number(a.startNs - b.startNs))
    .map(({ ms }) => ms)

/** Calls with a payment have a signature; challenges have none. */
const paidTraces = (spans: readonly ReceivedSpan[]): readonly Trace[] =>
  [...Map.groupBy(spans, ({ traceId }) => traceId).values()].filter(
    (trace) => timesOf(trace, 'signer request').length > 0 && rootOf(trace) !== undefined,
  )

const warmUp = 20

export const profilePurchase = (path: string, purchases: number): Promise<PurchaseProfile> =>
  closingAfter(async (defer) => {
    starting('a server that sends its spans')
    const collector = await startCollector()
    defer(collector.stop)
    let counter: Awaited<ReturnType<typeof startRpcCounter>> | undefined
    defer(() => counter?.stop())
    const server = await startPurchaseServer({
      gasKeys: 2,
      rpcProxy: async (chain) => (counter = await startRpcCounter(chain.url)).url,
      environment: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
    })
    defer(server.stop)
    step('where the time goes')
    const [, , payer] = server.chain.gasAccounts
    await server.chain.mint(payer.address, 1_000_000_000n)
    const url = `${server.baseUrl}${path}`
    for (let n = 0; n < warmUp; n += 1) await buy(url, payer)
    await pollUntil('spans of the first purchases', async () => paidTraces(collector.spans).length >= warmUp)
    collector.spans.length = 0
    counter?.times.clear()
    for (let n = 0; n < purchases; n += 1) await buy(url, payer)
    await pollUntil('spans of all purchases', async () => paidTraces(collector.spans).length >= purchases)
    return profileOf(paidTraces(collector.spans), counter?.times ?? new Map())
  })

const profileOf = (
  traces: readonly Trace[],
  chainTimes: ReadonlyMap<string, readonly number[]>,
): PurchaseProfile => {
  const paid = median(traces.map((trace) => rootOf(trace)?.ms ?? NaN))
  const places = Math.max(...traces.map((trace) => timesOf(trace, 'database transaction').length))
  const transactions = Array.from({ length: places }, (_, place) =>
    rounded(median(traces.map((trace) => timesOf(trace, 'database transaction')[place] ?? 0)), 2),
  ).filter((ms) => ms > 0)
  const signer = rounded(median(traces.map((trace) => timesOf(trace, 'signer request')[0] ?? 0)), 2)
  const chain = Object.fromEntries(
    // Other methods are asked for now and then, not for a purchase.
    [...chainTimes]
      .filter(([, times]) => times.length >= traces.length / 2)
      .map(([method, times]) => [method, rounded(median(times), 2)]),
  )
  const known = sum([...transactions, signer, ...Object.values(chain)])
  const [example = []] = traces
  return {
    paid: rounded(paid, 2),
    transactions,
    signer,
    chain,
    rest: rounded(paid - known, 2),
    tree: treeOf(example),
  }
}

export const profileTable = ({ paid, transactions, signer, chain, rest }: PurchaseProfile): Table => ({
  title: 'Where the time of the paid call goes, in the server:',
  head: ['Part of the paid call', 'ms, median'],
  rows: [
    ...transactions.map((ms, n) => [`database transaction ${n + 1}`, ms]),
    ['signer', signer],
    ...Object.entries(chain).map(([method, ms]) => [`chain: \`${method}\``, ms]),
    ['all else in the api', rest],
    ['**the call, in the server**', paid],
  ],
})

// Where the time of a paid call goes: the spans that the server itself sends, and the answers of the chain.
import {
  startCollector,
  treeOf,
  type ReceivedSpan,
} from '../../../packages/server/test/fixtures/collector.ts'
import { startPurchaseServer } from '../../../packages/server/test/fixtures/processes/purchase-server.ts'
import { pollUntil } from '../../../packages/server/test/fixtures/polling.ts'
import { tableOf } from '../../ci/pages/markdown.ts'
import { median, rounded } from '../median.ts'
import { buy, startRpcCounter } from './fixture.ts'

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

export const profilePurchase = async (path: string, purchases: number): Promise<PurchaseProfile> => {
  const collector = await startCollector()
  let counter: Awaited<ReturnType<typeof startRpcCounter>> | undefined
  const server = await startPurchaseServer({
    gasKeys: 2,
    rpcProxy: async (chain) => (counter = await startRpcCounter(chain.url)).url,
    environment: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
  })
  try {
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
  } finally {
    await server.stop()
    counter?.stop()
    collector.stop()
  }
}

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
  const known = [...transactions, signer, ...Object.values(chain)].reduce((sum, ms) => sum + ms, 0)
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

export const profileTable = ({ paid, transactions, signer, chain, rest }: PurchaseProfile): string =>
  tableOf(
    ['Part of the paid call', 'ms, median'],
    [
      ...transactions.map((ms, n) => [`database transaction ${n + 1}`, ms.toFixed(2)]),
      ['signer', signer.toFixed(2)],
      ...Object.entries(chain).map(([method, ms]) => [`chain: \`${method}\``, ms.toFixed(2)]),
      ['all else in the api', rest.toFixed(2)],
      ['**the call, in the server**', paid.toFixed(2)],
    ],
  )

import { cpus, loadavg } from 'node:os'
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { tableOf } from '../../ci/pages/markdown.ts'
import { today, writeReport } from '../../report.ts'
import { runHttpLoad } from '../http-load.ts'
import { median, quantile, rounded } from '../median.ts'
import { cpuOfServers, openVerifyFixture, type VerifyFixture } from '../verify-fixture.ts'
import { unlimitedBudgets } from '../verify-seed.ts'
import { beaconRequest, preflightRequest, seedViews } from './views.ts'

const connections = 64
/** Of a page after a view: it loads, the person scrolls, clicks and leaves. */
const types = ['load', 'scroll', 'click', 'dwell'] as const
/** So many people are on pages at a time: the beacons of one person do not arrive in the same millisecond. */
const visitors = 500

const countBeacons = async ({ client }: VerifyFixture): Promise<number> => {
  const { rows } = await client.query<{ n: string }>('select count(*) as n from track_events')
  return Number(rows[0]?.n)
}

const measure = async (fixture: VerifyFixture, seconds: number, next: () => string) => {
  const port = fixture.servers.ports[0] ?? 0
  const before = cpuOfServers(fixture.servers)
  const startedAt = performance.now()
  const { latencies, answered } = await runHttpLoad({ port, connections, seconds, next })
  const took = (performance.now() - startedAt) / 1_000
  const after = cpuOfServers(fixture.servers)
  const count = latencies.length
  return {
    answered,
    rate: rounded(count / took, 0),
    p50: rounded(quantile(latencies, 0.5), 2),
    p99: rounded(quantile(latencies, 0.99), 2),
    apiCpu: rounded((after.api - before.api) / count, 0),
    pgCpu: rounded((after.pg - before.pg) / count, 0),
  }
}
type Run = Awaited<ReturnType<typeof measure>>

/** Durable beacons of views that nobody else uses; each that was answered must be a row. */
const measureBeacons = async (fixture: VerifyFixture, seconds: number, round: number): Promise<Run> => {
  const tokens = await seedViews(fixture, `ses_b${round}_`, seconds * 3_000)
  let k = -1
  const next = () => {
    k += 1
    const group = Math.floor(k / (visitors * types.length))
    const vt = tokens[(group * visitors + (k % visitors)) % tokens.length] ?? ''
    const type = types[Math.floor(k / visitors) % types.length] ?? 'load'
    return beaconRequest(
      JSON.stringify({ vt, type, eventId: `e${k}`, path: `/page/${k % 20}?q=1`, ts: Date.now() }),
    )
  }
  const stored = await countBeacons(fixture)
  const run = await measure(fixture, seconds, next)
  const added = (await countBeacons(fixture)) - stored
  if (added !== run.answered) throw new Error(`${run.answered} beacons were answered, ${added} are stored`)
  return run
}

const measureRounds = async (fixture: VerifyFixture, rounds: number, seconds: number) => {
  const all: { beacons: Run; bare: Run; load: number }[] = []
  await measureBeacons(fixture, 2, -1)
  for (let round = 0; round < rounds; round++) {
    const load = loadavg()[0] ?? NaN
    // Each side goes first in every other round.
    const runs = {
      beacons: () => measureBeacons(fixture, seconds, round),
      bare: () => measure(fixture, seconds, () => preflightRequest),
    }
    const first = round % 2 === 0 ? await runs.beacons() : await runs.bare()
    const second = round % 2 === 0 ? await runs.bare() : await runs.beacons()
    const [beacons, bare] = round % 2 === 0 ? [first, second] : [second, first]
    console.log(JSON.stringify({ round, beacons, bare, ratio: rounded(beacons.rate / bare.rate, 3) }))
    all.push({ beacons, bare, load })
  }
  return all
}

const forgedPerBody = 25
const forgedBodiesPerSecond = 500

/** Forged tokens, paced as an attacker with many addresses could send them. Returns how many were sent. */
const sendForged = async (
  fixture: VerifyFixture,
  tokens: readonly string[],
  seconds: number,
): Promise<number> => {
  const port = fixture.servers.ports[0] ?? 0
  const until = performance.now() + seconds * 1_000
  let sent = 0
  while (performance.now() < until) {
    const startedAt = performance.now()
    const bodies = Array.from({ length: forgedBodiesPerSecond / 20 }, () =>
      Array.from({ length: forgedPerBody }, () => {
        sent += 1
        const vt = tokens[sent % tokens.length] ?? ''
        // The token of a real view with another mark at its end.
        return { vt: `${vt.slice(0, -6)}${String(sent % 1_000_000).padStart(6, '0')}`, type: 'click' }
      }),
    )
    await Promise.all(
      bodies.map((body) =>
        fetch(`http://127.0.0.1:${port}/api/track/event`, {
          method: 'POST',
          body: JSON.stringify(body),
        }).then((answer) => answer.text()),
      ),
    )
    await setTimeout(Math.max(0, 50 - (performance.now() - startedAt)))
  }
  return sent
}

const verifyLoad = { crowd: 'many', connections: 16, networks: 'reserved', warmUp: 2 } as const

/** verify alone and beside forged beacons, in turns, until so many were sent. */
const measureForged = async (fixture: VerifyFixture, count: number) => {
  const tokens = await seedViews(fixture, 'ses_forged_', 1_000)
  const stored = await countBeacons(fixture)
  const rounds: { alone: number; beside: number }[] = []
  let sent = 0
  const seconds = 3
  while (sent < count || rounds.length < 3) {
    const alone = await fixture.measureHttp({ ...verifyLoad, seconds })
    const flood = sendForged(fixture, tokens, seconds + verifyLoad.warmUp)
    const beside = await fixture.measureHttp({ ...verifyLoad, seconds })
    sent += await flood
    rounds.push({ alone: rounded(alone.p99, 1), beside: rounded(beside.p99, 1) })
    console.log(JSON.stringify({ sent, ...rounds.at(-1) }))
  }
  const rows = (await countBeacons(fixture)) - stored
  if (rows !== 0) throw new Error(`${rows} forged beacons are stored`)
  return { sent, rows, rounds, ratio: rounded(median(rounds.map(({ alone, beside }) => beside / alone)), 2) }
}

type BeaconMeasurements = {
  readonly rounds: Awaited<ReturnType<typeof measureRounds>>
  readonly ratio: number
  readonly forged: Awaited<ReturnType<typeof measureForged>>
  readonly seconds: number
}

const runRow = (round: number, name: string, run: Run, load: number) =>
  [round, name, run.rate, run.p50, run.p99, run.apiCpu, run.pgCpu, rounded(load, 1)].map(String)

const report = ({ rounds, ratio, forged, seconds }: BeaconMeasurements): void =>
  writeReport(
    'beacons.md',
    `# Durable beacons against the same server's bare 204, ${today()}

\`npm run bench -- beacons --report\`: \`POST /api/track/event\` with one beacon in the form of sendBeacon, ${connections} connections, answered
after its transaction is committed and flushed, beside the answer 204 of the same process to the browser's preflight, which
reads no body and no row. ${rounds.length} rounds of ${seconds} s for each side, in turns. Each view sends four beacons with event ids, and ${visitors} views at a time.
Every answered beacon is a row, or the bench fails. ${cpus().length} cores, ${cpus()[0]?.model ?? 'unknown'}, Node ${process.version}; the load generator runs on
them, too.

Median of beacons / bare 204: **${ratio}** (goal: >= 0.5).

${tableOf(
  ['Round', 'Run', 'Requests/s', 'p50 ms', 'p99 ms', 'api CPU µs', 'PostgreSQL CPU µs', 'Load'],
  rounds.flatMap(({ beacons, bare, load }, index) => [
    runRow(index + 1, 'beacons', beacons, load),
    runRow(index + 1, 'bare 204', bare, load),
  ]),
)}

## Forged tokens

${forged.sent.toLocaleString('en')} tokens of real views with another signature, ${forgedPerBody} in a body, ${forgedBodiesPerSecond} bodies a second, beside
\`POST /api/agents/verify\` on ${verifyLoad.connections} connections. Rows that they left: **${forged.rows}**. p99 of verify beside them / alone, median:
**${forged.ratio}** (goal: < 2).

${tableOf(
  ['Round', 'verify p99 alone, ms', 'beside forged tokens, ms'],
  forged.rounds.map(({ alone, beside }, index) => [index + 1, alone, beside].map(String)),
)}
`,
  )

export const beacons = async (): Promise<Readonly<Record<string, unknown>>> => {
  const { values } = parseArgs({
    allowPositionals: true,
    options: {
      short: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      report: { type: 'boolean', default: false },
      forged: { type: 'string' },
    },
  })
  const [rounds, seconds] = values.short ? [1, 2] : [5, 5]
  const apis = [{ ...unlimitedBudgets, BEACONS_PER_MINUTE: '100000000' }]
  const fixture = await openVerifyFixture({ statistics: 'present', others: 0, apis })
  try {
    const measured = await measureRounds(fixture, rounds, seconds)
    const ratio = rounded(median(measured.map(({ beacons: ours, bare }) => ours.rate / bare.rate)), 3)
    const forged = await measureForged(fixture, Number(values.forged ?? (values.short ? 1_000 : 100_000)))
    if (values.report) report({ rounds: measured, ratio, forged, seconds })
    return { ratio, forgedRows: forged.rows, verifyP99Ratio: forged.ratio, forgedSent: forged.sent }
  } finally {
    await fixture.close()
  }
}

import { setTimeout } from 'node:timers/promises'
import { runHttpLoad } from '../http-load.ts'
import { cpuOfServers, openVerifyFixture, type VerifyFixture } from '../verify-fixture.ts'
import { unlimitedBudgets } from '../verify-seed.ts'
import { beaconRequest, preflightRequest, seedViews } from './views.ts'
import { closingAfter } from '../../driver/closing.ts'
import { programOf, step } from '../../driver/program.ts'
import { tableOfRecords } from '../../driver/report.ts'
import { inTurns, median, quantile, rounded } from '../../driver/rounds.ts'

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
    step(`${sent} forged tokens sent`)
  }
  const rows = (await countBeacons(fixture)) - stored
  if (rows !== 0) throw new Error(`${rows} forged beacons are stored`)
  return { sent, rows, rounds, ratio: rounded(median(rounds.map(({ alone, beside }) => beside / alone)), 2) }
}

/** Durable beacons beside the bare 204 of the same server, then verify beside forged beacons. */
export const beacons = programOf({
  command: 'bench -- beacons',
  title: "Durable beacons against the same server's bare 204",
  about: `\`POST /api/track/event\` with one beacon in the form of sendBeacon, ${connections} connections, answered after its transaction is committed and flushed, beside the answer 204 of the same process to the browser's preflight, which reads no body and no row. In turns. Each view sends four beacons with event ids, and ${visitors} views at a time. Every answered beacon is a row, or the bench fails. The load generator runs on the same machine. Goal: beacons / bare 204 of at least 0.5.

Forged tokens are those of real views with another signature, ${forgedPerBody} in a body, ${forgedBodiesPerSecond} bodies a second, beside \`POST /api/agents/verify\` on ${verifyLoad.connections} connections. They leave no row. Goal: p99 of verify beside them / alone below 2.`,
  options: { rounds: 5, seconds: 5, forged: 100_000 },
  smoke: { rounds: 1, seconds: 2, forged: 1_000 },
  minutes: ({ rounds, seconds, forged }) => 15 + (rounds * seconds) / 5 + forged / 5_000,
  run: ({ rounds, seconds, forged: forgedCount }) =>
    closingAfter(async (defer) => {
      const apis = [{ ...unlimitedBudgets, BEACONS_PER_MINUTE: '100000000' }]
      const fixture = await openVerifyFixture({ statistics: 'present', others: 0, apis })
      defer(fixture.close)
      await measureBeacons(fixture, 2, -1)
      const measured = await inTurns(rounds, {
        beacons: (round) => {
          step(`round ${round + 1}`)
          return measureBeacons(fixture, seconds, round)
        },
        bare: () => measure(fixture, seconds, () => preflightRequest),
      })
      const ratio = rounded(median(measured.map(({ beacons, bare }) => beacons.rate / bare.rate)), 3)
      const forged = await measureForged(fixture, forgedCount)
      return {
        figures: {
          ratio,
          rounds: measured.map(({ beacons, bare }) => rounded(beacons.rate / bare.rate, 3)),
          forgedRows: forged.rows,
          verifyP99Ratio: forged.ratio,
          forgedSent: forged.sent,
        },
        tables: [
          tableOfRecords(
            measured.flatMap(({ beacons, bare, load }, index) => [
              { round: index + 1, run: 'beacons', ...beacons, load },
              { round: index + 1, run: 'bare 204', ...bare, load },
            ]),
            `Median of beacons / bare 204: **${ratio}**`,
          ),
          tableOfRecords(
            forged.rounds,
            `p99 of verify alone and beside ${forged.sent.toLocaleString('en')} forged tokens, ms; median ratio **${forged.ratio}**`,
          ),
        ],
        holds: 'every answered beacon is a row, and no forged one is',
      }
    }),
})

// What each operation costs: CPU of the api and the signer, CPU of PostgreSQL and bytes on its disk, for each call.
import { closingAfter } from '../../driver/closing.ts'
import { programOf, step } from '../../driver/program.ts'
import { tableOfRecords, tableOfRounds } from '../../driver/report.ts'
import { cpuOfServers, missingPgbench } from '../verify-fixture.ts'
import type { Operation } from './operations.ts'
import { isolationCosts } from './isolation.ts'
import { concurrency, openSite, runAll, type Site } from './site.ts'
import { median, rounded } from '../../driver/rounds.ts'

/** CPU in microseconds and bytes, for each call. */
type Cost = { readonly api: number; readonly signer: number; readonly pg: number; readonly bytes: number }
type CostOptions = { readonly calls: number; readonly rounds: number }

/** All tables with their indexes, and not the write-ahead log, which is used again. */
const databaseBytes = async ({ client }: Site): Promise<number> => {
  const { rows } = await client.query<{ bytes: string }>(
    'select pg_database_size(current_database()) as bytes',
  )
  return Number(rows[0]?.bytes)
}

const measure = async (site: Site, operation: Operation, count: number): Promise<Cost> => {
  const calls = await operation.prepare(count)
  await site.client.query('checkpoint')
  const [before, bytesBefore] = [cpuOfServers(site.servers), await databaseBytes(site)]
  await runAll(calls)
  const [after, bytesAfter] = [cpuOfServers(site.servers), await databaseBytes(site)]
  return {
    api: (after.api - before.api) / count,
    signer: (after.signer - before.signer) / count,
    pg: (after.pg - before.pg) / count,
    bytes: (bytesAfter - bytesBefore) / count,
  }
}

const measureAll = async (site: Site, { calls, rounds }: CostOptions): Promise<Map<string, Cost[]>> => {
  for (const operation of site.operations) await measure(site, operation, concurrency * 8)
  const costs = new Map<string, Cost[]>()
  for (let round = 0; round < rounds; round++) {
    step(`round ${round + 1}`)
    for (const operation of site.operations)
      costs.set(operation.name, [...(costs.get(operation.name) ?? []), await measure(site, operation, calls)])
  }
  return costs
}

const figuresOf = (costs: ReadonlyMap<string, readonly Cost[]>) =>
  [...costs].map(([operation, rounds]) => {
    const middle = (name: keyof Cost) => Math.round(median(rounds.map((round) => round[name])))
    const cost = { api: middle('api'), signer: middle('signer'), pg: middle('pg'), bytes: middle('bytes') }
    return { operation, ...cost, ceiling: Math.floor(2_000_000 / (cost.api + cost.signer + cost.pg)) }
  })

export const costs = programOf({
  command: 'bench -- costs',
  title: 'What each operation costs',
  about: `Calls of each kind in each round, in turn, ${concurrency} at a time; medians, CPU in microseconds. One api process, one signer, PostgreSQL that waits for its disk, no worker. The caller shares the machine and is not counted. Bytes are those of the tables with their indexes, dead rows included. With few calls at a time batches are small: [verify under load](2026-11-17-verify.md) costs less. The calls a second are computed: two cores that do nothing else. One api process uses one core, so it needs a second one where the api takes most.

Row-level security: the statement that reads a session by its key, in a transaction that sets the tenant, by pgbench with 4 connections: as the role of the api, and as a role that row-level security does not apply to. In turns, PostgreSQL CPU in microseconds.`,
  options: { calls: 1_000, rounds: 5 },
  smoke: { calls: 16, rounds: 1 },
  minutes: ({ calls, rounds }) => 15 + (calls * rounds) / 200,
  missing: missingPgbench,
  run: (options) =>
    closingAfter(async (defer) => {
      const site = await openSite({ REGISTER_LIMIT_PER_HOUR: '1000000' })
      defer(site.close)
      const measured = await measureAll(site, options)
      const figures = figuresOf(measured)
      step('row-level security')
      const isolation = await isolationCosts(site, options.rounds)
      return {
        figures: { figures, isolation },
        tables: [
          tableOfRecords(figures),
          {
            title: 'CPU of all processes in each round, µs:',
            head: ['Operation', 'Rounds'],
            rows: [...measured].map(([operation, rounds]) => [
              operation,
              rounds.map(({ api, signer, pg }) => Math.round(api + signer + pg)).join(', '),
            ]),
          },
          tableOfRounds(
            isolation.map(({ isolated, exempt }) => ({
              isolated: rounded(isolated, 0),
              exempt: rounded(exempt, 0),
              'with / without': rounded(isolated / exempt, 2),
            })),
            { title: 'Row-level security, µs:' },
          ),
        ],
        holds: 'every call was answered',
      }
    }),
})

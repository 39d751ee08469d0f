// ClickHouse as the engine of beacons and conversions: the contract of engines, a change of the engine in both directions,
// and kills under load. The smallest run is one case of the engine.
import { installClickHouse } from '../../clickhouse/start.ts'
import { runProgram, step } from '../../driver/program.ts'
import { tableOfFigures, tableOfRecords } from '../../driver/report.ts'
import { runSuite } from '../suite/suite.ts'
import { runAttentionKills } from './kills.ts'

const suites = ['tools/chaos/attention/contract.ts', 'tools/chaos/attention/switching.ts']

const killRuns = [
  { engine: 'postgresql', plantDuplicates: false },
  { engine: 'clickhouse', plantDuplicates: false },
  { engine: 'clickhouse', plantDuplicates: true },
] as const

type KillResult = Awaited<ReturnType<typeof runAttentionKills>> & { readonly isPlanted: boolean }

const shownOf = ({ engine, isPlanted, kills, faults, ...counts }: KillResult) => ({
  Engine: engine + (isPlanted ? ', planted: no tokens' : ''),
  Kills: Object.entries(kills)
    .map(([name, count]) => `${name} ${count}`)
    .join(', '),
  Acknowledged: counts.acknowledged,
  'In the engine': counts.stored,
  Batches: counts.batches,
  Lost: counts.lost,
  'Faults found': faults.join('; ') || 'none',
})

const faultsOf = ({ engine, isPlanted, faults }: KillResult): readonly string[] => {
  if (isPlanted) return faults.length > 0 ? [] : ['the planted fault was not found']
  return faults.map((fault) => `${engine}: ${fault}`)
}

const missing = installClickHouse()
if (missing !== undefined) console.log(`skipped: ${missing}`)
else
  await runProgram({
    command: 'battery -- attention',
    report: 'attention-clickhouse',
    title: 'ClickHouse as an engine',
    about:
      'The server of tools/clickhouse, which is chdb. The contract of engines and a change of the engine, then kill -9 of api, worker, PostgreSQL and ClickHouse in turn, under 8 clients. A beacon is sent until it is answered. Rows are counted without FINAL. The planted fault must be found: without tokens a batch that is sent again is stored again.',
    options: { kills: 20 },
    smoke: { kills: 0 },
    minutes: ({ kills }) => 40 + 3 * kills,
    run: async ({ kills, smoke }) => {
      step('the contract of engines')
      const { tests, failed, seconds } = await runSuite(smoke ? ['tools/chaos/attention/smoke.ts'] : suites)
      const results: KillResult[] = []
      for (const { engine, plantDuplicates } of smoke ? [] : killRuns)
        results.push({
          ...(await runAttentionKills({ engine, plantDuplicates, kills })),
          isPlanted: plantDuplicates,
        })
      const contract = { tests, failed: failed.length, seconds }
      return {
        figures: { ...contract, results },
        tables: [
          tableOfFigures(contract, 'Contract of engines and change of the engine:'),
          ...(results.length > 0 ? [tableOfRecords(results.map(shownOf))] : []),
        ],
        faults: [...(tests > 0 ? failed : ['no test ran']), ...results.flatMap(faultsOf)],
        holds: 'attention on ClickHouse',
      }
    },
  })

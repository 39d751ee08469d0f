// ClickHouse as the engine of beacons and conversions: the contract of engines, a change of the engine in both directions,
// and kills under load. npm run battery -- attention [--kills 20 --report]
import { parseArgs } from 'node:util'
import { tableOf } from '../../ci/pages/markdown.ts'
import { installClickHouse } from '../../clickhouse/start.ts'
import { today, writeReport } from '../../report.ts'
import { runAttentionKills } from './kills.ts'
import { runSuite } from '../suite/suite.ts'

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '20' },
    report: { type: 'boolean', default: false },
    /** The smallest case alone, for CI. */
    smoke: { type: 'boolean', default: false },
  },
})
const suites = ['tools/chaos/attention/contract.ts', 'tools/chaos/attention/switching.ts']

const killRuns = [
  { engine: 'postgresql', plantDuplicates: false },
  { engine: 'clickhouse', plantDuplicates: false },
  { engine: 'clickhouse', plantDuplicates: true },
] as const

type KillResult = Awaited<ReturnType<typeof runAttentionKills>> & { readonly isPlanted: boolean }

const rowOf = (result: KillResult): string[] => [
  result.engine + (result.isPlanted ? ', planted: no tokens' : ''),
  Object.entries(result.kills)
    .map(([name, count]) => `${name} ${count}`)
    .join(', '),
  ...[result.acknowledged, result.stored, result.batches, result.lost].map(String),
  result.faults.join('; ') || 'none',
]

const runAll = async (): Promise<boolean> => {
  const { tests, failed, seconds } = await runSuite(suites)
  const results: KillResult[] = []
  for (const { engine, plantDuplicates } of killRuns)
    results.push({
      ...(await runAttentionKills({ engine, plantDuplicates, kills: Number(values.kills) })),
      isPlanted: plantDuplicates,
    })
  const head = ['Engine', 'Kills', 'Acknowledged', 'In the engine', 'Batches', 'Lost', 'Faults']
  const text = `# ClickHouse as an engine, ${today()}

\`npm run battery -- attention --report\`: the server of tools/clickhouse, which is chdb.

Contract of engines and change of the engine: ${tests} tests, ${failed.length} failed, ${seconds} s.
${failed.map((name) => `\n- ${name}`).join('')}

kill -9 of api, worker, PostgreSQL and ClickHouse in turn, under 8 clients. A beacon is sent until it is answered. Rows are
counted without FINAL. The planted fault must be found: without tokens a batch that is sent again is stored again.

${tableOf(head, results.map(rowOf))}
`
  console.log(text)
  if (values.report) writeReport('attention-clickhouse.md', text)
  return (
    tests > 0 &&
    failed.length === 0 &&
    results.every(({ isPlanted, faults }) => (isPlanted ? faults.length > 0 : faults.length === 0))
  )
}

const runSmoke = async (): Promise<boolean> => {
  const { tests, failed } = await runSuite(['tools/chaos/attention/smoke.ts'])
  return tests > 0 && failed.length === 0
}

const missing = installClickHouse()
if (missing !== undefined) console.log(`skipped: ${missing}`)
else {
  const isGood = values.smoke ? await runSmoke() : await runAll()
  console.log(isGood ? '✓ attention on ClickHouse' : '✗ attention on ClickHouse')
  if (!isGood) process.exitCode = 1
}

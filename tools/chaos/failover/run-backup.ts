// Backs up a Patroni cluster with pgBackRest under load, loses all three machines, and restores.
// npm run battery -- backup [--seconds 100 --clients 3 --seed 1 --json --report --keep]
import { cpus, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { figuresOf, today, writeReport } from '../../report.ts'
import { lostSecondsMax, runBackup } from './backup.ts'
import { installPrograms, readVersions } from './patroni-cluster.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '100' },
    clients: { type: 'string', default: '3' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    json: { type: 'boolean', default: false },
    report: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
  },
})
installPrograms()
const { faults, ...exact } = await runBackup({
  seed: Number(values.seed),
  clients: Number(values.clients),
  seconds: Number(values.seconds),
  keep: values.keep,
})
const figures = Object.fromEntries(
  Object.entries(exact).map(([name, value]) => [name, Math.round(value * 10) / 10]),
)
console.table(figures)
for (const fault of faults) console.log(`✗ ${fault}`)
if (faults.length === 0)
  console.log(`✓ restored; at most ${lostSecondsMax} s can be lost with all three machines`)
if (values.json) console.log(JSON.stringify(figures))
if (values.report)
  writeReport(
    'backup.md',
    `# Backup and restore of a Patroni cluster, ${today()}

\`npm run battery -- backup --seconds ${values.seconds} --clients ${values.clients} --seed ${values.seed}\`, ${cpus().length} cores, load ${loadavg()[1]?.toFixed(1)}. ${readVersions()}. The files are those that \`deploy/ha/fill-in.sh\` writes: \`archive_timeout\` is 30 s, backups are encrypted, the repository is a folder.

${figuresOf(figures)}

Verify is called slowly, so that no WAL segment is ever full. There is a full backup, a load, a switchover, a load, a point in time, and a third load, during which every process of PostgreSQL and Patroni is killed and every data folder deleted. \`lostSeconds\` is the time from the oldest acknowledged credential that the restored database lacks to that moment, \`archiveGapSeconds\` the longest time between two segments that reached the archive, seen once a second: the most that can be lost. Both must be at most ${lostSecondsMax} s. The restore to the point in time must have each credential that was acknowledged before it, as it was, and no other (\`pointInTimeDifferences\`). Then Patroni starts on the restored newest state and copies it to two machines (\`clusterSeconds\`). The database is a few MB: the times say nothing about large ones. This battery does not start the service on the restored database.

${faults.length === 0 ? 'Every bound held.' : `Broken:\n\n${faults.map((fault) => `- ${fault}`).join('\n')}`}
`,
  )
if (faults.length > 0) process.exitCode = 1

// Backs up a Patroni cluster with pgBackRest under load, loses all three machines, and restores.
import { anySeed } from '../../driver/options.ts'
import { runProgram } from '../../driver/program.ts'
import { tableOfFigures } from '../../driver/report.ts'
import { rounded } from '../../driver/rounds.ts'
import { lostSecondsMax, runBackup } from './backup.ts'
import { installPrograms, readVersions } from './patroni-cluster.ts'

await runProgram({
  command: 'battery -- backup',
  title: 'Backup and restore of a Patroni cluster',
  about: `The files are those that \`deploy/ha/fill-in.sh\` writes: \`archive_timeout\` is 30 s, backups are encrypted, the repository is a folder. Verify is called slowly, so that no WAL segment is ever full. There is a full backup, a load, a switchover, a load, a point in time, and a third load, during which every process of PostgreSQL and Patroni is killed and every data folder deleted. \`lostSeconds\` is the time from the oldest acknowledged credential that the restored database lacks to that moment, \`archiveGapSeconds\` the longest time between two segments that reached the archive, seen once a second: the most that can be lost. Both must be at most ${lostSecondsMax} s. The restore to the point in time must have each credential that was acknowledged before it, as it was, and no other (\`pointInTimeDifferences\`). Then Patroni starts on the restored newest state and copies it to two machines (\`clusterSeconds\`). The database is a few MB: the times say nothing about large ones. This battery does not start the service on the restored database.`,
  options: { seconds: 100, clients: 3, seed: anySeed(), keep: false },
  minutes: ({ seconds }) => 25 + seconds / 30,
  missing: () => installPrograms(),
  run: async (options) => {
    const { faults, ...exact } = await runBackup(options)
    const figures = Object.fromEntries(Object.entries(exact).map(([name, value]) => [name, rounded(value)]))
    return {
      figures: { seed: options.seed, ...figures },
      tables: [tableOfFigures({ ...figures, versions: readVersions() })],
      faults,
      holds: `restored; at most ${lostSecondsMax} s can be lost with all three machines`,
    }
  },
})

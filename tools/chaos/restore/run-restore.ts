// Restores the database to a point before 700 credentials, completes the restore by the runbook, and counts.
import { findSystemPostgres } from '../../../packages/server/dev/cluster.ts'
import { drawTimeline } from '../../driver/chart.ts'
import { runProgram, step } from '../../driver/program.ts'
import { tableOfFigures } from '../../driver/report.ts'
import { sum } from '../../driver/rounds.ts'
import { runRestore, type RestoreFindings } from './battery.ts'

const variants = ['kept', 'rewound'] as const

/** Mints a second over time; each event lasts until the next. */
const chartOf = (journal: string, { mints, timeline }: RestoreFindings): string =>
  drawTimeline(`Mints a second, journal ${journal}`, [
    {
      name: journal,
      succeeded: mints,
      spans: timeline.map(({ at, name }, index) => ({
        name: `until ${name}`,
        from: timeline[index - 1]?.at ?? 0,
        to: at,
      })),
    },
  ])

await runProgram({
  command: 'battery -- restore',
  title: 'Restore to a point in the past',
  about: `A base backup and an archive of the log; the database is restored to a named point before \`--lost\` credentials, after 40 revocations were published. In the lost span \`--purchases\` units were bought on a chain, every second one with the nonce of its purchase; as many payments were settled by somebody else and not delivered; and three card checkouts that were open before were paid. After the restore all these payments are sent again. \`revocationsTakenBack\` and \`listsTakenBack\` compare the served lists directly after \`restore apply\` with those of before the loss. In the second run the journal and the signer's copies of the status lists go back too, as in a snapshot of the machine; a copy of the published lists stays, and the holders present their credentials. \`runbookSeconds\` is the time of the commands of docs/operate/restore.md, from the first to the readiness of the service.`,
  options: {
    // With the lost ones more than a block of 1,024 indexes, so that the lost span claims one.
    before: 600,
    lost: 700,
    after: 3_000,
    purchases: 20,
    clients: 8,
    seed: 1,
  },
  smoke: { before: 8, lost: 8, after: 8, purchases: 2, clients: 4 },
  minutes: ({ before, lost, after }) => 30 + (before + lost + after) / 50,
  missing: () =>
    findSystemPostgres() === undefined ? 'pg_basebackup is needed: apt-get install postgresql' : undefined,
  run: async (options) => {
    const results = new Map<string, RestoreFindings>()
    for (const journal of variants) {
      step(`journal ${journal}`)
      results.set(journal, await runRestore({ ...options, journal }))
    }
    const all = [...results]
    const total = (name: keyof RestoreFindings['figures']) =>
      sum(all.map(([, { figures }]) => figures[name] ?? 0))
    return {
      figures: {
        seed: options.seed,
        lost: total('notVerifiable'),
        doubleCharged: total('mintedTwice') + total('deliveredTwice'),
        indexesReused: total('indexesReused'),
        revocationsLost: total('revocationsTakenBack'),
        journals: Object.fromEntries(all.map(([journal, { figures }]) => [journal, figures])),
      },
      tables: all.map(([journal, { figures }]) => tableOfFigures(figures, `Journal ${journal}:`)),
      faults: all.flatMap(([journal, { faults }]) => faults.map((fault) => `${journal}: ${fault}`)),
      holds: 'nothing taken back, nothing given out twice',
      charts: Object.fromEntries(
        all.map(([journal, found]) => [`restore-${journal}`, chartOf(journal, found)]),
      ),
    }
  },
})

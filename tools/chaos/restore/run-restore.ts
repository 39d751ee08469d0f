// Restores the database to a point before 700 credentials, completes the restore by the runbook, and counts.
// npm run battery -- restore [--before 600 --lost 700 --after 3000 --purchases 20 --clients 8 --seed 1 --report]
import { cpus, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { figuresOf, today, writeReport } from '../../report.ts'
import { runRestore, type RestoreFindings } from './battery.ts'
import { drawTimeline } from './timeline.ts'

const { values } = parseArgs({
  options: {
    // With the lost ones more than a block of 1,024 indexes, so that the lost span claims one.
    before: { type: 'string', default: '600' },
    lost: { type: 'string', default: '700' },
    after: { type: 'string', default: '3000' },
    purchases: { type: 'string', default: '20' },
    clients: { type: 'string', default: '8' },
    seed: { type: 'string', default: '1' },
    report: { type: 'boolean', default: false },
  },
})
const variants = ['kept', 'rewound'] as const
const results: ({ readonly journal: (typeof variants)[number] } & RestoreFindings)[] = []
for (const journal of variants) {
  const findings = await runRestore({
    seed: Number(values.seed),
    before: Number(values.before),
    lost: Number(values.lost),
    after: Number(values.after),
    purchases: Number(values.purchases),
    clients: Number(values.clients),
    journal,
  })
  console.log(`journal ${journal}`)
  console.table(findings.figures)
  for (const fault of findings.faults.slice(0, 20)) console.log(`✗ ${fault}`)
  if (findings.faults.length === 0) console.log('✓ nothing taken back, nothing given out twice')
  results.push({ journal, ...findings })
}

const sectionOf = ({ journal, figures, faults }: (typeof results)[number]): string => `## Journal ${journal}

![Acknowledged mints over time, with the restore](${today()}-restore-${journal}.svg)

${figuresOf(figures)}

There were ${faults.length} faults.
${faults.map((fault) => `\n- ${fault}`).join('')}`

if (values.report) {
  for (const { journal, mints, timeline } of results)
    writeReport(`restore-${journal}.svg`, drawTimeline(`Mints a second, journal ${journal}`, mints, timeline))
  writeReport(
    'restore.md',
    `# Restore to a point in the past, ${today()}

\`npm run battery -- restore --before ${values.before} --lost ${values.lost} --after ${values.after} --purchases ${values.purchases} --clients ${values.clients} --seed ${values.seed}\`, ${cpus().length} cores, load ${loadavg()[1]?.toFixed(1)}. Server, PostgreSQL and clients share the machine.

A base backup and an archive of the log; the database is restored to a named point before ${values.lost} credentials, after 40 revocations were published. In the lost span ${values.purchases} units were bought on a chain, every second one with the nonce of its purchase; ${values.purchases} payments were settled by somebody else and not delivered; and three card checkouts that were open before were paid. After the restore all these payments are sent again. \`revocationsTakenBack\` and \`listsTakenBack\` compare the served lists directly after \`restore apply\` with those of before the loss. In the second run the journal and the signer's copies of the status lists go back too, as in a snapshot of the machine; a copy of the published lists stays, and the holders present their credentials. \`runbookSeconds\` is the time of the commands of docs/operate/restore.md, from the first to the readiness of the service.

${results.map(sectionOf).join('\n')}
`,
  )
}
if (results.some(({ faults }) => faults.length > 0)) process.exitCode = 1

// Measures the attack families of the arena, and what a day of forgeries needs, each against a server of its own.
// npm run arena -- --measure [--attempts 10 --browser-attempts 3 --family lean_script --write]
// npm run arena -- --day [--forgeries 10000 --max 1200 --write]
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { familyNames, measureFamilies, type MeasuredFamily } from '../../packages/arena/src/families/index.ts'
import { daySettings } from '../../packages/arena/src/families/day.ts'
import { simulateDay, type DayNeeds } from '../../packages/arena/src/families/simulate.ts'
import { createDatabase, makeClusterFolder, startCluster } from '../../packages/server/dev/cluster.ts'
import { today } from '../report.ts'
import { migrate } from '../../packages/server/src/platform/db/migrate.ts'
import { openHarness } from '../../packages/server/test/fixtures/harness.ts'
import { makeAttestedModel } from '../../packages/server/test/fixtures/people/attested-model.ts'

const root = resolve(import.meta.dirname, '../..')

const { values } = parseArgs({
  options: {
    measure: { type: 'boolean', default: false },
    day: { type: 'boolean', default: false },
    attempts: { type: 'string', default: '5' },
    'browser-attempts': { type: 'string', default: '2' },
    family: { type: 'string', multiple: true },
    forgeries: { type: 'string', default: '10000' },
    max: { type: 'string', default: '1200' },
    write: { type: 'boolean', default: false },
  },
})

/** Writes a file of data, and its table into the page of the evidence. */
const save = (file: string, data: object, table: string): void => {
  console.log(table)
  if (!values.write) return
  const folder = join(root, 'packages/arena/data')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, `${file}.json`), `${JSON.stringify(data, null, 2)}\n`)
  const page = join(root, 'docs/evidence/arena.md')
  const [before, rest] = readFileSync(page, 'utf8').split(`<!-- ${file}:begin -->`)
  const after = rest?.split(`<!-- ${file}:end -->`)[1]
  if (before === undefined || after === undefined) throw new Error(`${page} has lost the markers of ${file}`)
  writeFileSync(page, `${before}<!-- ${file}:begin -->\n\n${table}\n\n<!-- ${file}:end -->${after}`)
}

type MeasuredFile = { readonly measuredAt: string; readonly families: readonly MeasuredFamily[] }

/** What was played, beside the rows of the families that were not. The date is that of the oldest row. */
const mergeRows = (before: MeasuredFile, rows: readonly MeasuredFamily[]): MeasuredFile => {
  const played = new Set(rows.map(({ name }) => name))
  const kept = before.families.filter(({ name }) => !played.has(name))
  return { measuredAt: kept.length === 0 ? today() : before.measuredAt, families: [...kept, ...rows] }
}

const rootsText = ({ rootsSpent }: MeasuredFamily): string =>
  rootsSpent
    .map(({ kind }) => kind)
    .filter((kind, _index, kinds) => kind !== 'network' || kinds.length === 1)
    .join(' + ')

const familyTable = ({ measuredAt, families: rows }: MeasuredFile, playedAlone: readonly string[]): string =>
  [
    `${values.attempts} attempts of each, ${values['browser-attempts']} of those with a browser. Measured on ${measuredAt}${playedAlone.length === 0 ? '' : `, and on ${today()}: ${playedAlone.join(', ')}`}.`,
    '',
    '| Family | Credential | Root | Assurance | Success | Wall | CPU | Bytes | Bought once |',
    '| --- | --- | --- | --- | --- | --- | --- | --- | --- |',
    ...rows.map((row) => {
      const fixed = row.fixed.map(({ item, quantity }) => `${quantity} ${item}`).join(', ')
      return `| ${row.name} | ${row.kind} | ${rootsText(row)} | ${row.assurance} | ${row.successRate === 0 ? 'never' : `${Math.round(row.successRate * 100)} %`} | ${row.wallSeconds.toFixed(1)} s | ${Math.round(row.cpuSeconds * 1_000)} ms | ${row.bytes} | ${fixed} |`
    }),
  ].join('\n')

const measure = async (): Promise<void> => {
  const families = values.family?.map((given) => {
    const name = familyNames.find((one) => one === given)
    if (!name) throw new Error(`unknown family ${given}; there are ${familyNames.join(', ')}`)
    return name
  })
  const rows = await measureFamilies({
    attempts: Number(values.attempts),
    browserAttempts: Number(values['browser-attempts']),
    families,
    log: (line) => console.error(line),
  })
  const before = JSON.parse(
    readFileSync(join(root, 'packages/arena/data/families.json'), 'utf8'),
  ) as MeasuredFile
  const merged = mergeRows(before, rows)
  save('families', merged, familyTable(merged, values.family ?? []))
}

const capacity = ({ perHour, perDay, isLimited }: DayNeeds['low']['address']): string =>
  isLimited ? `${perHour < perDay ? `${perHour} an hour, ` : ''}${perDay} a day` : `no limit within ${perDay}`

const counted = (count: number, word: string): string =>
  `${count} ${word}${count === 1 ? '' : word.endsWith('s') ? 'es' : 's'}`

const dayTable = ({ forgeries, low, substantial }: DayNeeds): string =>
  [
    `Measured on ${today()}, for ${forgeries} forged views in one UTC day.`,
    '',
    '| What is asked | What the server gives |',
    '| --- | --- |',
    `| \`low\`, one address | ${capacity(low.address)} |`,
    `| \`low\`, one /24 | ${capacity(low.network24)} |`,
    `| \`low\`, one /24, all for one site | ${capacity(low.network24ForOneSite)} |`,
    `| \`low\`, one /48 of IPv6 | ${capacity(low.network48)} |`,
    `| \`low\`, ${counted(low.networks24, '/24 network')} | ${low.minted} in the day |`,
    `| \`substantial\`, one key of an authenticator, another network each time | ${capacity(substantial.key)} |`,
    `| \`substantial\`, one authenticator with a new key each time, another network each time | ${capacity(substantial.authenticator)} |`,
    `| \`substantial\`, one authenticator with a new key each time, one address | ${capacity(substantial.address)} |`,
    `| \`substantial\`, the same, one /24 | ${capacity(substantial.network24)} |`,
    `| \`substantial\`, the same, one /24, all for one site | ${capacity(substantial.network24ForOneSite)} |`,
    '',
    `So ${forgeries} in a day need, at \`low\`, ${counted(low.addresses, 'address')} or ${counted(low.networks24, '/24 network')}; at \`substantial\`, ${counted(substantial.authenticators, 'authenticator')} with at least ${counted(substantial.keys, 'key')}, and ${counted(substantial.addresses, 'address')} or ${counted(substantial.networks24, '/24 network')}. Every row is what the server gave; the numbers in this sentence are ${forgeries} divided by what one gave.`,
  ].join('\n')

/** The harness takes its databases from a cluster that the environment names, as in tests. */
const simulate = async (): Promise<void> => {
  const folder = makeClusterFolder('pohf-day-')
  const cluster = await startCluster({ folder })
  const model = await makeAttestedModel()
  try {
    await migrate(await createDatabase(cluster, 'pohf_template'))
    process.env['POHF_TEST_CLUSTER'] = cluster.url('')
    const harness = await openHarness({ ...daySettings, ...model.settings })
    try {
      const options = { forgeries: Number(values.forgeries), max: Number(values.max) }
      const needs = await simulateDay(harness, model, options)
      save('day', { measuredAt: today(), ...needs }, dayTable(needs))
    } finally {
      await harness.close()
    }
  } finally {
    model.close()
    await cluster.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))
if (values.measure) await measure()
if (values.day) await simulate()

import { cpus } from 'node:os'
import { paddedTableOf, tableOf } from '../ci/pages/markdown.ts'
import { today, writeReport } from '../report.ts'
import { mediansOf } from './rounds.ts'

type Cell = string | number | boolean | null | undefined
export type Table = {
  readonly title?: string
  readonly head: readonly string[]
  readonly rows: readonly (readonly Cell[])[]
}

/** What a program found. */
export type ProgramFindings = {
  /** The keys of the JSON line. */
  readonly figures: Readonly<Record<string, unknown>>
  readonly tables: readonly Table[]
  /** What does not hold; a program with faults fails. */
  readonly faults?: readonly string[]
  /** What is shown to hold where there are no faults. */
  readonly holds?: string
  /** Pictures of the report by name. */
  readonly charts?: Readonly<Record<string, string>>
}

const cellText = (cell: Cell): string =>
  typeof cell === 'number'
    ? Number.isFinite(cell)
      ? cell.toLocaleString('en', { maximumFractionDigits: 3 })
      : 'none'
    : String(cell ?? '')

const textOf = ({ title, head, rows }: Table, draw: typeof tableOf): string => {
  const drawn = draw(
    head,
    rows.map((row) => row.map(cellText)),
  )
  return title === undefined ? drawn : `${title}\n\n${drawn}`
}

/** A table of the figures that are numbers or words, by their names. */
export const tableOfFigures = (figures: ProgramFindings['figures'], title?: string): Table => ({
  ...(title === undefined ? {} : { title }),
  head: ['What', 'Figure'],
  rows: Object.entries(figures).flatMap(([name, value]) =>
    typeof value === 'object' ? [] : [[name, value as Cell]],
  ),
})

/** A line for each record, with the names of its fields as the head. */
export const tableOfRecords = (records: readonly object[], title?: string): Table => ({
  ...(title === undefined ? {} : { title }),
  head: Object.keys(records[0] ?? {}),
  rows: records.map((record) => Object.values(record) as Cell[]),
})

/** Every round, and the median of each figure. */
export const tableOfRounds = <K extends string>(
  rounds: readonly Readonly<Record<K, number>>[],
  options: { readonly title?: string; readonly goals?: Readonly<Partial<Record<K, string>>> } = {},
): Table => {
  const keys = Object.keys(rounds[0] ?? {}) as K[]
  const { title, goals } = options
  return {
    ...(title === undefined ? {} : { title }),
    head: ['Round', ...keys],
    rows: [
      ...rounds.map((round, index) => [index + 1, ...keys.map((key) => round[key])]),
      ['**median**', ...Object.values<number>(mediansOf(rounds))],
      ...(goals ? [['goal', ...keys.map((key) => goals[key])]] : []),
    ],
  }
}

/** Prints the tables, at most twenty faults and what holds; last of all, if asked for, the JSON line. */
export const printFindings = (findings: ProgramFindings, options: { readonly json: boolean }): void => {
  const { figures, tables, faults = [], holds = 'no fault' } = findings
  for (const table of tables) console.log(`${textOf(table, paddedTableOf)}\n`)
  for (const fault of faults.slice(0, 20)) console.log(`✗ ${fault}`)
  console.log(faults.length === 0 ? `✓ ${holds}` : `✗ ${faults.length} faults`)
  if (options.json) console.log(JSON.stringify(figures))
}

export type ReportHead = {
  readonly name: string
  readonly title: string
  readonly about: string
  readonly command: string
  /** The load of the machine at the start. */
  readonly load: number
}

/** Writes docs/reports/<day>-<name>.md with its pictures. */
export const writeFindings = (
  head: ReportHead,
  { tables, faults = [], charts = {} }: ProgramFindings,
): void => {
  const names = Object.keys(charts)
  for (const name of names) writeReport(`${name}.svg`, charts[name] ?? '')
  writeReport(
    `${head.name}.md`,
    [
      `# ${head.title}, ${today()}`,
      `\`${head.command}\`, ${cpus().length} cores, ${cpus()[0]?.model ?? 'unknown'}, Node ${process.version}, load ${head.load} at the start: above ${cpus().length}, others took part of the machine.`,
      head.about,
      ...tables.map((table) => textOf(table, tableOf)),
      ...names.map((name) => `![${head.title}](${today()}-${name}.svg)`),
      faults.length === 0
        ? 'There were no faults.'
        : `There were ${faults.length} faults:\n\n${faults.map((fault) => `- ${fault}`).join('\n')}`,
    ].join('\n\n') + '\n',
  )
}

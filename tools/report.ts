import { mkdirSync, writeFileSync } from 'node:fs'

export type ReportFigures = Readonly<Record<string, string | number>>

/** A Markdown table of names and figures. */
export const tableOf = (figures: ReportFigures): string =>
  [
    '| What | Figure |',
    '| --- | ---: |',
    ...Object.entries(figures).map(([name, value]) => `| ${name} | ${value.toLocaleString('en')} |`),
  ].join('\n')

/** Writes docs/reports/<day>-<name>.md; a second run of a day replaces the first. */
export const writeReport = (name: string, title: string, body: string): void => {
  const day = new Date().toISOString().slice(0, 10)
  const folder = new URL('../docs/reports/', import.meta.url)
  mkdirSync(folder, { recursive: true })
  writeFileSync(new URL(`${day}-${name}.md`, folder), `# ${title}, ${day}\n\n${body.trim()}\n`)
}

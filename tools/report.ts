import { mkdirSync, writeFileSync } from 'node:fs'
import { tableOf } from './ci/pages/markdown.ts'

/** The day of a report, in UTC. */
export const today = (): string => new Date().toISOString().slice(0, 10)

/** A table of names and figures. */
export const figuresOf = (figures: Readonly<Record<string, number>>): string =>
  tableOf(
    ['What', 'Figure'],
    Object.entries(figures).map(([name, value]) => [name, value.toLocaleString('en')]),
  )

/** Writes docs/reports/<day>-<file>. A second run on the same day replaces the first. */
export const writeReport = (file: string, text: string): void => {
  const folder = new URL('../docs/reports/', import.meta.url)
  mkdirSync(folder, { recursive: true })
  writeFileSync(new URL(`${today()}-${file}`, folder), text)
}

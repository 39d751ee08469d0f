import { mkdirSync, writeFileSync } from 'node:fs'

/** The day of a report, in UTC. */
export const today = (): string => new Date().toISOString().slice(0, 10)

const reportsFolder = new URL('../docs/reports/', import.meta.url)

/** docs/reports/<day>-<file>, or the same name in another folder. */
export const reportUrlOf = (file: string, folder: URL = reportsFolder): URL =>
  new URL(`${today()}-${file}`, folder)

/** Writes docs/reports/<day>-<file>, or into another folder. A second run on the same day replaces the first. */
export const writeReport = (file: string, text: string, folder: URL = reportsFolder): void => {
  mkdirSync(folder, { recursive: true })
  writeFileSync(reportUrlOf(file, folder), text)
}

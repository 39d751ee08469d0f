import type { MetricsRow } from '@pohf/protocol'
import { writeRows } from '../platform/http/csv.ts'

/** Append-only: a column is never moved, renamed or dropped. */
const columns = [
  'sessionId',
  'credentialId',
  'at',
  'focus',
  'probe',
  'input',
  'gaze',
  'quality',
  'flags',
] as const satisfies readonly (keyof MetricsRow)[]

const cellOf = (value: MetricsRow[keyof MetricsRow]): string | number | null =>
  Array.isArray(value) ? value.join(';') : value

export const writeCsv = (rows: readonly MetricsRow[]): string =>
  writeRows(
    columns,
    rows.map((row) => columns.map((column) => cellOf(row[column]))),
  )

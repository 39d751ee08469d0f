import type { MetricsRow } from '@pohf/protocol'
import { writeLine } from '../platform/http/csv.ts'

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

/** The lines of a page, a piece at a time, after the header line. */
export const csvPieces = async function* (
  pages: AsyncIterable<readonly MetricsRow[]>,
): AsyncGenerator<string> {
  yield writeLine(columns)
  for await (const rows of pages)
    yield rows.map((row) => writeLine(columns.map((column) => cellOf(row[column])))).join('')
}

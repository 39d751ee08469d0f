import type { MetricsRow } from '@pohf/protocol'

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

export const csvMediaType = 'text/csv; charset=utf-8; header=present'

/** RFC 4180: quoted where it must be. */
const quoted = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)

/** Text that no spreadsheet takes for a formula: session ids are the caller's own words. */
const textCell = (text: string): string => quoted(/^[=+\-@\t\r\n]/.test(text) ? `'${text}` : text)

const cellOf = (value: MetricsRow[keyof MetricsRow]): string => {
  if (value === null) return ''
  if (typeof value === 'number') return String(value)
  return textCell(typeof value === 'string' ? value : value.join(';'))
}

/** The rows as CSV with a header line; every line ends in CRLF. */
export const writeCsv = (rows: readonly MetricsRow[]): string =>
  [columns.join(','), ...rows.map((row) => columns.map((column) => cellOf(row[column])).join(','))]
    .map((line) => `${line}\r\n`)
    .join('')

export const csvMediaType = 'text/csv; charset=utf-8; header=present'

/** RFC 4180: quoted where necessary. */
const quoted = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)

/** Prefixes text that a spreadsheet would run as a formula, also in wide characters: much of it was written by callers. */
const textCell = (text: string): string => quoted(/^[=+\-@\t\r\n＝＋－＠]/.test(text) ? `'${text}` : text)

type Cell = string | number | null
const cellOf = (value: Cell): string => {
  if (value === null) return ''
  return typeof value === 'number' ? String(value) : textCell(value)
}

export type CsvRow = readonly Cell[]
/** One line, which ends in CRLF. */
export const writeLine = (row: CsvRow): string => `${row.map(cellOf).join(',')}\r\n`

/** The rows as CSV with a header line; every line ends in CRLF. */
export const writeRows = (columns: readonly string[], rows: readonly CsvRow[]): string =>
  [columns, ...rows].map(writeLine).join('')

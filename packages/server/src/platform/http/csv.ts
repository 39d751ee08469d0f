export const csvMediaType = 'text/csv; charset=utf-8; header=present'

/** RFC 4180: quoted where it must be. */
const quoted = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)

/** Text that no spreadsheet takes for a formula: much of it is the caller's own words. */
const textCell = (text: string): string => quoted(/^[=+\-@\t\r\n]/.test(text) ? `'${text}` : text)

type Cell = string | number | null
const cellOf = (value: Cell): string => {
  if (value === null) return ''
  return typeof value === 'number' ? String(value) : textCell(value)
}

/** The rows as CSV with a header line; every line ends in CRLF. */
export const writeRows = (columns: readonly string[], rows: readonly (readonly Cell[])[]): string =>
  [columns, ...rows].map((row) => `${row.map(cellOf).join(',')}\r\n`).join('')

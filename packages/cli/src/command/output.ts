/** Prints the answer as one line of JSON where `--json` is given, else as text. */
export const printAnswer = (
  options: { readonly json?: boolean },
  answer: unknown,
  printText: () => void,
): void => (options.json ? console.log(JSON.stringify(answer)) : printText())

/** Columns of the same width, with two spaces between them. */
export const tableOf = (
  head: readonly string[],
  rows: readonly (readonly (string | number | null)[])[],
): string => {
  const lines = [head, ...rows.map((row) => row.map((cell) => (cell === null ? '-' : String(cell))))]
  const widths = head.map((_, column) => Math.max(...lines.map((line) => (line[column] ?? '').length)))
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

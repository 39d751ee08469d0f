import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export const root = new URL('../../../', import.meta.url).pathname

/** A generated file: its path below the root of the repository, and its text. */
export type GeneratedFile = readonly [path: string, text: string]

/** The first line of a generated page. */
export const generatedNote = '<!-- Written by npm run generate. Do not edit. -->'

const cellOf = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ')

/** A table without padding: the pages that hold it are not formatted. */
export const tableOf = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows.map((row) => row.map(cellOf))]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n')

/** A table as prettier pads it, for pages that are written by hand around it. */
export const paddedTableOf = (head: readonly string[], rows: readonly (readonly string[])[]): string => {
  const cells = [head, ...rows.map((row) => row.map(cellOf))]
  const widths = head.map((_, column) => Math.max(3, ...cells.map((row) => row[column]?.length ?? 0)))
  const lineOf = (row: readonly string[]): string =>
    `| ${widths.map((width, column) => (row[column] ?? '').padEnd(width)).join(' | ')} |`
  const [first = [], ...others] = cells
  return [lineOf(first), lineOf(widths.map((width) => '-'.repeat(width))), ...others.map(lineOf)].join('\n')
}

/** A page that is written by hand, with the parts between its markers replaced. */
export const withGeneratedParts = (path: string, parts: Readonly<Record<string, string>>): GeneratedFile => [
  path,
  Object.entries(parts).reduce(
    (page, [name, content]) => {
      const [start, end] = [`<!-- ${name}: written by npm run generate -->`, `<!-- end of ${name} -->`]
      const [before, after] = [page.indexOf(start), page.indexOf(end)]
      if (before === -1 || after < before) throw new Error(`${path} has no markers for the ${name}`)
      return `${page.slice(0, before + start.length)}\n\n${content}\n\n${page.slice(after)}`
    },
    readFileSync(join(root, path), 'utf8'),
  ),
]

export const withGeneratedPart = (path: string, name: string, content: string): GeneratedFile =>
  withGeneratedParts(path, { [name]: content })

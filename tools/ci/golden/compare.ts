// What a golden file is and how it is compared with the present state.
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The committed files. */
const goldenFolder = new URL('files/', import.meta.url).pathname

/** Texts by file name. */
export type GoldenFiles = ReadonlyMap<string, string>

export const jsonText = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`
export const linesText = (lines: readonly string[]): string => `${lines.toSorted().join('\n')}\n`

/** One line for each leaf of a JSON document, named by its path: a difference then says where it is. */
export const flattenJson = (value: unknown, path = ''): string[] => {
  if (typeof value !== 'object' || value === null) return [`${path} = ${JSON.stringify(value)}`]
  const entries = Object.entries(value)
  if (entries.length === 0) return [`${path} = ${Array.isArray(value) ? '[]' : '{}'}`]
  return entries.flatMap(([key, inner]) => flattenJson(inner, path === '' ? key : `${path} > ${key}`))
}

const linesOf = (name: string, text: string): string[] => {
  if (name.endsWith('.json')) return flattenJson(JSON.parse(text))
  return text.split('\n').filter((line) => line !== '')
}

/** Lines of `some` without those of `others`, each counted as often as it occurs. */
const without = (some: readonly string[], others: readonly string[]): string[] => {
  const left = new Map<string, number>()
  for (const line of others) left.set(line, (left.get(line) ?? 0) + 1)
  return some.filter((line) => {
    const count = left.get(line) ?? 0
    left.set(line, count - 1)
    return count < 1
  })
}

/** What one file lost (-) and gained (+) against its golden text. */
export const differencesOf = (name: string, golden: string, current: string): string[] => {
  if (golden === current) return []
  const [before, after] = [linesOf(name, golden), linesOf(name, current)]
  const changed = [
    ...without(before, after).map((line) => `- ${line}`),
    ...without(after, before).map((line) => `+ ${line}`),
  ]
  return changed.length > 0 ? changed : ['the order of the lines changed']
}

/** Every difference of every file; a file that is on one side only is a difference too. */
export const compareGolden = (golden: GoldenFiles, current: GoldenFiles): Map<string, string[]> => {
  const found = new Map<string, string[]>()
  for (const name of new Set([...golden.keys(), ...current.keys()])) {
    const [before, after] = [golden.get(name), current.get(name)]
    if (before === undefined) found.set(name, ['there is no golden file of this name'])
    else if (after === undefined) found.set(name, ['nothing makes this golden file any more'])
    else {
      const differences = differencesOf(name, before, after)
      if (differences.length > 0) found.set(name, differences)
    }
  }
  return found
}

export const readGolden = (name: string): string | undefined => {
  const path = join(goldenFolder, name)
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined
}

export const listGolden = (): string[] =>
  existsSync(goldenFolder) ? readdirSync(goldenFolder).toSorted() : []

export const writeGolden = (files: GoldenFiles): void => {
  mkdirSync(goldenFolder, { recursive: true })
  for (const [name, text] of files) writeFileSync(join(goldenFolder, name), text)
}

const shownMax = 40

/** The message that names each file and what differs in it. */
export const describeDifferences = (found: ReadonlyMap<string, readonly string[]>): string =>
  [...found]
    .map(([name, lines]) => {
      const rest = lines.length - shownMax
      return [name, ...lines.slice(0, shownMax), ...(rest > 0 ? [`… and ${rest} more`] : [])].join('\n    ')
    })
    .join('\n')

import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { repositoryRoot } from '../docs/markdown.ts'

export type Source = { readonly path: string; readonly text: string }

/** Every hand-written source file of the packages, tests left out. */
export const readPackageSources = (): Source[] =>
  globSync('packages/*/src/**/*.{ts,tsx}', { cwd: repositoryRoot })
    .filter((path) => !/\.test\.tsx?$/.test(path))
    .toSorted()
    .map((path) => ({ path, text: readFileSync(join(repositoryRoot, path), 'utf8') }))

/** The identifiers of a source file; comments and quoted strings left out. */
const identifiersOf = (text: string): ReadonlySet<string> =>
  new Set(
    text
      .replaceAll(/\/\*[\s\S]*?\*\/|(?<![:'"`\\])\/\/[^\n]*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"/g, ' ')
      .match(/[A-Za-z_$][\w$]*/g) ?? [],
  )

/** One row of the table "Where is …?" in CONTRIBUTING.md. */
export type Whereabouts = {
  readonly question: string
  readonly word: string
  readonly symbol: string
  readonly path: string
}

export const readWhereabouts = (): Whereabouts[] => {
  const page = readFileSync(join(repositoryRoot, 'CONTRIBUTING.md'), 'utf8')
  const [, section = ''] = page.split('## Where is …?')
  return [...section.matchAll(/^\| ([^|]+?) +\| `([^`]+)` +\| `([^`]+)` +\| `([^`]+)` +\|$/gm)].map(
    ([, question = '', word = '', symbol = '', path = '']) => ({ question, word, symbol, path }),
  )
}

/** What of an answer does not hold: the file, the symbol in it, or the everyday words in it. */
export const whereaboutsFault = (
  { word, symbol, path }: Whereabouts,
  text: string | undefined,
): string | undefined => {
  if (text === undefined) return `${path} does not exist`
  if (!identifiersOf(text).has(symbol)) return `${path} has no ${symbol}`
  const isFound = text.toLowerCase().includes(word.toLowerCase())
  return isFound ? undefined : `a search for "${word}" does not find ${path}`
}

/** The source files that a search for the words of an answer finds. */
export const findWord = (sources: readonly Source[], { word }: Whereabouts): string[] =>
  sources.filter(({ text }) => text.toLowerCase().includes(word.toLowerCase())).map(({ path }) => path)

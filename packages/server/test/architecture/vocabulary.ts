import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { serverRoot } from './import-rules.ts'

export const repositoryRoot = join(serverRoot, '../..')

/** One line of renamed-names.tsv: what was renamed, where its old name may not stand, the old and the new name. */
export type RenamedName = {
  readonly kind: 'symbol' | 'file' | 'message'
  /** `*` is every source file; otherwise one file, where the old name is too common a word to forbid everywhere. */
  readonly scope: string
  readonly oldName: string
  readonly newName: string
}

export const readRenamedNames = (): RenamedName[] =>
  readFileSync(join(import.meta.dirname, 'renamed-names.tsv'), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => {
      const [kind = '', scope = '', oldName = '', newName = ''] = line.split('\t')
      if (kind !== 'symbol' && kind !== 'file' && kind !== 'message')
        throw new Error(`renamed-names.tsv: unknown kind in "${line}"`)
      return { kind, scope, oldName, newName }
    })

export type Source = { readonly path: string; readonly text: string }

/** Every hand-written source file of the repository. */
export const readRepositorySources = (): Source[] =>
  globSync(['packages/*/{src,test,dev,examples}/**/*.{ts,tsx}', 'tools/**/*.ts', 'conformance/src/**/*.ts'], {
    cwd: repositoryRoot,
    exclude: (path) => path.endsWith('node_modules') || path.endsWith('dist'),
  })
    .toSorted()
    .map((path) => ({ path, text: readFileSync(join(repositoryRoot, path), 'utf8') }))

/** The identifiers of a source file; comments and quoted strings left out. */
const identifiersOf = (text: string): ReadonlySet<string> =>
  new Set(
    text
      .replaceAll(/\/\*[\s\S]*?\*\/|(?<![:'"`\\])\/\/[^\n]*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"/g, ' ')
      .match(/[A-Za-z_$][\w$]*/g) ?? [],
  )

/** Where an old name still stands. */
export const findOldNames = (sources: readonly Source[], renamed: readonly RenamedName[]): string[] => {
  const paths = new Set(sources.map(({ path }) => path))
  const identifiers = sources.map(({ path, text }) => ({ path, text, names: identifiersOf(text) }))
  return renamed.flatMap(({ kind, scope, oldName }) => {
    if (kind === 'file') return paths.has(oldName) ? [`${oldName} exists again`] : []
    return identifiers
      .filter(({ path }) => scope === '*' || path === scope)
      .filter(({ text, names }) => (kind === 'symbol' ? names.has(oldName) : text.includes(oldName)))
      .map(({ path }) => `${path}: ${oldName}`)
  })
}

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

/** The source files of the packages, tests left out, that a search for the words of an answer finds. */
export const findWord = (sources: readonly Source[], { word }: Whereabouts): string[] =>
  sources
    .filter(({ path }) => /^packages\/[^/]+\/src\//.test(path) && !/\.test\.tsx?$/.test(path))
    .filter(({ text }) => text.toLowerCase().includes(word.toLowerCase()))
    .map(({ path }) => path)

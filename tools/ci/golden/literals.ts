// Golden file of words that are stored, locked on or sent by, and that stand as plain literals in the sources. They are
// listed by what they are and not by file, so that a file may move and a variable may be renamed, but no stored word.
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileBackend, openKeyring } from '../../../packages/server/src/signing/index.ts'
import { flattenJson, linesText } from './compare.ts'
import type { SourceFile } from './secrets.ts'

type Kind = {
  /** The last group of each match is the word. */
  readonly patterns: readonly RegExp[]
  /** Fewer than this and the pattern no longer sees what it should. */
  readonly least: number
}

const kinds: Readonly<Record<string, Kind>> = {
  'advisory lock': {
    patterns: [/hashtextextended\((?:\$\{)?(['`])([^'`]+)\1/g, /\blockKey = ([\d_]+)/g],
    least: 5,
  },
  'audit action': {
    patterns: [
      /\baction: (['`])([a-z]+\.[^'`]+)\1/g,
      /\baction: [\w.]+ \? '([a-z.]+)'/g,
      /\baction: .* : '([a-z.]+)'/g,
    ],
    least: 15,
  },
  'ledger kind': {
    patterns: [/\bkind: '([a-z]+_[a-z_]+)'/g, /\bconst \w*[kK]ind = '([a-z_]+)'/g],
    least: 15,
  },
  'ledger account': {
    patterns: [
      /(['`])((?:world|owed|consumed|unused|escrow|revenue|backing|vesting|hold|stars|free):[^'`\s]+)\1/g,
      /\bbalance: '([a-z]+)'/g,
    ],
    least: 18,
  },
  'reconciler finding': {
    patterns: [/\bconst name = '([a-z_]+)'/g, /\bdrift\('([a-z_]+)'/g, /\bfinding: '([a-z_]+)'/g],
    least: 7,
  },
  'reference of money': { patterns: [/\breference: `([^`]+)`/g], least: 5 },
  'agent of the platform': {
    patterns: [/\b(?:contactEmail|mailDomain|networkTag): '([^']+)'/g],
    least: 3,
  },
  'scope of a human code': { patterns: [/\bhumanCode\([^)\n]*?(['`])([^'`]+)\1/g], least: 2 },
  'key derivation': { patterns: [/`(pohf\.[^`\n]+)`/g, /'(pohf\.[a-z.]+)'/g], least: 3 },
  'passkey challenge bound to': {
    patterns: [/\bboundToAnyone = '([^']+)'/g, /`((?:link|person) )\$/g],
    least: 2,
  },
  'signer operation': { patterns: [/\bop: '([a-z-]+)'/g], least: 8 },
  'card provider metadata': { patterns: [/\bmetadata: \{ (\w+_id):/g], least: 2 },
  'connection name': { patterns: [/\b(?:application_)?name: '(pohf-[a-z]+)'/g], least: 3 },
  'database setting': { patterns: [/"(pohf\.[a-z]+)"/g], least: 1 },
  'browser storage key': { patterns: [/`(pohf-[a-z]+-)\$/g], least: 1 },
  'custom element': { patterns: [/customElements\.define\('([^']+)'/g, /\?\? '(pohf-[a-z]+)'/g], least: 2 },
  'export format': { patterns: [/\bformat: '([a-z]+-[a-z]+\/\d+)'/g], least: 1 },
}

/** What stands between braces is a name of the program and may change. */
const withoutNames = (word: string): string => word.replaceAll(/\$\{[^}]*\}/g, '${}')

/** The words of every kind, each once. Throws where a pattern sees less than it should. */
export const literalLines = (sources: readonly SourceFile[]): string[] =>
  Object.entries(kinds).flatMap(([kind, { patterns, least }]) => {
    const words = sources.flatMap(({ text }) =>
      patterns.flatMap((pattern) => [...text.matchAll(pattern)].map((match) => match.at(-1) ?? '')),
    )
    const distinct = [...new Set(words.map(withoutNames))].toSorted()
    if (distinct.length < least)
      throw new Error(`${kind}: ${distinct.length} words found in the sources, at least ${least} expected`)
    return distinct.map((word) => `${kind}\t${word}`)
  })

const isHash = /^[A-Za-z0-9_-]{43}/

/** What the signer leaves on disk: names of files, and the fields of what is in them. */
const keyringLines = (): string[] => {
  const folder = mkdtempSync(join(tmpdir(), 'pohf-golden-keys-'))
  try {
    const clock = { now: () => new Date('2026-01-01T00:00:00.000Z') }
    openKeyring({ folder, backend: fileBackend(join(folder, 'private')), clock }).close()
    const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
    const files = entries.filter((entry) => entry.isFile())
    const lines = files.flatMap(({ parentPath, name }) => {
      const path = join(parentPath, name)
      const shown = join(parentPath.slice(folder.length + 1), isHash.test(name) ? '<x>.json' : name)
      if (!name.endsWith('.json')) return [shown]
      return flattenJson(JSON.parse(readFileSync(path, 'utf8'))).map((line) => {
        const [at = '', value = ''] = line.split(' = ')
        const field = at.replaceAll(/\d+/g, '[]')
        return `${shown} ${field}${/purpose|state/.test(field) ? ` = ${value}` : ''}`
      })
    })
    return [...new Set(lines)].map((line) => `signer file\t${line}`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

export const literalFiles = (sources: readonly SourceFile[]): [string, string][] => [
  ['literals.tsv', linesText([...literalLines(sources), ...keyringLines()])],
]

import { globSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export const repositoryRoot = fileURLToPath(new URL('../../../../', import.meta.url))

export type Block = {
  /** The line of the opening fence. */
  readonly line: number
  readonly language: string
  /** The rest of the info string. */
  readonly marks: readonly string[]
  readonly code: string
  /** How many lines of prose stand between the block before and this one. */
  readonly proseBefore: number
}

type Fence = { readonly indent: string; readonly ticks: string; readonly info: string }
const fenceOf = (line: string): Fence | undefined => {
  const [, indent, ticks, info] = /^( *)(`{3,})(.*)$/.exec(line) ?? []
  return indent === undefined || ticks === undefined || info === undefined
    ? undefined
    : { indent, ticks, info }
}

/** The fenced blocks of a page. The indentation of a block in a list is removed. */
export const blocksOf = (page: string): Block[] => {
  const blocks: Block[] = []
  let open: (Fence & { line: number; code: string[] }) | undefined
  let prose = 0
  for (const [index, line] of page.split('\n').entries()) {
    const fence = fenceOf(line)
    if (!open) {
      if (fence) open = { ...fence, line: index + 1, code: [] }
      else if (line.trim() !== '') prose += 1
      continue
    }
    if (!fence || fence.info !== '' || fence.ticks.length < open.ticks.length) {
      open.code.push(line.startsWith(open.indent) ? line.slice(open.indent.length) : line)
      continue
    }
    const [language = '', ...marks] = open.info.trim().split(/\s+/)
    blocks.push({ line: open.line, language, marks, code: `${open.code.join('\n')}\n`, proseBefore: prose })
    open = undefined
    prose = 0
  }
  if (open) throw new Error(`the block of line ${open.line} has no end`)
  return blocks
}

/** Patterns of every document that is written or generated as Markdown. */
export const everyPage: readonly string[] = ['**/*.md', '.changeset/*.md', '.github/**/*.md']

/** Paths of pages, relative to the repository. */
export const listPages = (patterns: readonly string[]): string[] =>
  globSync(patterns, {
    cwd: repositoryRoot,
    exclude: ['**/node_modules', '**/dist', '.git', '**/.pohf'],
  }).toSorted()

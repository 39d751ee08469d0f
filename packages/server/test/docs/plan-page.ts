import { blocksOf, type Block } from './markdown.ts'

/** What the runner does with a block. */
export type Step = {
  readonly line: number
  /** `run`: in the shell of the page; `terminal`: in a second shell, in the background; `save`: written to a file. */
  readonly kind: 'run' | 'terminal' | 'save' | 'no-run'
  readonly code: string
  readonly file?: string
  /** Statuses of 400 and above that a comment of the block announces. */
  readonly statuses: readonly string[]
  /** What the page says that the block prints. */
  readonly expected?: { readonly language: 'json' | 'text'; readonly text: string }
}

const shells = new Set(['sh', 'bash'])
const scripts = new Set(['ts', 'js', 'mjs', 'python', 'go'])
const shown = new Set(['ini', 'json', 'text', 'http', 'html', 'css', 'sql', 'solidity'])

/** Ports that the pages write, and the name of what listens there in a test. 5432 is PostgreSQL. */
export type Ports = Readonly<Record<'3000' | '3001' | '4000', number>> & { readonly '5432'?: number }
const replacePorts = (code: string, ports: Ports): string =>
  code.replace(
    /(127\.0\.0\.1:|localhost:|listen\(|PORT=)(3000|3001|4000|5432)\b/g,
    (_, before: string, port) => `${before}${ports[port as keyof Ports] ?? port}`,
  )

/** A reader cannot paste these: `{base_url}` and `svc_test_…`. Comments may have them. */
const placeholderOf = (code: string): string | undefined =>
  /(?<![$\w])\{[a-z]+(?:_[a-z]+)*\}|\S*…\S*/.exec(code.replaceAll(/(?<=^|\s)(?:#|\/\/) .*$/gm, ''))?.[0]

const kindOf = ({ language, marks, code }: Block): Step['kind'] => {
  if (marks.includes('no-run')) return 'no-run'
  if (scripts.has(language)) return 'save'
  return code.startsWith('# In a second terminal') ? 'terminal' : 'run'
}

const stepOf = (block: Block, next: Block | undefined, ports: Ports): Step => {
  const { line, code } = block
  const kind = kindOf(block)
  const file = /^(?:\/\/|#) ([\w-]+\.(?:ts|js|mjs|py|go))\n/.exec(code)?.[1]
  if (kind === 'save' && file === undefined)
    throw new Error(`line ${line}: the first line does not name the file, as in "// receiver.mjs"`)
  const placeholder = kind === 'no-run' ? undefined : placeholderOf(code)
  if (placeholder !== undefined) throw new Error(`line ${line}: ${placeholder} is a placeholder`)
  const isShown = next?.language === 'json' || next?.language === 'text'
  return {
    line,
    kind,
    code: replacePorts(code, ports),
    ...(kind === 'save' && file !== undefined ? { file } : {}),
    statuses: [...code.matchAll(/^.*# .*?answers ([45]\d\d)/gm)].map((match) => match[1] ?? ''),
    ...(isShown && next.proseBefore <= 1
      ? { expected: { language: next.language, text: replacePorts(next.code, ports) } }
      : {}),
  }
}

/** The steps of a page, in its order. Throws where a block breaks a convention of CONTRIBUTING.md. */
export const planPage = (page: string, ports: Ports): Step[] => {
  const blocks = blocksOf(page)
  const steps: Step[] = []
  for (const [index, block] of blocks.entries()) {
    if (shown.has(block.language)) continue
    if (!shells.has(block.language) && !scripts.has(block.language))
      throw new Error(`line ${block.line}: unknown language "${block.language}"`)
    steps.push(stepOf(block, blocks[index + 1], ports))
  }
  for (const [index, { file, line }] of steps.entries())
    if (file !== undefined && !steps.slice(index).some((step) => !step.file && step.code.includes(file)))
      throw new Error(`line ${line}: no later block runs ${file}`)
  return steps
}

import { blocksOf } from '../../packages/server/test/docs/markdown.ts'

/** A quick start with the block after which its reader has what the page promises. */
export type Case = {
  readonly name: string
  readonly result: string
  readonly page: string
  /** A text in the last block that counts. */
  readonly lastBlock: string
  /** Whether `npm ci` and `npm run dev` belong to the time of this reader. */
  readonly withInstallation: boolean
  /** A program does what the page asks a person to do in a browser. */
  readonly isPlayed?: boolean
  readonly limitSeconds?: number
  readonly limitCommands?: number
}

export const cases: readonly Case[] = [
  {
    name: 'developer',
    result: 'first credential, verified',
    page: 'docs/quickstart/README.md',
    lastBlock: 'first-credential.sh',
    withInstallation: true,
    limitSeconds: 180,
    limitCommands: 3,
  },
  {
    name: 'reader of the README',
    result: 'the five ways in, each once',
    page: 'README.md',
    lastBlock: 'view article-7',
    withInstallation: true,
    limitSeconds: 300,
  },
  {
    name: 'relying party',
    result: 'a credential accepted, without an account',
    page: 'docs/quickstart/relying-party.md',
    lastBlock: 'npx pohf verify - ',
    withInstallation: false,
    limitSeconds: 60,
  },
  {
    name: 'site owner',
    result: 'the session of a visitor in the list',
    page: 'docs/quickstart/site-owner.md',
    lastBlock: 'pohf sessions list',
    withInstallation: true,
    limitSeconds: 300,
  },
  {
    name: 'buyer',
    result: 'first order, funded',
    page: 'docs/quickstart/buyer.md',
    lastBlock: '/order/fund',
    withInstallation: false,
  },
  {
    name: 'worker',
    result: 'first unit, handed in',
    page: 'docs/quickstart/worker.md',
    lastBlock: 'invite-worker',
    withInstallation: false,
    isPlayed: true,
  },
  {
    name: 'agent builder',
    result: 'first purchase',
    page: 'docs/quickstart/agent-builder.md',
    lastBlock: 'pohf buy',
    withInstallation: false,
  },
  {
    name: 'builder of agents with a tool',
    result: 'a guarded tool, run',
    page: 'docs/quickstart/guard-a-tool.md',
    lastBlock: 'node guarded.ts',
    withInstallation: true,
    limitSeconds: 300,
  },
]

/** Blocks marked `no-run` are `npm ci` and `npm run dev`, which the stopwatch runs once for all pages. */
export const withoutInstallation = (page: string): string =>
  page.replaceAll(/^```sh no-run\n[\s\S]*?^```\n/gm, '')

/** The page up to the end of the block that contains the text, and the output shown behind it. */
export const pageUntil = (page: string, text: string): string => {
  const blocks = blocksOf(page)
  const last = blocks.findIndex(({ language, code }) => language === 'sh' && code.includes(text))
  if (last === -1) throw new Error(`no block has ${text}`)
  const next = blocks
    .slice(last + 1)
    .find(({ language }) => language === 'sh' || /^(?:js|mjs|ts)$/.test(language))
  return page
    .split('\n')
    .slice(0, next === undefined ? undefined : next.line - 1)
    .join('\n')
}

/** True while a quote of the shell is open at the end of the text. */
const hasOpenQuote = (text: string): boolean => {
  const quotes = text.replaceAll(/\\./g, '').match(/["']/g) ?? []
  let open = ''
  for (const quote of quotes) open = open === '' ? quote : open === quote ? '' : open
  return open !== ''
}

/** How many commands a reader pastes: a line that continues, a quoted text and the lines of a file count with their command. */
export const countCommands = (code: string): number => {
  const text = code.replaceAll(/<<-?'?(\w+)'?([^\n]*)\n[\s\S]*?\n\1$/gm, '$2')
  let command = ''
  let commands = 0
  for (const line of text.split('\n')) {
    command = command === '' ? line : `${command}\n${line}`
    if (/(?:\\|\|\||&&|\|)$/.test(line.trimEnd()) || hasOpenQuote(command)) continue
    if (command.trim() !== '' && !command.trim().startsWith('#')) commands += 1
    command = ''
  }
  return commands
}

/** The commands of a page up to its result. A block for a second terminal counts too. */
export const commandsOf = (page: string): number =>
  blocksOf(page)
    .filter(({ language }) => language === 'sh')
    .reduce((sum, { code }) => sum + countCommands(code), 0)

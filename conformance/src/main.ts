// Runs every statement of the specification against a deployment, over public HTTP only.
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { readApi } from './api.ts'
import { Failure } from './expect.ts'
import { makeHttp } from './http.ts'
import { runStatement, type Outcome } from './runner.ts'
import type { Section, Statement } from './statement.ts'
import { sections } from './statements.ts'
import { isLoopbackHost, type RunContext } from './run-context.ts'

const runMsMax = 110_000

const usage = `Usage: npm run conformance -- --base-url URL [--only TEXT] [--json] [--results FILE]

  --base-url URL   the deployment, such as http://127.0.0.1:3000
  --only TEXT      only statements with TEXT in their id or title
  --json           the last line is one JSON object: passed, failed, todo, skipped
  --results FILE   writes the id and the result of every statement, one a line

  PAYER_PRIVATE_KEY in the environment, a wallet with the stablecoin of a test network, lets the suite
  really buy a task. Money of a main network is never spent.`

class BadUsage extends Error {}

type RunOptions = {
  readonly baseUrl: string
  readonly isLoopback: boolean
  readonly sections: readonly Section[]
  readonly json: boolean
  readonly results: string | undefined
  readonly payerKey: `0x${string}` | undefined
}

const readArguments = (): Record<string, string | boolean | undefined> => {
  try {
    const options = {
      'base-url': { type: 'string' },
      only: { type: 'string' },
      json: { type: 'boolean' },
      results: { type: 'string' },
      help: { type: 'boolean' },
    } as const
    return parseArgs({ options, allowPositionals: false }).values
  } catch (error) {
    throw new BadUsage(error instanceof Error ? error.message : String(error))
  }
}

const selectSections = (only: string | undefined): readonly Section[] => {
  const wanted = only?.toLowerCase() ?? ''
  const isWanted = ({ id, title }: Statement) => `${id} ${title}`.toLowerCase().includes(wanted)
  const selected = sections
    .map((section) => ({ ...section, statements: section.statements.filter(isWanted) }))
    .filter((section) => section.statements.length > 0)
  if (selected.length === 0) throw new BadUsage(`no statement has "${only}" in its id or title`)
  return selected
}

const isPrivateKey = (text: string): text is `0x${string}` => /^0x[0-9a-fA-F]{64}$/.test(text)

const readPayerKey = (): `0x${string}` | undefined => {
  const given = process.env['PAYER_PRIVATE_KEY'] ?? ''
  if (given === '') return undefined
  if (!isPrivateKey(given)) throw new BadUsage('PAYER_PRIVATE_KEY must be 0x and 64 hexadecimal digits')
  return given
}

const readRunOptions = (values: ReturnType<typeof readArguments>): RunOptions => {
  const url = URL.parse(String(values['base-url'] ?? ''))
  if (!url || !/^https?:$/.test(url.protocol))
    throw new BadUsage('--base-url must be an http or https address')
  return {
    baseUrl: url.href.replace(/\/+$/, ''),
    isLoopback: isLoopbackHost(url.hostname),
    sections: selectSections(typeof values['only'] === 'string' ? values['only'] : undefined),
    json: values['json'] === true,
    results: typeof values['results'] === 'string' ? values['results'] : undefined,
    payerKey: readPayerKey(),
  }
}

const isTerminal = process.stdout.isTTY
const paint = (code: number, text: string): string => (isTerminal ? `\u001b[${code}m${text}\u001b[0m` : text)
const signs: Record<Outcome['state'], string> = {
  passed: paint(32, '✓   '),
  failed: paint(31, '✗   '),
  todo: paint(33, 'todo'),
  skipped: paint(36, 'skip'),
}

const printRow = (statement: Statement, outcome: Outcome, width: number): void => {
  const title = `${statement.title}${statement.isProjectDecision ? ' °' : ''}`
  console.log(`  ${signs[outcome.state]}  ${statement.id.padEnd(width)}  ${title}`)
  const indent = ' '.repeat(8)
  if (outcome.state === 'failed')
    console.log(`${indent}expected  ${outcome.expected}\n${indent}got       ${outcome.got}`)
  if (outcome.state === 'todo' || outcome.state === 'skipped') console.log(`${indent}${outcome.reason}`)
}

type Tally = Record<Outcome['state'], number>

const runAll = async (order: RunOptions): Promise<Tally> => {
  const end = AbortSignal.timeout(runMsMax)
  const http = makeHttp(order.baseUrl, end)
  const { baseUrl, isLoopback, payerKey } = order
  const world: RunContext = {
    baseUrl,
    isLoopback,
    payerKey,
    http,
    end,
    api: await readApi(http),
    closers: [],
  }
  const tally: Tally = { passed: 0, failed: 0, todo: 0, skipped: 0 }
  const results: string[] = []
  const ids = order.sections.flatMap((section) => section.statements.map(({ id }) => id.length))
  const width = Math.max(...ids)
  try {
    for (const section of order.sections) {
      console.log(`\n${paint(1, section.name)}`)
      for (const statement of section.statements) {
        const outcome = await runStatement(world, statement)
        tally[outcome.state] += 1
        results.push(`${statement.id}\t${outcome.state}`)
        printRow(statement, outcome, width)
      }
    }
  } finally {
    for (const close of world.closers) await close()
  }
  if (order.results !== undefined) writeFileSync(order.results, `${results.toSorted().join('\n')}\n`)
  return tally
}

const summary = ({ passed, failed, todo, skipped }: Tally): string =>
  `${passed} passed, ${failed} failed, ${todo} todo, ${skipped} skipped`

const main = async (): Promise<void> => {
  const values = readArguments()
  if (values['help']) {
    console.log(usage)
    return
  }
  const order = readRunOptions(values)
  let tally: Tally = { passed: 0, failed: 1, todo: 0, skipped: 0 }
  try {
    tally = await runAll(order)
    console.log('\n° rests on a decision of this project where the specification is silent.')
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    console.log(`✗ ${order.baseUrl} cannot be reached: ${error.got}`)
  }
  console.log(summary(tally))
  if (order.json) console.log(JSON.stringify(tally))
  if (tally.failed > 0) process.exitCode = 1
}

try {
  await main()
} catch (error) {
  if (!(error instanceof BadUsage)) throw error
  console.error(`${error.message}\n\n${usage}`)
  process.exitCode = 2
}

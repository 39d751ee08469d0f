import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Command } from 'commander'
import { exitCodes } from '../src/command/exit-codes.ts'
import { examplesOf, kindOf } from '../src/command/options.ts'
import { withProgress } from '../src/command/progress.ts'
import { inheritedEnvironment } from '../../server/test/fixtures/processes/child-processes.ts'
import { commandGroups, createProgram } from '../src/program.ts'

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url))
const pohf = (...parameters: readonly string[]) => {
  const { stdout, stderr, status } = spawnSync(process.execPath, [main, ...parameters], {
    encoding: 'utf8',
    env: inheritedEnvironment,
  })
  return { out: stdout, err: stderr, code: status }
}
const leavesOf = (command: Command): Command[] =>
  command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf)
const pathOf = (command: Command): string =>
  command.parent?.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name()
const commands = leavesOf(createProgram()).filter((command) => command.name() !== 'help')

test('every command has a kind, an example and --json, except start, whose log is JSON', () => {
  assert.ok(commands.length >= 75, `${commands.length} commands`)
  for (const command of commands) {
    const name = pathOf(command)
    assert.notEqual(kindOf(command), undefined, name)
    assert.ok(examplesOf(command).length > 0, `${name} has no example`)
    assert.equal(
      command.options.some(({ long }) => long === '--json'),
      name !== 'start',
      name,
    )
  }
})

/** Splits as a shell does, as far as the examples need it. */
const splitCall = (call: string): string[] =>
  [...call.replace(/ [<>] .*$/, '').matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
    ([, single, double, plain]) => single ?? double ?? plain ?? '',
  )

/** The command that the arguments call; unknown options and missing arguments are errors. */
const calledBy = async (words: readonly string[]): Promise<string | undefined> => {
  const program = createProgram().configureOutput({ writeErr: () => undefined })
  let called: string | undefined
  for (const leaf of leavesOf(program))
    leaf.action(() => {
      called = pathOf(leaf)
    })
  await program.parseAsync([...words], { from: 'user' })
  return called
}

test('every example is a valid call of its command', async () => {
  const calls = [
    ...commands.flatMap((command) => examplesOf(command).map((call) => [call, pathOf(command)] as const)),
    ...commandGroups.flatMap(({ examples }) => examples.map((call) => [call, undefined] as const)),
  ]
  assert.ok(calls.length >= 90, `${calls.length} examples`)
  for (const [call, name] of calls) {
    const called = await calledBy(splitCall(call)).catch((error: unknown) =>
      assert.fail(`${call}: ${String(error)}`),
    )
    if (name !== undefined) assert.equal(called, name, call)
  }
  await assert.rejects(calledBy(splitCall('balance --colour red')), /unknown option/)
})

test('one variable belongs to one option, and an option with a variable has the same one everywhere', () => {
  const optionOf = new Map<string, string>()
  const variableOf = new Map<string, string>()
  for (const command of commands)
    for (const { long, envVar, hidden } of command.options) {
      if (long === undefined || long === null || hidden) continue
      if (envVar !== undefined) {
        assert.equal(optionOf.get(envVar) ?? long, long, `${pathOf(command)}: ${envVar}`)
        optionOf.set(envVar, long)
      }
      const variable = envVar ?? 'none'
      assert.equal(variableOf.get(long) ?? variable, variable, `${pathOf(command)}: ${long}`)
      variableOf.set(long, variable)
    }
  assert.deepEqual(Object.fromEntries(optionOf), {
    POHF_KEY: '--key',
    POHF_OPERATOR_KEY: '--operator-key',
    POHF_OPERATOR_URL: '--operator-url',
    POHF_URL: '--url',
    POHF_WEBHOOK_SECRET: '--secret',
  })
})

test('the help names every group, and the help of each group every command with examples', () => {
  const { out, code } = pohf()
  assert.equal(code, 0)
  let listed = 0
  for (const { name, title } of commandGroups) {
    assert.ok(out.includes(`${title} (${name}):`), name)
    const help = pohf('help', name)
    assert.equal(help.code, 0, help.err)
    assert.match(help.out, /\nExamples:\n {2}pohf /)
    listed += help.out.split('\n').filter((line) => /^ {2}pohf .* {2}/.test(line)).length
  }
  assert.equal(listed, commands.length)
  assert.match(pohf('help', 'webhooks', 'add').out, /^Usage: pohf webhooks add/)
  assert.match(pohf('help', 'exit-codes').out, / {2}5 {2}The service does not answer/)
  const unknown = pohf('help', 'money')
  assert.equal(unknown.code, exitCodes.usage)
  assert.match(
    unknown.err,
    /Fix: .*account, proof, site, events, purchases, approvals, server, administration/,
  )
})

test('--version is that of the package', () => {
  const file = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  const { version } = JSON.parse(file) as { version: string }
  assert.equal(pohf('--version').out, `${version}\n`)
})

test('a wrong call ends with exit code 2 and says what is wrong, with --json as JSON', () => {
  for (const [parameters, error] of [
    [['balanc'], /unknown command 'balanc'\n\(Did you mean balance\?\)/],
    [['balance', '--kee', 'x'], /unknown option '--kee'/],
    [['webhooks'], /Usage: pohf webhooks/],
    [['orders', 'create', 'wf'], /missing required argument 'quantity'/],
    [['orders', 'create', 'wf', 'two', '--key', 'k'], /the quantity must be a number\.\nFix: /],
    [['verify', 'jwt'], /required option '--issuer <url>'/],
  ] as const) {
    const { code, err, out } = pohf(...parameters)
    assert.equal(code, exitCodes.usage, parameters.join(' '))
    assert.match(err, error)
    assert.equal(out, '')
  }
  for (const parameters of [
    ['verify', 'jwt', '--json'],
    ['balance', '--json'],
  ]) {
    const answer = JSON.parse(pohf(...parameters).out) as Record<string, unknown>
    assert.deepEqual([answer['ok'], answer['error']], [false, 'usage'])
  }
})

test('attack hands the key over in the environment: every user of the machine can read arguments', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'pohf-attack-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const bot = join(folder, 'bot.mjs')
  writeFileSync(bot, "console.log(JSON.stringify([process.argv.includes('k1'), process.env.POHF_KEY]))")
  const { out } = pohf('attack', bot, '--site', 'agt_0123', '--key', 'k1')
  assert.deepEqual(JSON.parse(out), [false, 'k1'])
})

/** What is written while some work goes on. */
const recordProgress = async (isTTY: boolean, work: (written: readonly string[]) => void) => {
  const written: string[] = []
  const stream = { isTTY, write: (text: string) => written.push(text) }
  await withProgress('waiting', async () => work(written), stream)
  return written
}

test('progress is shown on a terminal from the first second on, is removed, and is shown nowhere else', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  let now = performance.now()
  t.mock.method(performance, 'now', () => now)
  const pass = (ms: number) => {
    now += ms
    t.mock.timers.tick(ms)
  }
  const lines = await recordProgress(true, (written) => {
    pass(999)
    assert.deepEqual(written, [])
    pass(1)
    pass(1_000)
  })
  const clearLine = '\r\u001b[K'
  assert.deepEqual(lines, [`${clearLine}… waiting (1 s)`, `${clearLine}… waiting (2 s)`, clearLine])
  pass(10_000)
  assert.equal(lines.length, 3, 'nothing is written afterwards')
  assert.deepEqual(await recordProgress(true, () => pass(999)), [])
  assert.deepEqual(await recordProgress(false, () => pass(1_500)), [])
})

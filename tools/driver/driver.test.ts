import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { closingAfter, isRunning, open } from './closing.ts'
import { readOptions, UsageError } from './options.ts'
import { inTurns, mediansOf } from './rounds.ts'

const defaults = { rounds: 5, only: [] as readonly string[], engine: 'both', keep: false }

test('options are read by the type of their defaults, and the smallest run has its own', () => {
  const read = (...words: string[]) => readOptions(defaults, { rounds: 1 }, words)
  const common = { json: false, report: false, smoke: false }
  assert.deepEqual(read(), { ...defaults, ...common })
  const given = read('--rounds', '7', '--only', 'a,b', '--only', 'c, d', '--keep', '--json')
  assert.deepEqual(given, {
    ...defaults,
    ...common,
    rounds: 7,
    only: ['a', 'b', 'c, d'],
    keep: true,
    json: true,
  })
  assert.equal(read('--smoke').rounds, 1)
  assert.equal(read('--smoke', '--rounds', '2').rounds, 2)
})

test('an option that does not exist is refused with the list of those that do, and so is a number that is none', () => {
  assert.throws(
    () => readOptions(defaults, undefined, ['--nothing']),
    /--nothing[^]*--rounds 5 --only … --engine both --keep --json --report$/,
  )
  for (const words of [['--rounds', 'many'], ['--rounds', ''], ['--rounds', '-1'], ['word'], ['--smoke']])
    assert.throws(() => readOptions(defaults, undefined, words), UsageError, words.join(' '))
})

test('what was opened is closed in reverse order, also where a later part cannot be opened or closed', async () => {
  const closed: string[] = []
  const parts = await open(async (defer) => {
    defer(() => closed.push('first'))
    defer(() => Promise.reject(new Error('does not close')))
    defer(() => closed.push('last'))
    return { value: 1 }
  })
  await assert.rejects(parts.close(), /not everything could be closed/)
  assert.deepEqual(closed.splice(0), ['last', 'first'])
  const failing = open(async (defer) => {
    defer(() => closed.push('database'))
    throw new Error('no server')
  })
  await assert.rejects(failing, /no server/)
  await assert.rejects(
    closingAfter(async (defer) => {
      defer(() => closed.push('work'))
      throw new Error('a fault')
    }),
    /a fault/,
  )
  assert.deepEqual(closed, ['database', 'work'])
})

test('sides take turns, and each is first as often as the others', async () => {
  const order: string[] = []
  const side = (name: string) => async (round: number) => {
    order.push(name)
    return round
  }
  const rounds = await inTurns(3, { a: side('a'), b: side('b'), c: side('c') })
  assert.equal(order.join(''), 'abcbcacab')
  assert.deepEqual(
    rounds.map(({ a, b, c }) => [a, b, c]),
    [
      [0, 0, 0],
      [1, 1, 1],
      [2, 2, 2],
    ],
  )
  assert.deepEqual(mediansOf([{ ms: 3 }, { ms: 1 }, { ms: 2 }]), { ms: 2 })
})

/** A program of its own process, which starts another process that ends by itself never. */
const startProgram = (run: string, program = '') => {
  const driver = new URL('program.ts', import.meta.url).href
  const code = `
    import { spawn } from 'node:child_process'
    import { runProgram, step } from '${driver}'
    import { makeFolder, closingAfter } from '${new URL('closing.ts', import.meta.url).href}'
    const wait = () => new Promise(() => undefined)
    const begin = (defer) => {
      const folder = makeFolder('driver-test', defer)
      const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
      console.log(JSON.stringify({ folder, pid: child.pid }))
      step('the answer of nobody')
    }
    await runProgram({ command: 'battery -- test', title: 'A test', about: '', options: {}, minutes: () => 5,
      run: () => closingAfter(async (defer) => { begin(defer); ${run} }), ${program} }, ['--json'])`
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exited = once(child, 'exit')
  const errors = text(child.stderr)
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const nextLine = async (): Promise<string> => String((await lines.next()).value)
  const end = async () => {
    const [exitCode] = (await exited) as [number | null]
    return { exitCode, errors: await errors }
  }
  return { child, nextLine, end }
}
type StartedProcess = { readonly folder: string; readonly pid: number }

const endCases: readonly (readonly [
  what: string,
  run: string,
  program: string,
  signal: boolean,
  code: number,
])[] = [
  ['a signal', 'await wait()', '', true, 130],
  ['its deadline', 'await wait()', 'minutes: () => 0.001', false, 2],
  ['an error', "throw new Error('a fault of the product')", '', false, 1],
  ['a fault', "return { figures: {}, tables: [], faults: ['lost: 1'] }", '', false, 1],
  ['success', 'return { figures: {}, tables: [] }', '', false, 0],
]
for (const [what, run, program, isSignal, code] of endCases)
  test(`a program that is ended by ${what} leaves no process and no folder, and says so by its code`, async () => {
    const { child, nextLine, end } = startProgram(run, program)
    const { folder, pid } = JSON.parse(await nextLine()) as StartedProcess
    if (isSignal) child.kill('SIGINT')
    const { exitCode, errors } = await end()
    assert.equal(exitCode, code, errors)
    assert.match(errors, /the answer of nobody/)
    assert.equal(existsSync(folder), false)
    assert.equal(isRunning(pid), false)
  })

test('a program that cannot run says why and ends with 2', async () => {
  const { end } = startProgram('return { figures: {}, tables: [] }', "missing: () => 'no chain here'")
  const { exitCode, errors } = await end()
  assert.equal(exitCode, 2)
  assert.match(errors, /battery -- test cannot run here: no chain here/)
})

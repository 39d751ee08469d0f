import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeThread, ThreadTaskError } from './thread.ts'

type Order = { readonly order: 'echo' | 'throw' | 'exit' | 'hang'; readonly value?: unknown }
type Echo = { readonly value: unknown; readonly isMainThread: boolean; readonly variables: number }
const program = new URL('../../../test/fixtures/threads/test-thread.ts', import.meta.url)
type Options = Partial<Omit<Parameters<typeof makeThread>[0], 'fullError'>>
const open = (options: Options = {}) =>
  makeThread<Order, Echo>({
    program,
    waitingMax: 100,
    silentMsMax: 60_000,
    fullError: () => new Error('full'),
    ...options,
  })
const echo = (value: unknown): Order => ({ order: 'echo', value })

test('calls are answered off the main thread, without the environment of the process', async () => {
  const { run } = open()
  const answers = await Promise.all([1, 2, 3].map((value) => run(echo(value))))
  assert.deepEqual(
    answers,
    [1, 2, 3].map((value) => ({ value, isMainThread: false, variables: 0 })),
  )
})

test('an input that the program fails on rejects its own call alone', async () => {
  const { run } = open()
  const [first, failed, last] = await Promise.allSettled([
    run(echo(1)),
    run({ order: 'throw' }),
    run(echo(2)),
  ])
  assert.deepEqual([first.status, last.status], ['fulfilled', 'fulfilled'])
  assert.ok(failed.status === 'rejected' && failed.reason instanceof ThreadTaskError)
  assert.match(failed.reason.message, /planted/)
})

test('a thread that ends rejects what waits, which may succeed later, and the next call starts another', async () => {
  const { run } = open()
  const results = await Promise.allSettled([run({ order: 'exit' }), run(echo(1))])
  for (const result of results) {
    assert.ok(result.status === 'rejected')
    assert.ok(!(result.reason instanceof ThreadTaskError), 'no input is blamed for it')
  }
  assert.equal((await run(echo(2))).value, 2)
})

test('a thread that answers nothing is ended', async () => {
  const { run } = open({ silentMsMax: 2_000 })
  await assert.rejects(run({ order: 'hang' }), /answered nothing for 2000 ms/)
})

test('a program may take longer to load than to answer, within a limit of its own', async () => {
  const slow = new URL('../../../test/fixtures/threads/slow-thread.ts', import.meta.url)
  const { run } = open({ program: slow, silentMsMax: 500 })
  assert.equal((await run(echo(1))).value, 1)
  const limited = open({ program: slow, loadMsMax: 100 })
  await assert.rejects(limited.run(echo(1)), /did not load for 100 ms/)
})

test('a call beyond the limit of waiting calls is rejected at once', async () => {
  const { run } = open({ waitingMax: 2 })
  const waiting = [run(echo(1)), run(echo(2))]
  await assert.rejects(run(echo(3)), /full/)
  assert.equal((await Promise.all(waiting)).length, 2)
  assert.equal((await run(echo(4))).value, 4)
})

import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test, type TestContext } from 'node:test'
import { startCluster } from '../../dev/cluster.ts'
import { keepLog, waitUntilReady } from '../../dev/child-log.ts'
import { makeSteps, type Progress } from '../../dev/steps.ts'
import { pollUntil } from '../fixtures/polling.ts'

/** A server that answers 503 until a line comes in, and writes a line to each output. */
const lateServer = `
  const { createServer } = require('node:http')
  let isReady = false
  process.stdin.on('data', () => { isReady = true; console.log('a line after the start') })
  console.log('a line of the log')
  console.error('a line of the errors')
  const server = createServer((request, response) => {
    response.statusCode = isReady ? 200 : 503
    response.end(isReady ? 'ready' : 'not ready: the signer check failed\\n')
  })
  server.listen(0, '127.0.0.1', () => console.log('port ' + server.address().port))`

const startChild = (t: TestContext, script: string): ChildProcess => {
  const child = spawn(process.execPath, ['-e', script], { stdio: ['pipe', 'pipe', 'pipe'] })
  t.after(() => child.kill('SIGKILL'))
  return child
}

/** What the step would show. */
const recordProgress = () => {
  const [states, first]: [string[], (() => void)[]] = [[], []]
  const progress: Progress = {
    describe: (state) => states.push(state),
    beforeLine: (show) => first.push(show),
  }
  return { states, progress, showLine: () => first.forEach((show) => show()) }
}

const portOf = async (child: ChildProcess): Promise<number> => {
  assert.ok(child.stdout)
  for await (const line of createInterface({ input: child.stdout })) {
    const [, port] = /^port (\d+)$/.exec(line) ?? []
    if (port !== undefined) return Number(port)
  }
  throw new Error('the child named no port')
}

test('a server that takes its time is waited for, and its state and log are shown meanwhile', async (t) => {
  const child = startChild(t, lateServer)
  const shown: string[] = []
  const log = keepLog(child, { streams: ['stdout', 'stderr'], show: ({ text }) => shown.push(text) })
  const { states, progress, showLine } = recordProgress()
  const port = await portOf(child)
  let isReady = false
  const waiting = waitUntilReady(`http://127.0.0.1:${port}/readyz`, child, { log, progress }).then(() => {
    isReady = true
  })
  await pollUntil('three answers that it is not ready', async () => states.length >= 3)
  assert.equal(states.at(-1), '/readyz answers 503: not ready: the signer check failed')
  assert.equal(isReady, false)
  assert.equal(shown.length, 0, 'the line of progress is not broken')
  await pollUntil('the lines of both outputs', async () => {
    showLine()
    return shown.includes('a line of the log') && shown.includes('a line of the errors')
  })
  child.stdin?.write('ready\n')
  await waiting
  await pollUntil('a line after the start', async () => shown.includes('a line after the start'))
})

for (const [name, script, end] of [
  ['exits', "console.log('working'); console.error('Error: no keys'); process.exitCode = 3", 'exit code 3'],
  [
    'is killed',
    "console.log('working'); console.error('Error: no keys'); process.kill(process.pid, 'SIGKILL')",
    'SIGKILL',
  ],
] as const)
  test(`a server that ${name} at start is reported at once with the last lines of its log`, async (t) => {
    const child = startChild(t, script)
    const log = keepLog(child, { streams: ['stdout', 'stderr'], show: () => undefined })
    const { progress } = recordProgress()
    // Nothing listens there.
    await assert.rejects(waitUntilReady('http://127.0.0.1:1/readyz', child, { log, progress }), (error) => {
      assert.ok(error instanceof Error)
      assert.match(error.message, new RegExp(`the server ended with ${end} before it was ready`))
      assert.match(error.message, /The last lines that it wrote:\n\n(?:.*\n)* {2}Error: no keys\n/)
      return true
    })
  })

test('a log is kept to its last lines, and a child that wrote nothing is said to have', async (t) => {
  const talker = startChild(t, 'for (let n = 1; n <= 100; n++) console.log(`line ${n}`)')
  const log = keepLog(talker, { streams: ['stdout'], show: () => undefined })
  await once(talker, 'close')
  const kept = await log.readEnd()
  assert.match(kept, /line 71\n/)
  assert.match(kept, /line 100\n$/)
  assert.doesNotMatch(kept, /line 70\n/)
  const silent = startChild(t, '')
  assert.equal(
    await keepLog(silent, { streams: ['stdout'], show: () => undefined }).readEnd(),
    'It wrote nothing.',
  )
})

for (const isTTY of [false, true])
  test(`a step shows that it goes on ${isTTY ? 'in one line of a terminal' : 'in lines of a file'}`, async () => {
    let written = ''
    const step = makeSteps({ isTTY, columns: 60, write: (text) => (written += text) }, { everyMs: 1 })
    const work = Promise.withResolvers<void>()
    const done = step('server', async ({ describe }) => {
      describe(`waits for ${'x'.repeat(80)}`)
      await work.promise
    })
    await pollUntil('a line of progress', async () => written.includes('waits for'))
    work.resolve()
    await done
    const lines = written.split(isTTY ? '\r\u001b[K' : '\n')
    assert.match(written, / {2}✓ server \(\d+\.\d s\)\n$/)
    assert.match(written, /… server \(\d+ s, waits for x+/)
    if (isTTY)
      assert.ok(
        lines.every((line) => line.length < 60),
        'no line wraps',
      )
    await assert.rejects(
      step('pages', () => Promise.reject(new Error('no'))),
      /^Error: no$/,
    )
    assert.match(written, / {2}✗ pages \(\d+\.\d s\)\n$/)
  })

test('PostgreSQL that stops at start is reported with the last lines of its log', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'pohf-dev-wait-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const cluster = await startCluster({ folder })
  await cluster.stop()
  writeFileSync(join(folder, 'data/postgresql.conf'), 'no_such_setting = on\n')
  await assert.rejects(
    startCluster({ folder, port: cluster.port }),
    /PostgreSQL stopped at start\. The last lines of its log:\n\n(?:.*\n)*.*no_such_setting/,
  )
})

import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../dev/cluster.ts'
import { makeDatabase } from '../fixtures/harness.ts'
import { pollUntil } from '../fixtures/polling.ts'
import { childrenOf, startMain } from '../fixtures/processes/child-processes.ts'
import { waitForExit } from '../fixtures/processes/restarts.ts'

const folder = mkdtempSync(join(tmpdir(), 'pohf-log-'))
const { url: databaseUrl, drop } = await makeDatabase()
/** One deployment: the database knows its master key. */
const dataDir = mkdtempSync(join(folder, 'data-'))
const running: ChildProcess[] = []
/** Processes start slowly on a busy machine. */
const startMs = 120_000
after(async () => {
  for (const child of running) {
    child.kill('SIGTERM')
    await waitForExit(child)
  }
  await drop()
  rmSync(folder, { recursive: true, force: true })
})

const prepare = async () => {
  const [port, operatorPort] = [await freePort(), await freePort()]
  const environment = {
    DATABASE_URL: databaseUrl,
    DATA_DIR: dataDir,
    PORT: String(port),
    OPERATOR_PORT: String(operatorPort),
  }
  const [url, operatorUrl] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${operatorPort}`]
  const isReady = () =>
    fetch(`${url}/readyz`).then(
      (response) => response.ok,
      () => false,
    )
  return { environment, url, operatorUrl, isReady }
}

test('with its log on a full disk, every process starts, serves and stops', async () => {
  const { environment, url, isReady } = await prepare()
  const full = openSync('/dev/full', 'w')
  const server = startMain([], environment, { output: full })
  running.push(server.child)
  await pollUntil('ready', isReady, startMs)
  const pids = childrenOf(server.pid).map(({ pid }) => pid)
  assert.equal(pids.length, 3)
  // Each request writes a line.
  for (let request = 0; request < 20; request++) assert.equal((await fetch(`${url}/livez`)).status, 200)
  assert.deepEqual(
    childrenOf(server.pid).map(({ pid }) => pid),
    pids,
    'no process was replaced',
  )
  server.child.kill('SIGTERM')
  assert.equal(await server.exited, 0)
  closeSync(full)
})

test('lines that could not be written are counted, and reported when the log can be written again', async () => {
  const { environment, url, operatorUrl } = await prepare()
  const file = join(folder, 'api.log')
  const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
  // No file of this process may exceed 8 KB: a write beyond fails, as on a full disk, until the file is cut.
  const command = `trap '' XFSZ; ulimit -f 16; exec "$0" "$1" api >>"$2"`
  const child = spawn('/bin/sh', ['-c', command, process.execPath, main, file], {
    env: { PATH: process.env['PATH'] ?? '', ...environment },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  running.push(child)
  const dropped = async () => {
    const metrics = await (await fetch(`${operatorUrl}/metrics`)).text()
    return Number(/^pohf_log_lines_dropped_total (\d+)$/m.exec(metrics)?.[1])
  }
  const ask = async () => (await (await fetch(`${url}/livez`)).text()) === 'alive\n'
  await pollUntil('it listens', () => ask().catch(() => false), startMs)
  await pollUntil('lines are dropped', async () => (await ask()) && (await dropped()) > 0)
  const count = await dropped()
  assert.ok(!readFileSync(file, 'utf8').includes('log lines were dropped'))

  truncateSync(file)
  assert.ok(await ask())
  const lines = await pollUntil('it is reported', async () => {
    const text = readFileSync(file, 'utf8')
    return text.includes('request completed') && text.split('\n').filter((line) => line !== '')
  })
  const report = JSON.parse(lines[0] ?? '') as { level: number; lines: number; msg: string }
  assert.deepEqual([report.level, report.msg], [40, 'log lines were dropped'])
  assert.ok(report.lines >= count, `${report.lines} of ${count}`)
  for (const line of lines) JSON.parse(line)
})

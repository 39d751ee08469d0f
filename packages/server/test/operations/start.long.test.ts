import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { Agent, request as httpRequest } from 'node:http'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Client } from 'pg'
import { freePort } from '../../dev/cluster.ts'
import {
  childrenOf,
  isAlive,
  pollUntilStarted,
  startMain,
  type RunningProcess,
} from '../fixtures/processes/child-processes.ts'
import { makeDatabase } from '../fixtures/harness.ts'
import { pollUntil } from '../fixtures/polling.ts'

const folder = mkdtempSync(join(tmpdir(), 'pohf-start-'))
const cleanups: (() => Promise<void>)[] = []
after(async () => {
  for (const end of cleanups) await end()
  rmSync(folder, { recursive: true, force: true })
})

/** Stands where the database should be, and counts who comes. */
let knocks = 0
const canary = createServer((socket) => {
  knocks += 1
  socket.destroy()
})
await new Promise<void>((resolve) => canary.listen(0, '127.0.0.1', resolve))
after(() => canary.close())
const canaryAddress = canary.address()
const canaryPort = canaryAddress !== null && typeof canaryAddress === 'object' ? canaryAddress.port : 0
const canaryUrl = `postgres://pohf@127.0.0.1:${canaryPort}/pohf`

test('a start names every fault of its settings, before it touches the database or the disk', async () => {
  const DATA_DIR = join(folder, 'never')
  const faulty = { DATA_DIR, PORT: 'abc', HOST: '', LOG_LEVEL: 'loud' }
  const whole = startMain([], { ...faulty, DATABASE_URL: canaryUrl })
  const role = startMain(['operator', 'create', 'Ada'], { ...faulty, DATABASE_URL: canaryUrl })
  const homeless = startMain([], faulty)
  for (const run of [whole, role, homeless]) {
    assert.equal(await run.exited, 1)
    assert.match(run.errors(), /^The configuration has \d faults:\n/)
    for (const name of ['PORT', 'LOG_LEVEL']) assert.match(run.errors(), new RegExp(`^ {2}- ${name} `, 'm'))
    assert.doesNotMatch(run.errors(), /HOST|node_modules/)
    assert.equal(run.out(), '')
  }
  assert.match(homeless.errors(), /^ {2}- DATABASE_URL is required$/m)
  assert.equal(knocks, 0)
  assert.equal(existsSync(DATA_DIR), false)
})

test('a database that does not answer ends the start with its reason', async () => {
  const run = startMain([], { DATABASE_URL: canaryUrl, DATA_DIR: join(folder, 'unreached') })
  assert.equal(await run.exited, 1)
  assert.ok(knocks > 0, 'the canary hears')
  assert.match(run.errors(), /Connection terminated|ECONNRESET/)
})

type StartedServer = {
  run: RunningProcess
  url: string
  operatorUrl: string
  dataDir: string
  databaseUrl: string
}
/** `npm start` on an empty database, until it is ready. */
const start = async (): Promise<StartedServer> => {
  const { url: databaseUrl, drop } = await makeDatabase('template1')
  const [port, operatorPort] = [await freePort(), await freePort()]
  const dataDir = mkdtempSync(join(folder, 'data-'))
  const run = startMain([], {
    DATABASE_URL: databaseUrl,
    DATA_DIR: dataDir,
    PORT: String(port),
    OPERATOR_PORT: String(operatorPort),
  })
  cleanups.push(async () => {
    if (run.child.exitCode === null && run.child.signalCode === null) run.child.kill('SIGTERM')
    await run.exited
    await drop()
  })
  const started = {
    run,
    url: `http://127.0.0.1:${port}`,
    operatorUrl: `http://127.0.0.1:${operatorPort}`,
    dataDir,
    databaseUrl,
  }
  await pollUntilStarted('ready', run, () => isReady(started))
  return started
}
const statusOf = (url: string) =>
  // The body is read to its end: a connection that closes while it waits to be read fails the whole process.
  fetch(url, { headers: { connection: 'close' } }).then(
    async (response) => (await response.arrayBuffer(), response.status),
    () => 0,
  )
const isReady = async ({ url }: { url: string }) => (await statusOf(`${url}/readyz`)) === 200
const pidOf = (started: StartedServer, role: string) =>
  childrenOf(started.run.pid).find((child) => child.role === role)?.pid

let server: StartedServer

test('a start from nothing migrates, makes its secret for the owner alone, and answers on both ports', async () => {
  server = await start()
  assert.deepEqual(readdirSync(server.dataDir), ['keys', 'manifests', 'master.key', 'signer.sock'])
  assert.equal(statSync(join(server.dataDir, 'master.key')).mode & 0o777, 0o600)
  assert.equal(await statusOf(`${server.operatorUrl}/readyz`), 200)
  assert.equal(await statusOf(`${server.url}/openapi.json`), 200)
  assert.match(server.run.out(), /database migrations applied/)
  assert.match(server.run.out(), /no mail server is configured/)
  assert.match(server.run.out(), /card payments are off/)
  await pollUntilStarted(
    'every role runs',
    server.run,
    async () => pidOf(server, 'api') !== undefined && pidOf(server, 'worker') !== undefined,
  )
})

test('the api comes back after it was killed, and the worker is left alone', async () => {
  const before = { api: pidOf(server, 'api'), worker: pidOf(server, 'worker') }
  assert.ok(before.api !== undefined && before.worker !== undefined)
  process.kill(before.api, 'SIGKILL')
  await pollUntilStarted('a successor', server.run, async () => {
    const pid = pidOf(server, 'api')
    return pid !== undefined && pid !== before.api
  })
  await pollUntilStarted('ready again', server.run, () => isReady(server))
  assert.equal(pidOf(server, 'worker'), before.worker)
  const exits = server.run
    .out()
    .split('\n')
    .filter((line) => line.includes('child process exited'))
    .map((line) => JSON.parse(line) as { role: string; pid: number; signal: string })
  assert.deepEqual(
    exits.map(({ role, pid, signal }) => [role, pid, signal]),
    [['api', before.api, 'SIGKILL']],
  )
})

/** A registration whose body is held back: the server has begun it, and cannot finish until it is let go. */
const beginRegistration = async (url: string, agent: Agent) => {
  const body = JSON.stringify({ name: 'Last', contactEmail: 'last@example.com' })
  const headers = { 'content-length': body.length, expect: '100-continue' }
  const request = httpRequest(`${url}/api/agents/register`, { method: 'POST', headers, agent })
  const answer = new Promise<{ status: number; text: string }>((resolve, reject) => {
    request.on('error', reject).on('response', (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
    })
  })
  request.flushHeaders()
  await new Promise((resolve) => request.once('continue', resolve))
  return { letGo: () => (request.end(body), answer) }
}

test('told to stop, it finishes the request in flight, takes no more, and ends with every child in time', async () => {
  const pids = [pidOf(server, 'signer'), pidOf(server, 'api'), pidOf(server, 'worker')]
  assert.ok(pids.every((pid) => pid !== undefined))
  // Clients that keep their connections open must not hold the stop up, neither the idle nor the busy one.
  const idle = new Agent({ keepAlive: true })
  const busy = new Agent({ keepAlive: true })
  await new Promise<void>((resolve, reject) => {
    httpRequest(`${server.url}/livez`, { agent: idle }, (response) => response.resume().on('end', resolve))
      .on('error', reject)
      .end()
  })
  const inFlight = await beginRegistration(server.url, busy)
  server.run.child.kill('SIGTERM')
  await pollUntil('it takes no more', async () => (await statusOf(`${server.url}/livez`)) === 0)
  const { status, text } = await inFlight.letGo()
  assert.equal(status, 200, text)
  assert.equal(await server.run.exited, 0)
  // Whatever holds a stop up is ended after a time, with this line.
  assert.doesNotMatch(server.run.out(), /stop took too long/)
  for (const pid of pids) assert.equal(isAlive(pid ?? 0), false)
  for (const agent of [idle, busy]) agent.destroy()
  const owner = new Client({ connectionString: server.databaseUrl })
  await owner.connect()
  const { rows } = await owner.query("select agent_id from agents where name <> 'House'")
  await owner.end()
  assert.deepEqual(rows, [{ agent_id: (JSON.parse(text) as { agentId: string }).agentId }])
})

test('children of a supervisor that was killed end by themselves', async (t) => {
  const orphaned = await start()
  await pollUntilStarted(
    'every role runs',
    orphaned.run,
    async () => childrenOf(orphaned.run.pid).length === 3,
  )
  const pids = childrenOf(orphaned.run.pid).map((child) => child.pid)
  t.after(() => pids.filter(isAlive).forEach((pid) => process.kill(pid, 'SIGKILL')))
  orphaned.run.child.kill('SIGKILL')
  await pollUntil('they have gone', async () => !pids.some(isAlive))
  assert.equal(await statusOf(`${orphaned.url}/livez`), 0)
})

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { freePort } from '../../dev/cluster.ts'
import { makeDatabase } from '../fixtures/harness.ts'
import { pollUntil } from '../fixtures/polling.ts'
import { startMain, type RunningProcess } from '../fixtures/processes/child-processes.ts'

const folder = mkdtempSync(join(tmpdir(), 'pohf-stop-'))
const { url: databaseUrl, drop } = await makeDatabase()
/** Processes start slowly on a busy machine. */
const startMs = 120_000
const running: RunningProcess[] = []
after(async () => {
  for (const { child, exited } of running) {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
    await exited
  }
  await drop()
  rmSync(folder, { recursive: true, force: true })
})

/** Processes of one deployment, with these settings; each role is started on its own. */
const prepare = async (settings: Record<string, string> = {}) => {
  const port = await freePort()
  const environment = {
    DATABASE_URL: databaseUrl,
    // The database knows the keys of one deployment, so all processes share their folder.
    DATA_DIR: join(folder, 'data'),
    PORT: String(port),
    OPERATOR_PORT: String(await freePort()),
    KEY_LIMIT_PER_MINUTE: '10000000',
    ...settings,
  }
  const url = `http://127.0.0.1:${port}`
  const start = (...roles: string[]): RunningProcess => {
    const run = startMain(roles, environment, { detached: true })
    running.push(run)
    return run
  }
  const waitUntilReady = () =>
    pollUntil('ready', async () => (await call(url, '/readyz')).status === 200, startMs)
  return { url, start, waitUntilReady }
}

type Answer = { readonly status: number | string; readonly text: string; readonly closes: boolean }
type CallOptions = { readonly agent?: Agent; readonly key?: string; readonly body?: object }

/** One request; the status, or the code of the fault of its connection. */
const call = (url: string, path: string, { agent, key, body }: CallOptions = {}): Promise<Answer> =>
  new Promise((resolve) => {
    const text = body && JSON.stringify(body)
    const headers = {
      ...(text === undefined ? {} : { 'content-type': 'application/json', 'content-length': text.length }),
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    }
    const method = text === undefined ? 'GET' : 'POST'
    const fail = (error: Error & { code?: string }) =>
      resolve({ status: error.code ?? error.message, text: '', closes: true })
    httpRequest(`${url}${path}`, { method, headers, ...(agent ? { agent } : {}) }, (response) => {
      let received = ''
      response.setEncoding('utf8').on('data', (chunk: string) => (received += chunk))
      response.on('error', fail).on('end', () => {
        const closes = response.headers.connection === 'close'
        resolve({ status: response.statusCode ?? 0, text: received, closes })
      })
    })
      .on('error', fail)
      .end(text)
  })

const registerAgent = async (url: string): Promise<string> => {
  const body = { name: 'Test', contactEmail: 'dev@example.com', mode: 'test' }
  const { text } = await call(url, '/api/agents/register', { body })
  return (JSON.parse(text) as { apiKey: string }).apiKey
}

const clientCount = 8
/** Clients with kept-alive connections that verify until they are told to end, as by a load balancer that saw /readyz. */
const startLoad = (url: string, key: string) => {
  const answers: Answer[] = []
  const load = { answers, ending: false }
  const clients = Array.from({ length: clientCount }, async (_, client) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    for (let count = 0; !load.ending; count++) {
      const body = { sessionId: `load-${client}-${count}` }
      answers.push(await call(url, '/api/agents/verify', { agent, key, body }))
    }
    agent.destroy()
  })
  const end = async () => {
    load.ending = true
    await Promise.all(clients)
    return answers.filter(({ status }) => status !== 200)
  }
  return { answers, end }
}

/** Waits for the answer to a call that began after so many answers: each client had at most one call under way. */
const untilAnswered = ({ answers }: { readonly answers: readonly Answer[] }, before: number) =>
  pollUntil('calls are answered while it drains', async () => answers.length > before + clientCount)

/** A request whose body is held back, so that it is under way until it is let go. */
const holdRequest = async (url: string) => {
  const request = httpRequest(`${url}/api/agents/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'content-length': 100, expect: '100-continue' },
  })
  request.on('error', () => undefined).flushHeaders()
  await new Promise((resolve) => request.once('continue', resolve))
  return () => request.destroy()
}

test('a whole process group that is signalled under load drains first, and no call fails', async () => {
  const { url, start, waitUntilReady } = await prepare({ DRAIN_SECONDS: '3' })
  const server = start()
  await waitUntilReady()
  const load = startLoad(url, await registerAgent(url))
  await pollUntil('calls are answered', async () => load.answers.length > 50)

  // As Ctrl+C in a terminal does: supervisor and children get the signal together.
  process.kill(-server.pid, 'SIGINT')
  await pollUntil('readiness is off', async () => (await call(url, '/readyz')).text === 'stopping\n')
  const before = load.answers.length
  const draining = await call(url, '/livez', { agent: new Agent({ keepAlive: true }) })
  assert.deepEqual([draining.status, draining.closes], [200, true])
  await untilAnswered(load, before)
  assert.deepEqual(await load.end(), [])
  assert.equal(await server.exited, 0)
  const stopped = [...server.out().matchAll(/"role":"(\w+)","msg":"child process stopped"/g)]
  assert.deepEqual(
    stopped.map(([, role]) => role),
    ['api', 'worker', 'signer'],
  )
})

test('api and signer that run apart and are told to stop together answer every call', async () => {
  const { url, start, waitUntilReady } = await prepare({ DRAIN_SECONDS: '3' })
  const [signer, api] = [start('signer'), start('api')]
  await waitUntilReady()
  const load = startLoad(url, await registerAgent(url))
  await pollUntil('calls are answered', async () => load.answers.length > 50)
  for (const { child } of [signer, api]) child.kill('SIGTERM')
  await pollUntil('readiness is off', async () => (await call(url, '/readyz')).text === 'stopping\n')
  const before = load.answers.length
  await untilAnswered(load, before)
  assert.deepEqual(await load.end(), [])
  assert.deepEqual(await Promise.all([signer.exited, api.exited]), [0, 0])
})

test('a stop that takes longer than its limit ends with a line in the log', async () => {
  const { url, start, waitUntilReady } = await prepare({ STOP_SECONDS: '1' })
  const [signer, api] = [start('signer'), start('api')]
  await waitUntilReady()
  const release = await holdRequest(url)
  api.child.kill('SIGTERM')
  assert.equal(await api.exited, 1)
  assert.match(
    api.out(),
    /"limitSeconds":1,"msg":"stop took too long; the process ends with work unfinished"/,
  )
  release()
  signer.child.kill('SIGTERM')
  assert.equal(await signer.exited, 0)
})

test('a second signal ends every process at once; one that npm repeats does not', async () => {
  const { url, start, waitUntilReady } = await prepare({ STOP_SECONDS: '60' })
  const server = start()
  await waitUntilReady()
  const release = await holdRequest(url)
  for (let times = 0; times < 2; times++) server.child.kill('SIGINT')
  await setTimeout(700)
  assert.equal(server.child.exitCode, null, 'it waits for the request under way')
  server.child.kill('SIGINT')
  assert.equal(await server.exited, 1)
  release()
  assert.equal((await call(url, '/livez')).status, 'ECONNREFUSED')
})

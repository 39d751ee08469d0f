import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { freePort } from '../../dev/cluster.ts'
import { makeDatabase } from '../fixtures/harness.ts'
import { pollUntil } from '../fixtures/polling.ts'
import { callOver } from '../fixtures/processes/attacked-server.ts'
import { startMain, type RunningProcess } from '../fixtures/processes/child-processes.ts'
import { respondWith, startReceiver } from '../fixtures/webhook-receiver.ts'

const folder = mkdtempSync(join(tmpdir(), 'pohf-request-ids-'))
const { url: databaseUrl, drop } = await makeDatabase()
const receiver = await startReceiver()
const port = await freePort()
// Without traces: the ids must not depend on them.
const environment = {
  DATABASE_URL: databaseUrl,
  DATA_DIR: folder,
  PORT: String(port),
  OPERATOR_PORT: String(await freePort()),
}
const start = (role: string): RunningProcess => startMain([role], environment)
const stop = async (run: RunningProcess): Promise<void> => {
  run.child.kill('SIGTERM')
  await run.exited
}
let signer = start('signer')
const api = start('api')
const worker = start('worker')
after(async () => {
  for (const run of [api, worker, signer]) await stop(run)
  await drop()
  rmSync(folder, { recursive: true, force: true })
})

type LogLine = { readonly msg: string; readonly [field: string]: unknown }
const linesOf = (run: RunningProcess, message: string): LogLine[] =>
  run
    .out()
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as LogLine)
    .filter(({ msg }) => msg === message)
const failedDeliveries = () => linesOf(worker, 'webhook delivery failed')
const failedSignings = () => linesOf(signer, 'signer request failed')
const completedLineOf = (requestId: string) =>
  pollUntil(
    `the line of ${requestId}`,
    async () => linesOf(api, 'request completed').find((line) => line['requestId'] === requestId) ?? false,
  )

const call = callOver(`http://127.0.0.1:${port}`)
const isReady = () =>
  call('GET', '/readyz').then(
    ({ status }) => status === 200,
    () => false,
  )
await pollUntil('ready', isReady, 120_000)
const { json: agent } = await call('POST', '/api/agents/register', {
  body: { name: 'Followed', contactEmail: 'followed@person.example', mode: 'test' },
})
const key: string = agent.apiKey
const verify = (session: string, requestId?: string) =>
  call('POST', '/api/agents/verify', {
    key,
    body: { sessionId: `ses_secret_person_${session}` },
    headers: requestId === undefined ? {} : { 'x-request-id': requestId },
  })
const idOf = (answer: Awaited<ReturnType<typeof verify>>) => String(answer.headers['x-request-id'])

test('each call of a batch names its own event, and the worker logs the delivery under it', async () => {
  await call('POST', '/api/agents/webhooks', {
    key,
    body: { url: receiver.url, events: ['credential.issued'] },
  })
  // The first attempt fails, so that the worker logs it. More failures would hold up the endpoint.
  let attempts = 0
  receiver.respond = (response, received) => respondWith(attempts++ === 0 ? 500 : 204)(response, received)
  const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => verify(String(n))))
  for (const { status, text } of answers) assert.equal(status, 200, text)
  const eventOfCredential = await pollUntil('an event of each call is sent', async () => {
    const sent = new Map(
      receiver.received.map(({ body }) => {
        const { id, data } = JSON.parse(body) as { id: string; data: { credentialId: string } }
        return [data.credentialId, id]
      }),
    )
    return sent.size >= answers.length && sent
  })
  const owners = new Map<unknown, string>()
  for (const answer of answers) {
    const [, claims = ''] = String(answer.json.pohf_jwt).split('.')
    const { jti } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as { jti: string }
    const { outboxIds } = await completedLineOf(idOf(answer))
    assert.ok(Array.isArray(outboxIds))
    assert.ok(outboxIds.includes(eventOfCredential.get(jti)), `${jti} is not in ${outboxIds.join()}`)
    for (const id of outboxIds as unknown[]) {
      assert.equal(owners.get(id), undefined, `${String(id)} is in two lines`)
      owners.set(id, jti)
    }
  }
  const logged = await pollUntil(
    'the worker logs the delivery',
    async () => failedDeliveries().length > 0 && failedDeliveries(),
  )
  for (const { eventId } of logged) assert.ok(owners.has(eventId), `${String(eventId)} is of no call`)
  // A repeat publishes nothing.
  assert.equal((await completedLineOf(idOf(await verify('0'))))['outboxIds'], undefined)
})

test('a signer that refuses to sign names every request of the batch', async () => {
  await stop(signer)
  const file = join(folder, 'keys/database.json')
  const known = JSON.parse(readFileSync(file, 'utf8')) as object
  writeFileSync(file, JSON.stringify({ ...known, timeline: 99 }))
  signer = start('signer')
  await pollUntil('the signer listens', async () => linesOf(signer, 'signer ready').length > 0, 60_000)
  const chosen = Array.from({ length: 20 }, (_, n) => `chosen-by-the-caller-${n}`)
  const answers = await Promise.all(chosen.map((requestId) => verify(requestId, requestId)))
  for (const { status, text } of answers) assert.equal(status, 503, text)
  const named = failedSignings().flatMap((line) => line['requestIds'] ?? line['requestId'] ?? [])
  for (const requestId of chosen) {
    assert.ok(named.includes(requestId), `${requestId} is not in ${JSON.stringify(failedSignings())}`)
    const refused = linesOf(api, 'request refused').find((line) => line['requestId'] === requestId)
    assert.ok(refused, `the api did not log why ${requestId} was refused`)
  }
})

test('what is no request id does not reach the log of the signer', async () => {
  const before = failedSignings().length
  const socket = connect(join(folder, 'signer.sock'))
  const planted = [
    ['spaces and\nlines'],
    ['short'],
    ['x'.repeat(65)],
    [7, null, {}],
    'accepted-id-1',
    { 0: 'accepted-id-2' },
    Array.from({ length: 300 }, (_, n) => `one-of-many-${n}`),
    ['accepted-id-3', 'not accepted'],
  ]
  for (const requestIds of planted) socket.write(`${JSON.stringify({ id: 1, op: 'unknown', requestIds })}\n`)
  const lines = await pollUntil(
    'the signer logs',
    async () => failedSignings().length === before + planted.length && failedSignings().slice(before),
  )
  socket.destroy()
  assert.deepEqual(
    lines.map((line) => line['requestId']),
    [...Array.from({ length: 7 }, () => undefined), 'accepted-id-3'],
  )
  assert.deepEqual(
    lines.map((line) => (line['requestIds'] as unknown[] | undefined)?.length),
    [...Array.from({ length: 6 }, () => undefined), 256, undefined],
  )
})

test('no line of any process names the person, the session or the mail address', () => {
  for (const run of [api, worker, signer]) {
    assert.ok(run.out().length > 100)
    for (const personal of ['ses_secret_person', 'followed@person.example', key])
      assert.ok(!run.out().includes(personal), `${personal} is in ${run.out().slice(0, 5_000)}`)
  }
})

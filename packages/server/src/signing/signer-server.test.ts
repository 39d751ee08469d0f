import assert from 'node:assert/strict'
import { rmSync, statSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { startHarness } from '../../test/fixtures/harness.ts'
import { pollUntil } from '../../test/fixtures/polling.ts'
import { inSingleStatement, readDatabaseIdentity } from '../platform/db/db.ts'
import { readJournal } from './journal.ts'
import { connectSigner } from './signer-client.ts'
import { openConnection } from './transport/signer-connection.ts'
import { validateClaims } from './rules.ts'

const harness = await startHarness()
const { SIGNER_SOCKET: socketPath, KEYS_DIR: keysDir } = harness.ctx.config
const { apiKey: key } = await harness.register('test')
const nowS = Math.floor(Date.now() / 1_000)
const hash = 'h'.repeat(43)
const claims = {
  iss: 'https://pohf.example/test',
  sub: `psu_${'a'.repeat(32)}`,
  jti: 'crd_1',
  iat: nowS,
  exp: nowS + 7 * 86_400,
  vct: 'https://pohf.example/credentials/view',
  kind: 'view',
  agent: 'agt_1',
  verified: true,
  event_at: nowS,
  assurance: 'low',
  evidence: [{ type: 'simulated', alg: 'sha-256', hash }],
  test: true,
  view: { session: 's' },
  status: { status_list: { idx: 1, uri: 'https://pohf.example/status/1' } },
}
const statusList = {
  iss: 'https://pohf.example',
  sub: 'https://pohf.example/status/aa-live-1',
  iat: nowS,
  exp: nowS + 60,
  ttl: 60,
  status_list: { bits: 2, lst: 'eNo' },
}

const onchain = {
  wallet: `0x${'ab'.repeat(20)}`,
  nul: `0x${'cd'.repeat(32)}`,
  iat: 1_800_000_000,
  exp: 1_800_000_000 + 90 * 86_400,
  registry: `0x${'ef'.repeat(20)}`,
  chain: 8_453,
  iss: 'https://pohf.example',
}

const database = await inSingleStatement(harness.ctx, readDatabaseIdentity)
/** Sends to the socket what a compromised api process could send. */
const requestSigner = (
  question: unknown,
): Promise<{ id: number; result?: unknown; error?: string } | 'closed'> =>
  new Promise((resolve) => {
    const socket = connect(socketPath)
    const text =
      typeof question === 'string' ? question : JSON.stringify({ id: 1, database, ...Object(question) })
    createInterface({ input: socket }).once('line', (line) => {
      resolve(JSON.parse(line))
      socket.destroy()
    })
    socket.on('error', () => undefined)
    socket.on('close', () => resolve('closed'))
    socket.write(`${text}\n`)
  })
const act = { key: 'a'.repeat(22), charged: false }
/** A request to sign a batch, as the api sends it. */
const batchOf = (...batch: unknown[]) => ({
  op: 'sign',
  batch: batch.map((one) => ({ claims: one, act })),
})
const signRequest = () => ({
  database,
  batch: [{ claims: validateClaims(claims), act }],
})
const journaled = () => readJournal(join(keysDir, 'journal')).length

test('well-formed claims are signed', async () => {
  const answer = await requestSigner(batchOf(claims))
  assert.ok(answer !== 'closed' && answer.error === undefined, JSON.stringify(answer))
  const { signer, batch, jwts } = answer.result as { signer: string; batch: number; jwts: string[] }
  assert.match(signer, /^sgn_[0-9a-f]{16}$/)
  assert.deepEqual([batch, jwts.length], [1, 1])
})

const signed = async (payload: object) => {
  const answer = await requestSigner({ op: 'sign-typed', typ: 'pohf-onchain+jwt', payload })
  assert.ok(answer !== 'closed' && typeof answer.result === 'string', JSON.stringify(answer))
  const [header = '', body = ''] = answer.result
    .split('.')
    .map((part) => Buffer.from(part, 'base64url').toString('utf8'))
  const { kid, typ } = JSON.parse(header) as { kid: string; typ: string }
  assert.equal(typ, 'pohf-onchain+jwt')
  return { kid, text: body }
}

test('a token for chains begins with its six claims, whatever order they came in, and its test twin with test', async () => {
  const { wallet, nul, iat, exp, registry } = onchain
  const begin = `{"wallet":"${wallet}","nul":"${nul}","iat":${iat},"exp":${exp},"registry":"${registry}",`
  const live = await signed(Object.fromEntries(Object.entries(onchain).toReversed()))
  assert.equal(live.text, `${begin}"chain":8453,"iss":"https://pohf.example"}`)
  const test = await signed({
    ...onchain,
    exp: iat + 7 * 86_400,
    iss: 'https://pohf.example/test',
    test: true,
  })
  assert.ok(test.text.startsWith('{"test":true,"wallet":'), test.text)
  assert.notEqual(test.kid, live.kid)
})

test('an acknowledgement of a batch that was not signed yet is ignored', async () => {
  const acknowledgedBatches = async () => {
    const answer = await requestSigner({ op: 'state' })
    assert.ok(answer !== 'closed')
    return (answer.result as { acknowledged: number[] }).acknowledged
  }
  const before = await acknowledgedBatches()
  await requestSigner({ op: 'acknowledge', acknowledge: [9_000] })
  assert.deepEqual(await acknowledgedBatches(), before)
})

test('the head of a signer that is not admitted is not journaled', async () => {
  const other = { signer: 'sgn_00000000000000ff', sequence: 7, chain: 'c'.repeat(43) }
  const peers = async () => {
    const answer = await requestSigner({ op: 'state' })
    assert.ok(answer !== 'closed')
    return (answer.result as { peers: unknown[] }).peers
  }
  await requestSigner({ op: 'acknowledge', peers: [other] })
  assert.deepEqual(await peers(), [])
})

const refusals: readonly (readonly [string, unknown])[] = [
  ['a claim that is not on the list', batchOf({ ...claims, admin: true })],
  ['a test credential of the live issuer', batchOf({ ...claims, iss: 'https://pohf.example' })],
  ['a live credential of the test issuer', batchOf({ ...claims, test: undefined })],
  ['a longer life than its kind has', batchOf({ ...claims, exp: claims.exp + 1 })],
  ['a kind without its object', batchOf({ ...claims, view: undefined })],
  ['verified: false', batchOf({ ...claims, verified: false })],
  ['bytes in place of claims', batchOf('aGVhZGVy.cGF5bG9hZA')],
  ['one bad one among good ones', batchOf(claims, { ...claims, sub: 'x' })],
  ['no batch', { op: 'sign' }],
  ['claims without their act', { op: 'sign', batch: [{ claims }] }],
  ['an act that can be read', { op: 'sign', batch: [{ claims, act: { ...act, key: 'session ses_1' } }] }],
  ['a jump far ahead', { op: 'advance', batch: 2_000_000_000, position: 0 }],
  ['a list of a stranger as published', { op: 'advance', batch: 0, position: 0, published: ['e30.e30.x'] }],
  ['a batch of 257', batchOf(...Array.from({ length: 257 }, () => claims))],
  ['an unknown type', { op: 'sign-typed', typ: 'JWT', payload: claims }],
  ['a type of the prototype', { op: 'sign-typed', typ: 'constructor', payload: claims }],
  [
    'a status list with more in it',
    { op: 'sign-typed', typ: 'statuslist+jwt', payload: { ...statusList, a: 1 } },
  ],
  ['claims as a status list', { op: 'sign-typed', typ: 'statuslist+jwt', payload: claims }],
  ...(
    [
      ['more in it', { sub: `psu_${'a'.repeat(32)}` }],
      ['a wallet in capitals', { wallet: `0x${'AB'.repeat(20)}` }],
      ['a longer life', { exp: onchain.exp + 1 }],
      ['a time of eleven digits', { iat: 10_000_000_000, exp: 10_000_000_000 + 90 * 86_400 }],
      ['the test issuer', { iss: 'https://pohf.example/test' }],
      ['the word test and the live issuer', { test: true }],
      ['no code of a human', { nul: undefined }],
      ['no registry', { registry: undefined }],
      ['no chain', { chain: undefined }],
    ] as const
  ).map(([name, change]): readonly [string, unknown] => [
    `a token for chains with ${name}`,
    { op: 'sign-typed', typ: 'pohf-onchain+jwt', payload: { ...onchain, ...change } },
  ]),
  ...['rotate', 'revoke', 'admit', 'install', 'export', 'forget', 'import', 'request'].map(
    (op): readonly [string, unknown] => [`${op}, which is for operators`, { op, purpose: 'live' }],
  ),
  [
    'a journal page outside the journal',
    { op: 'journal', span: { from: 0, to: 1, cursor: { file: '../x.log', offset: 0 } } },
  ],
]
for (const [name, question] of refusals) {
  test(`the signer refuses ${name}, and journals nothing`, async () => {
    const before = journaled()
    const answer = await requestSigner(question)
    assert.ok(answer !== 'closed' && answer.error !== undefined && answer.result === undefined)
    assert.equal(journaled(), before)
  })
}

test('a line that is not a request closes its connection and no other', async () => {
  for (const line of ['not json', 'null', '7', '[]', '{}']) assert.equal(await requestSigner(line), 'closed')
  assert.notEqual(await requestSigner({ op: 'exchange' }), 'closed')
})

test('no operation gives out a private part, and the list shows no reference to one', async () => {
  for (const op of ['list', 'exchange']) {
    const text = JSON.stringify(await requestSigner({ op }))
    assert.ok(!text.includes('"d"') && !text.includes('"ref"'), text)
  }
})

test('the socket is for its own user', () => assert.equal(statSync(socketPath).mode & 0o777, 0o600))

test('while the signer is down the api answers 503 overloaded and /readyz says why; both recover by themselves', async () => {
  const signer = connectSigner(harness.ctx)
  await signer.publicKeys()
  const verify = (sessionId: string) =>
    harness.call('POST', '/api/agents/verify', { key, body: { sessionId } })
  assert.equal((await verify('before')).status, 200)
  assert.equal((await harness.call('GET', '/.well-known/jwks.json')).status, 200)
  await harness.stopSigner()
  const refused = await verify('during')
  assert.equal(refused.status, 503)
  assert.equal(refused.json.error, 'overloaded')
  assert.equal(refused.headers['retry-after'], '1')
  const unready = await harness.call('GET', '/readyz')
  assert.deepEqual([unready.status, unready.text], [503, 'not ready: the signer check failed\n'])
  const logged = harness.lines.filter((line) => line.includes('readiness check failed'))
  assert.ok(logged.length === 1 && /"check":"signer".*ENOENT/.test(logged[0] ?? ''), logged.join(''))
  assert.equal((await harness.call('GET', '/livez')).status, 200)
  // Verifiers do not notice: the cached keys are still served.
  assert.equal((await harness.call('GET', '/.well-known/jwks.json')).status, 200)
  await assert.rejects(signer.sign(signRequest()), /does not answer/)

  await harness.startSigner()
  assert.equal((await harness.call('GET', '/readyz')).status, 200)
  assert.equal((await verify('during')).status, 200)
  assert.equal((await signer.sign(signRequest())).jwts.length, 1)
  await signer.close()
})

test('after its socket file is removed the signer listens again, with the same mode, and a new connection is served', async () => {
  const [open, fresh] = [connectSigner(harness.ctx), connectSigner(harness.ctx)]
  await open.selfTest()
  rmSync(socketPath)
  // At once: the signer listens again within half a second.
  const refused = assert.rejects(fresh.selfTest(), /does not answer/)
  await open.selfTest()
  await refused
  await pollUntil('it is served', () =>
    fresh.selfTest().then(
      () => true,
      () => false,
    ),
  )
  assert.equal(statSync(socketPath).mode & 0o777, 0o600)
  await open.selfTest()
  for (const signer of [open, fresh]) await signer.close()
  assert.equal(harness.lines.filter((line) => line.includes('signer listens again')).length, 1)
})

test('a connection that does not answer is given up after its time, and the next request gets a new one', async (t) => {
  const path = join(harness.dataDir, 'silent.sock')
  const connections: Socket[] = []
  const server = createServer((socket) => {
    connections.push(socket)
    // The first connection is accepted and never answered, as by a process that was stopped.
    if (connections.length === 1) return
    socket.on('data', (chunk) => {
      const { id } = JSON.parse(chunk.toString()) as { id: number }
      socket.write(`${JSON.stringify({ id, result: null })}\n`)
    })
  })
  await new Promise<void>((resolve) => server.listen(path, resolve))
  t.after(() => {
    for (const socket of connections) socket.destroy()
    server.close()
  })
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const connection = openConnection({ path }, 5_000)
  const unanswered = assert.rejects(connection.request({ op: 'self-test' }), /does not answer/)
  t.mock.timers.tick(5_000)
  await unanswered
  await connection.request({ op: 'self-test' })
  assert.equal(connections.length, 2)
  connection.close()
})

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test, type TestContext } from 'node:test'
import { decodeProtectedHeader } from 'jose'
import { freePort } from '../../dev/cluster.ts'
import { startHarness } from '../../test/fixtures/harness.ts'
import { pollUntil } from '../../test/fixtures/polling.ts'
import { startSecondSigner } from '../../test/fixtures/processes/second-signer.ts'
import { makeSignerAuthority } from '../../test/fixtures/signer-tls.ts'
import * as operators from '../operators/index.ts'
import { inSingleStatement, readDatabaseIdentity } from '../platform/db/db.ts'
import { readJournal } from './journal.ts'
import { readJws, signJws } from './manifest/jws.ts'
import { generateStatementKey } from './manifest/key-pair.ts'
import { manifestTyp, type Manifest } from './manifest/rules.ts'
import { connectOperatorSocket } from './transport/operator-client.ts'
import { connectSigner, type Signer } from './signer-client.ts'
import { openConnection } from './transport/signer-connection.ts'

const folder = mkdtempSync(join(tmpdir(), 'pohf-two-'))
const authority = await makeSignerAuthority(folder, 'authority')
const port = await freePort()
// The second signer is preferred, so that it is the one that signs until it is killed.
const harness = await startHarness({
  SIGNER_URL: `https://localhost:${port},unix:${join(folder, 'first.sock')}`,
  SIGNER_SOCKET: join(folder, 'first.sock'),
  KEY_LIMIT_PER_MINUTE: '1000000',
  ...(await authority.issue('api.example')),
})
const { ctx } = harness
const { apiKey: key } = await harness.register('test')
const signer = connectSigner(ctx)
const second = await startSecondSigner({
  folder: join(folder, 'second'),
  firstOperatorSocket: ctx.config.SIGNER_OPERATOR_SOCKET,
  environment: { SIGNER_LISTEN: `127.0.0.1:${port}`, ...(await authority.issue('localhost')) },
})
after(async () => {
  await signer.close()
  // Both write until they have ended.
  await second.kill()
  rmSync(folder, { recursive: true, force: true })
})

const kidOf = (jwt: string) => decodeProtectedHeader(jwt).kid ?? ''
const verify = (sessionId: string) => harness.call('POST', '/api/agents/verify', { key, body: { sessionId } })
const readJwks = async () =>
  (await harness.call('GET', '/.well-known/jwks.json')).json.keys as { kid: string }[]
const { admission } = (await second.operators.request({ op: 'show' })) as { admission: { kid: string } }
type Machine = {
  readonly signers: readonly string[]
  readonly admissionKey?: string | undefined
  readonly cell?: string
}
/** An api on another machine: a folder and signers of its own, the same database. */
const connectFrom = (name: string, { signers, admissionKey, cell = ctx.config.CELL }: Machine) => {
  const config = { ...ctx.config, CELL: cell, DATA_DIR: join(folder, name), SIGNER_URL: [...signers] }
  const other = connectSigner({ ...ctx, config: { ...config, ADMISSION_KEY: admissionKey } })
  after(() => other.close())
  return other
}
const firstUrl = `unix:${ctx.config.SIGNER_SOCKET}`
const secondUrl = `unix:${second.socketPath}`
const epoch = { iss: 'https://e.example', iat: 1, code: 'VHH', epoch: '1' }

test('a signer that is not admitted signs nothing that is stored; an admitted one does, over TLS', async () => {
  const before = await verify('before')
  assert.equal(before.status, 200, before.text)
  assert.ok(!(await second.kids()).includes(kidOf(before.json.pohf_jwt)))
  await second.admit(signer)
  // The api under test looks again after five seconds.
  await harness.advance(6_000)
  let sessions = 0
  await pollUntil('the preferred signer signs', async () => {
    const answer = await verify(`over TLS ${++sessions}`)
    assert.equal(answer.status, 200, answer.text)
    return (await second.kids()).includes(kidOf(answer.json.pohf_jwt))
  })
  const published = (await readJwks()).map(({ kid }) => kid)
  assert.ok((await second.kids()).every((kid) => published.includes(kid)))
})

test('without a certificate of the authority there is no connection, in either direction', async () => {
  const stranger = await makeSignerAuthority(folder, 'stranger')
  for (const identity of [await stranger.issue('api.example'), await stranger.issue('localhost')]) {
    const client = connectSigner({
      ...ctx,
      config: { ...ctx.config, ...identity, SIGNER_URL: [`https://localhost:${port}`] },
    })
    await assert.rejects(client.selfTest(), /does not answer/)
    await client.close()
  }
  // The certificate of an api is no certificate of a signer: its name is another.
  const wrongName = connectFrom('wrong-name', { signers: [`https://127.0.0.1:${port}`] })
  await assert.rejects(wrongName.selfTest(), (error: { cause?: { code?: string } }) => {
    assert.equal(error.cause?.code, 'ERR_TLS_CERT_ALTNAME_INVALID')
    return true
  })
})

test('an api does not sign with a signer of another cell', async () => {
  const machine = { signers: [firstUrl], admissionKey: admission.kid }
  const alike = connectFrom('alike', machine)
  await alike.syncManifests()
  assert.ok(await alike.signTyped('vhh-epoch+jwt', epoch))
  const other = connectFrom('other-cell', { ...machine, cell: 'zz' })
  await other.syncManifests()
  await assert.rejects(other.signTyped('vhh-epoch+jwt', epoch), /The signer does not answer/)
})

/** Manifests that follow the present one and hold a key of a stranger, who has no admission key. */
const forgeManifests = (jws: string) => {
  const present = readJws(jws, manifestTyp)
  const manifest = present.payload as Manifest
  const [stranger, added] = [generateStatementKey(), generateStatementKey()]
  const [like = assert.fail()] = manifest.keys
  const keys = [...manifest.keys, { ...like, ...added.point, kid: added.kid }]
  const next = { ...manifest, version: manifest.version + 1, previous: present.hash, keys }
  const inTheNameOf = { ...stranger, kid: present.kid }
  return {
    kid: added.kid,
    manifests: [
      signJws(inTheNameOf, manifestTyp, next),
      signJws(inTheNameOf, manifestTyp, { ...next, admission: stranger.point }),
      signJws(stranger, manifestTyp, { ...next, admission: stranger.point }),
    ],
  }
}

/** Listens as a signer that hands over these manifests, and does nothing else. */
const startForger = async (path: string, manifests: readonly string[]) => {
  const exchange = { signer: 'sgn_0123456789abcdef', admission: admission.kid, version: 99, hash: 'h' }
  const server = createServer((socket) => {
    socket.setEncoding('utf8').on('data', (line: string) => {
      const { id, op } = JSON.parse(line) as { id: number; op: string }
      const answer =
        op === 'exchange' ? { result: { ...exchange, manifests, revocations: [] } } : { error: 'no' }
      socket.write(`${JSON.stringify({ id, ...answer })}\n`)
    })
  })
  await new Promise<void>((resolve) => server.listen(path, resolve))
  return server
}

test('a key in the database or handed to the api is not published', async () => {
  const shown = (await second.operators.request({ op: 'show' })) as { version: number; manifest: string }
  const { kid, manifests } = forgeManifests(shown.manifest)
  const before = await readJwks()
  const forger = await startForger(join(folder, 'forger.sock'), manifests)
  const handed = connectFrom('handed', {
    signers: [`unix:${join(folder, 'forger.sock')}`, firstUrl],
    admissionKey: admission.kid,
  })
  await handed.syncManifests()
  await handed.syncManifests()
  assert.deepEqual(await handed.publicKeys(), before)
  forger.close()
  // A true manifest from before, under a number that is read: a fresh machine has no file of that version.
  const { rows } = await harness.owner.query<{ jws: string }>(
    'select jws from key_manifests order by version limit 1',
  )
  const oldest = rows[0]?.jws ?? assert.fail()
  assert.notEqual(oldest, shown.manifest)
  for (const [index, jws] of [oldest, ...manifests].entries())
    await harness.owner.query('insert into key_manifests (version, jws) values ($1, $2)', [
      shown.version + 1 + index,
      jws,
    ])
  const pinned = connectFrom('pinned', { signers: [firstUrl], admissionKey: admission.kid })
  for (const api of [signer, handed, pinned]) {
    await api.syncManifests()
    await api.syncManifests()
    assert.deepEqual(await api.publicKeys(), before)
  }
  await pinned.selfTest()
  await harness.advance(6_000)
  assert.deepEqual(await readJwks(), before)
  assert.ok(!before.some((jwk) => jwk.kid === kid))
  // An api that met no signer before does not choose between two admission keys.
  await assert.rejects(
    connectFrom('fresh', { signers: [firstUrl] }).selfTest(),
    /has published keys of admission key/,
  )
  // Nor does a signer take them, whoever hands them over.
  const connection = openConnection({ path: second.socketPath }, 5_000)
  for (const jws of manifests)
    await assert.rejects(
      connection.request({ op: 'offer', manifests: [jws], revocations: [] }),
      /admission key|does not verify/,
    )
  await assert.rejects(
    connection.request({ op: 'offer', manifests: [oldest], revocations: [] }),
    /version 1 is older than version/,
  )
  connection.close()
})

const pass = (from: Socket, to: Socket, without: string | undefined): void => {
  from.on('data', (chunk: Buffer) => {
    if (without === undefined || !chunk.includes(without)) to.write(chunk)
  })
}

/** Passes requests on to the second signer, and answers back, where they are not withheld. */
const startProxy = async (
  name: string,
  withheld: { readonly requests?: string; readonly answers?: string },
) => {
  const path = join(folder, name)
  const sockets: Socket[] = []
  const proxy = createServer((client) => {
    const upstream = connect(second.socketPath)
    sockets.push(client, upstream)
    pass(client, upstream, withheld.requests)
    pass(upstream, client, withheld.answers)
    for (const each of [client, upstream]) each.on('error', () => undefined)
  })
  await new Promise<void>((resolve) => proxy.listen(path, resolve))
  return {
    url: `unix:${path}`,
    close: () => {
      for (const socket of sockets) socket.destroy()
      proxy.close()
    },
  }
}

/**
 * Without the admission key, a revocation is passed on by itself. With it, the first signer signs a manifest without the key at
 * once, and that manifest would be enough.
 */
const withoutAdmissionKey = async (work: () => Promise<void>): Promise<void> => {
  const first = connectOperatorSocket(ctx.config.SIGNER_OPERATOR_SOCKET)
  const key = await first.request({ op: 'export' })
  await first.request({ op: 'request', reserve: 2 })
  await first.request({ op: 'forget' })
  try {
    await work()
  } finally {
    await first.request({ op: 'import', key })
  }
}

test('an api discards what a revoked key signed, while its signer has not heard of the revocation', () =>
  withoutAdmissionKey(async () => {
    const proxy = await startProxy('deaf.sock', { requests: '"op":"offer"' })
    const api = connectFrom('deaf', { signers: [proxy.url, firstUrl], admissionKey: admission.kid })
    const epochKid = async () => kidOf(await api.signTyped('vhh-epoch+jwt', epoch))
    const kid = await epochKid()
    assert.ok((await second.kids()).includes(kid))
    await harness.revokeKey(kid)
    await api.syncManifests()
    assert.notEqual(await epochKid(), kid)
    const connection = openConnection({ path: second.socketPath }, 5_000)
    const database = await inSingleStatement(ctx, readDatabaseIdentity)
    const jws = await connection.request({ op: 'sign-typed', typ: 'vhh-epoch+jwt', payload: epoch, database })
    assert.equal(kidOf(String(jws)), kid, 'the signer still signs with it')
    connection.close()
    proxy.close()
  }))

/** Starts the rounds in which a machine exchanges manifests, and returns their interval. The test runs the rounds itself. */
const intervalOfRounds = (t: TestContext, api: Signer): number => {
  const intervals: unknown[] = []
  const { setInterval: set } = globalThis
  const { mock } = t.mock.method(globalThis, 'setInterval', (_: () => void, ms: number) => {
    intervals.push(ms)
    return set(() => undefined, 2 ** 31 - 1)
  })
  api.startManifestSync()
  mock.restore()
  assert.equal(intervals.length, 1)
  return Number(intervals[0])
}

test('a key revoked at one signer signs nowhere and is published nowhere within 5 s', (t) =>
  withoutAdmissionKey(async () => {
    const machines = [
      connectFrom('machine-1', { signers: [firstUrl], admissionKey: admission.kid }),
      connectFrom('machine-2', { signers: [secondUrl], admissionKey: admission.kid }),
    ] as const
    const [, other] = machines
    for (const api of machines) await api.selfTest()
    const epochKid = async () => kidOf(await other.signTyped('vhh-epoch+jwt', epoch))
    const kid = await epochKid()
    assert.ok((await second.kids()).includes(kid))
    await harness.revokeKey(kid)
    // To the database in one round, and from there to the other machine in the next.
    for (let round = 0; round < 2; round++) await Promise.all(machines.map((api) => api.syncManifests()))
    for (const api of machines) assert.ok(2 * intervalOfRounds(t, api) < 5_000)
    const list = (await second.operators.request({ op: 'list' })) as { kid: string; state: string }[]
    assert.equal(list.find((each) => each.kid === kid)?.state, 'revoked')
    for (const api of machines) assert.ok(!(await api.publicKeys()).some((jwk) => jwk.kid === kid))
    assert.notEqual(await epochKid(), kid)
    // The api under test looks again after five seconds.
    await harness.advance(6_000)
    const sets = await Promise.all([...machines, signer].map((api) => api.publicKeys()))
    assert.equal(new Set(sets.map((set) => JSON.stringify(set))).size, 1, 'all apis publish the same')
  }))

test('a primary on an older timeline, and another cluster, get no signature of any kind', async () => {
  const { database } = (await second.operators.request({ op: 'show' })) as {
    database: { system: string; timeline: number }
  }
  for (const path of [second.socketPath, ctx.config.SIGNER_SOCKET]) {
    const connection = openConnection({ path }, 5_000)
    const ask = (position: unknown) =>
      connection.request({ op: 'sign-typed', typ: 'vhh-epoch+jwt', payload: epoch, database: position })
    assert.ok(await ask(database))
    assert.ok(await ask({ ...database, timeline: database.timeline + 1 }))
    await assert.rejects(ask(database), /a former primary/)
    await assert.rejects(ask({ system: '1', timeline: 9 }), /signs for database cluster/)
    await assert.rejects(ask(undefined))
    connection.close()
  }
  // The database of the api is now the one that was left behind.
  const refused = await verify('old timeline')
  assert.deepEqual([refused.status, refused.json.error], [503, 'overloaded'])
  const unready = await harness.call('GET', '/readyz')
  assert.deepEqual([unready.status, unready.text], [503, 'not ready: the signer check failed\n'])
  for (const socket of [second.operators, connectOperatorSocket(ctx.config.SIGNER_OPERATOR_SOCKET)])
    await socket.request({ op: 'accept-database' })
  assert.equal((await verify('old timeline')).status, 200)
})

const journaled = () => readJournal(join(folder, 'second', 'journal')).map(({ id }) => id)

test('a signature whose answer was lost is made again by the other signer, and only that one is stored', async () => {
  const proxy = await startProxy('proxy.sock', { answers: '"jwts"' })
  const client = connectFrom('lost-answers', {
    signers: [proxy.url, firstUrl],
    admissionKey: admission.kid,
  })
  const mint = await verify('to copy')
  const claims = JSON.parse(Buffer.from(mint.json.pohf_jwt.split('.')[1], 'base64url').toString())
  const before = journaled().length
  const { jwts } = await client.sign({
    database: await inSingleStatement(ctx, readDatabaseIdentity),
    batch: [{ claims: { ...claims, jti: 'crd_lost_answer' }, act: { key: 'a'.repeat(22), charged: false } }],
  })
  const [jwt = ''] = jwts
  assert.ok(journaled().length > before && journaled().includes('crd_lost_answer'), 'the first one signed')
  assert.ok(!(await second.kids()).includes(kidOf(jwt)), 'the answer is of the other')
  proxy.close()
})

test('killed under load, one of two signers costs no call, no lost and no double credential', async () => {
  const answered = new Map<string, string>()
  const statuses = new Set<number>()
  const end = new AbortController()
  const client = async (name: number) => {
    for (let n = 0; !end.signal.aborted; n++) {
      const session = `client ${name} session ${n}`
      // One call in five is sent twice at the same time.
      const calls = await Promise.all(Array.from({ length: n % 5 === 0 ? 2 : 1 }, () => verify(session)))
      for (const { status, json } of calls) {
        statuses.add(status)
        if (status !== 200) continue
        const earlier = answered.get(session) ?? json.pohf_jwt
        assert.equal(json.pohf_jwt, earlier, 'one credential for one session')
        answered.set(session, earlier)
      }
    }
  }
  const load = Promise.all(Array.from({ length: 8 }, (_, name) => client(name)))
  const signedBySecond = async () => {
    const kids = new Set(await second.kids())
    const { size } = answered
    return [...answered.values()].slice(-Math.min(size, 20)).some((jwt) => kids.has(kidOf(jwt)))
  }
  for (let kill = 0; kill < 2; kill++) {
    await pollUntil('the second signer signs', signedBySecond)
    await second.kill()
    const { size } = answered
    await pollUntil('the first one signs on', async () => answered.size > size + 20)
    assert.equal((await harness.call('GET', '/.well-known/jwks.json')).status, 200)
    await second.start()
  }
  end.abort()
  await load
  assert.deepEqual([...statuses], [200])
  const { rows } = await harness.owner.query<{ jwt: string }>('select jwt from credentials')
  const stored = new Set(rows.map(({ jwt }) => jwt))
  assert.equal([...answered.values()].filter((jwt) => !stored.has(jwt)).length, 0, 'none lost')
  const { rows: doubles } = await harness.owner.query(
    'select credential_id from credentials group by credential_id having count(*) > 1',
  )
  assert.deepEqual(doubles, [])
  // What was signed and not stored was handed to nobody.
  const { operatorKey } = await operators.create(ctx, 'machine', 'Ada')
  const checked = await harness.callOperator('GET', '/operator/keys/check', { key: operatorKey })
  assert.ok(checked.json.ok && checked.json.signed >= checked.json.stored, checked.text)
})

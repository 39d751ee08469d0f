import assert from 'node:assert/strict'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { inTransaction } from '../../src/platform/db/db.ts'
import {
  MasterKeyMismatch,
  MasterKeyVersionMissing,
  requireMasterKey,
  requireVersions,
  syncMasterKey,
} from '../../src/platform/db/versions.ts'
import { addVersion, retire, rewrap, RotationRefused } from '../../src/platform/db/rotation.ts'
import { listSealed, nameOf } from '../../src/platform/db/sealed.ts'
import { loadSecrets, versionOf, type Secrets } from '../../src/platform/ops/secrets.ts'
import { makeViewToken, readViewToken } from '../../src/sessions/rules.ts'
import { sealedColumns } from '../../src/wiring/index.ts'
import { startHarness } from '../fixtures/harness.ts'
import { startMailbox, subjectOf } from '../fixtures/mailbox.ts'
import { grantCredits } from '../fixtures/payments/ledger.ts'
import { makeAccount } from '../fixtures/people/console.ts'
import { enrolMember } from '../fixtures/people/member.ts'
import { startReceiver } from '../fixtures/webhook-receiver.ts'
import { publishEvent, subscribe } from '../fixtures/webhooks.ts'

// The tests of this file are the steps of one rotation, in their order.

const mailbox = await startMailbox()
after(() => mailbox.stop())
const receiver = await startReceiver()
const harness = await startHarness({ SMTP_URL: `smtp://127.0.0.1:${mailbox.smtpPort}` })
const { ctx } = harness
const folder = mkdtempSync(join(tmpdir(), 'pohf-rotation-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const readFile = (dataDir: string) => readFileSync(join(dataDir, 'master.key'), 'utf8')
/** A machine with the file that the harness has now. */
const copyMachine = (name: string) => {
  const dataDir = join(folder, name)
  mkdirSync(dataDir)
  copyFileSync(join(ctx.config.DATA_DIR, 'master.key'), join(dataDir, 'master.key'))
  return { ...ctx, config: { ...ctx.config, DATA_DIR: dataDir }, secrets: loadSecrets(dataDir) }
}
/** The process of a command, on the machine of the harness. */
const commandCtx = () => ({ ...ctx, secrets: loadSecrets(ctx.config.DATA_DIR) })

const holder = { holder: 'the api of this test', role: 'api' } as const
/** Runs a command while the process of the harness follows the versions, as an api does. */
const whileSyncing = async <T>(work: () => Promise<T>): Promise<T> => {
  const timer = setInterval(() => void syncMasterKey(ctx, holder), 200)
  try {
    return await work()
  } finally {
    clearInterval(timer)
    await syncMasterKey(ctx, holder)
  }
}

/** Every sealed value of the database, with its column. */
const listAll = () =>
  inTransaction(ctx, 'system', async (tx) => {
    const all = []
    for (const column of sealedColumns) {
      const { values } = await listSealed(tx, column, { after: null, limit: 10_000 })
      all.push(
        ...values.map((value) => ({ ...value, column, name: `${nameOf(column)} ${value.key.join()}` })),
      )
    }
    return all
  })
type ColumnValue = Awaited<ReturnType<typeof listAll>>[number]
const opens = (secrets: Secrets, { column, sealed }: ColumnValue): boolean => {
  try {
    secrets.open(column.purpose, sealed)
    return true
  } catch {
    return false
  }
}

const insertKeys = async (secrets: Secrets, prefix: string, count: number): Promise<void> => {
  const ids = Array.from({ length: count }, (_, index) => `ses_${prefix}${String(index).padStart(5, '0')}`)
  await harness.owner.query(
    `insert into session_keys (agent_id, session_id, sealed)
     select 'agt_rotation', id, sealed from unnest($1::text[], $2::text[]) given(id, sealed)`,
    [ids, ids.map((id) => secrets.seal('session-key', id))],
  )
}

const agent = await harness.register('live')
await grantCredits(harness, agent, 100n)
const { id: endpointId, signingSecret } = await subscribe(harness, agent, receiver.url)
const member = await enrolMember(harness, agent)
const path = `/api/agents/members/${member.memberId}/acts`
const act = () => harness.call('POST', path, { key: agent.apiKey, body: { action: 'vote' } })
const personhood = async () => {
  const answer = await harness.call('POST', '/api/agents/verify-personhood', {
    key: agent.apiKey,
    body: { memberId: member.memberId },
  })
  assert.equal(answer.status, 200, answer.text)
  const [, claims = ''] = (answer.json.pohf_jwt ?? answer.json.jwt ?? answer.json.credential).split('.')
  return JSON.parse(Buffer.from(claims, 'base64url').toString('utf8')).sub as string
}
const { owner } = await makeAccount(harness)
const tester = await harness.register('test')
for (const sessionId of ['visit-1', 'visit-2'])
  await harness.call('POST', '/api/agents/verify', { key: tester.apiKey, body: { sessionId } })
const readAs = (key: string) => harness.call('GET', '/api/agents/me', { key })
const listAfter = (cursor?: string) =>
  harness.call('GET', `/api/agents/credentials?limit=1${cursor === undefined ? '' : `&cursor=${cursor}`}`, {
    key: tester.apiKey,
  })
await harness.runJobs()
await requireMasterKey(ctx)
await syncMasterKey(ctx, holder)
await insertKeys(ctx.secrets, 'a', 1_200)
await harness.owner.query(
  `insert into company_issuers (agent_id, issuer_id, name, issuer, domain, client_id, client_secret_sealed, token, changed_by)
   values ($1, 'iss_rotation', 'Acme', 'https://login.example.com', 'example.com', 'pohf', $2, $3, 'per_owner')`,
  [agent.agentId, ctx.secrets.seal('company-secret', 'a secret of the company'), 't'.repeat(43)],
)
// The mail of this registration waits until the rotation is over.
await harness.register('test', 'waiting@example.org')
const subBefore = await personhood()
const bearer = await owner.bearer('live')
const { nextCursor } = (await listAfter()).json
const firstAct = await act()
assert.equal(firstAct.status, 200, firstAct.text)
const oldSecrets = copyMachine('old').secrets
const opened = new Map(
  (await listAll()).map((value) => [value.name, ctx.secrets.open(value.column.purpose, value.sealed)]),
)
const view = { agentId: agent.agentId, mode: 'live', sessionId: 'ses_aa', viewedAt: new Date() } as const
const viewToken = makeViewToken(ctx, view)
const keptBefore = ctx.secrets.keyring.keptFingerprints()

test('every sealed column has a value to move', () => {
  for (const column of sealedColumns.filter((one) => one.column !== 'previous_sealed'))
    assert.ok(
      [...opened.keys()].some((name) => name.startsWith(nameOf(column))) || column.purpose === 'root-keys',
      nameOf(column),
    )
  assert.ok(opened.size >= 1_202, `${opened.size} values`)
})

test('an added version seals nothing, and a process without it stops the switch', async () => {
  await assert.rejects(
    rewrap(commandCtx(), sealedColumns, () => undefined),
    RotationRefused,
  )
  assert.deepEqual(await addVersion(commandCtx()), { version: 2 })
  assert.deepEqual(await addVersion(commandCtx()), { version: 2 }, 'a repeat finds what it added')
  await syncMasterKey(ctx, holder)
  assert.equal(versionOf(ctx.secrets.seal('mail', 'x')), 1)
  const lacking = { ...copyMachine('lacking') }
  writeFileSync(join(folder, 'lacking', 'master.key'), readFile(join(folder, 'old')))
  const other = { ...lacking, secrets: loadSecrets(join(folder, 'lacking')) }
  await assert.rejects(addVersion(other), /added on another machine/)
  await requireMasterKey(other)
  assert.deepEqual([...other.secrets.keyring.fingerprints().keys()], [1])
})

test('a rewrap that is killed continues where it ended, while others write', async () => {
  const killed = new Error('killed')
  let pages = 0
  const run = () =>
    rewrap(commandCtx(), sealedColumns, () => {
      pages += 1
      if (pages % 3 === 0) throw killed
    })
  await whileSyncing(async () => {
    await assert.rejects(run(), killed)
    assert.equal(versionOf(ctx.secrets.seal('mail', 'x')), 2, 'processes seal under the new version')
    assert.deepEqual(readViewToken(ctx, viewToken)?.sessionId, 'ses_aa', 'a token of before is accepted')
    assert.equal((await readAs(bearer)).status, 200, 'and so is a bearer of the console')
    assert.equal((await listAfter(nextCursor)).status, 200, 'and a cursor')
    await assert.rejects(retire(commandCtx(), sealedColumns, true), /Not every value is sealed/)
    await insertKeys(ctx.secrets, 'b', 300)
    // As a transaction that was open at the switch: behind the position of the first run.
    await insertKeys(oldSecrets, 'Z', 3)
    await harness.owner.query("delete from session_keys where session_id = 'ses_a01199'")
    await assert.rejects(run(), killed)
    const { columns } = await rewrap(commandCtx(), sealedColumns, () => undefined)
    assert.deepEqual(columns.map(({ column }) => column).toSorted(), sealedColumns.map(nameOf).toSorted())
    assert.ok(columns.every(({ finished, unreadable }) => finished && unreadable === 0))
  })
})

test('the old version is retired only when its tokens have expired, or at once; then it opens nothing', async () => {
  await whileSyncing(async () => {
    await assert.rejects(retire(commandCtx(), sealedColumns, false), /may be valid until/)
    assert.deepEqual((await retire(commandCtx(), sealedColumns, true)).retired, [1])
  })
  const now = await listAll()
  assert.ok(now.length >= 1_500, `${now.length} values`)
  assert.deepEqual(
    now.filter((value) => opens(oldSecrets, value)).map(({ name }) => name),
    [],
  )
  assert.equal(readViewToken(ctx, viewToken), undefined, 'no token of the old key is accepted')
  assert.equal(readViewToken(ctx, makeViewToken({ ...ctx, secrets: oldSecrets }, view)), undefined)
  const lines = readFile(ctx.config.DATA_DIR).trim().split('\n')
  assert.ok(lines.every((line) => !readFile(join(folder, 'old')).includes(line.replace(/^.*:/, ''))))
})

test('a person stays signed in, and their page and their lists begin anew', async () => {
  assert.equal((await readAs(bearer)).status, 401)
  assert.equal((await readAs(await owner.bearer('live'))).status, 200, 'the page requests another one')
  assert.equal((await listAfter(nextCursor)).status, 400)
  assert.equal((await listAfter((await listAfter()).json.nextCursor)).status, 200)
})

test('everything else survives: keys, sub, nullifiers, recordings, webhook secrets, waiting mails', async () => {
  for (const value of await listAll()) {
    const text = opened.get(value.name)
    if (text !== undefined)
      assert.equal(ctx.secrets.open(value.column.purpose, value.sealed), text, value.name)
  }
  assert.deepEqual(ctx.secrets.keyring.keptFingerprints(), keptBefore)
  assert.equal((await harness.call('GET', '/api/agents/me', { key: agent.apiKey })).status, 200)
  assert.equal(await personhood(), subBefore)
  const repeated = await act()
  assert.deepEqual(
    { status: repeated.status, first: repeated.json.first, nullifier: repeated.json.nullifier },
    { status: 200, first: false, nullifier: firstAct.json.nullifier },
  )
  const eventId = await publishEvent(harness, agent)
  await harness.runJobs()
  const received = receiver.received.find(({ headers }) => headers['webhook-id'] === eventId)
  assert.ok(received, `no delivery to ${endpointId}`)
  new Webhook(signingSecret).verify(received.body, received.headers as Record<string, string>)
  assert.ok(mailbox.mails.some((mail) => mail.to.includes('waiting@example.org') && subjectOf(mail)))
})

test('a machine with an old file starts where it has the version, and another one is refused', async () => {
  const text = readFile(ctx.config.DATA_DIR)
  const start = (name: string, file: string) => {
    const dataDir = join(folder, name)
    mkdirSync(dataDir)
    writeFileSync(join(dataDir, 'master.key'), file)
    const machine = { ...ctx, config: { ...ctx.config, DATA_DIR: dataDir }, secrets: loadSecrets(dataDir) }
    return requireMasterKey(machine).then(() => machine)
  }
  const both = `${readFile(join(folder, 'old'))}${text.split('\n')[0]}\n`
  const late = await start('late', both)
  assert.deepEqual(late.secrets.derive('pairwise'), ctx.secrets.derive('pairwise'))
  assert.deepEqual((await retire(late, sealedColumns, false)).retired, [1], 'it drops the line from its file')
  assert.equal(readFile(late.config.DATA_DIR), text)
  await assert.rejects(start('before', readFile(join(folder, 'old'))), MasterKeyVersionMissing)
  await assert.rejects(start('without', `${text.split('\n')[0]}\n`), MasterKeyMismatch)
  requireVersions(ctx)
  assert.throws(
    () => late.secrets.open('mail', oldSecrets.seal('mail', 'x')),
    'though its file had version 1',
  )
})

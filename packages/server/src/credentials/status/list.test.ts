import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getListFromStatusListJWT } from '@sd-jwt/jwt-status-list'
import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify, type JSONWebKeySet } from 'jose'
import * as operators from '../../operators/index.ts'
import { connectSigner, type Signer } from '../../signing/index.ts'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { buildList } from './build.ts'
import { makeStatusIndexes } from './indexes.ts'

const harness = await startHarness()
const { ctx, owner } = harness
const { apiKey: key, agentId } = await harness.register('test')
const { operatorKey } = await operators.create(ctx, 'machine', 'Ada')
const signer = connectSigner(ctx)

type StatusReference = { idx: number; uri: string }
const statusReferenceOf = (jwt: string): StatusReference =>
  (decodeJwt(jwt)['status'] as { status_list: StatusReference }).status_list
const mint = async (sessionId: string) => {
  const { json } = await harness.call('POST', '/api/agents/verify', { key, body: { sessionId } })
  return {
    credentialId: String(json.credentialId),
    jwt: String(json.pohf_jwt),
    ...statusReferenceOf(json.pohf_jwt),
    statusUri: json.statusUri,
  }
}
const pathOf = (uri: string) => new URL(uri).pathname
const listIdOf = (uri: string) => pathOf(uri).slice('/status/'.length)
const fetchList = (uri: string, headers: Record<string, string> = {}) =>
  harness.call('GET', pathOf(uri), { headers })
/** What another implementation reads at an index of the published list. */
const read = async ({ uri, idx }: StatusReference): Promise<number> =>
  getListFromStatusListJWT((await fetchList(uri)).text).getStatus(idx)
const change = (credentialId: string, step: string, reason = 'reported') =>
  harness.callOperator('POST', `/operator/credentials/${credentialId}/${step}`, {
    key: operatorKey,
    body: { reason },
  })
/** The maximum delay until a change is published. */
const advanceToNextBuild = async () => {
  await harness.advance(25_000)
  await harness.runJobs()
}

test('every kind of credential names its index, and the list resolves from the start', async () => {
  const view = await mint('first')
  const personhood = await harness.call('POST', '/api/agents/verify-personhood', {
    key,
    body: { memberId: 'alice' },
  })
  const binding = await harness.call('POST', '/api/agents/bind-transaction', {
    key,
    body: { paymentRef: 'pi_12345678', sessionId: 'first' },
  })
  const places = [view, statusReferenceOf(personhood.json.pohf_jwt), statusReferenceOf(binding.json.pohf_jwt)]
  assert.equal(new Set(places.map((place) => place.idx)).size, 3)
  for (const [n, uri] of [view.statusUri, personhood.json.statusUri, binding.json.statusUri].entries()) {
    assert.equal(uri, places[n]?.uri)
    assert.equal(uri, `${ctx.config.BASE_URL}/status/${ctx.config.CELL}-test-1`)
  }
  for (const place of places) assert.equal(await read(place), 0)
})

test('a repeated call keeps its index', async () => {
  const first = await mint('again')
  assert.deepEqual(await mint('again'), first)
})

test('the list is a status list token with its own type and key, valid for a day, cached for a minute', async () => {
  const { uri } = await mint('token')
  const answer = await fetchList(uri, { origin: 'https://shop.example' })
  assert.equal(answer.status, 200)
  assert.equal(answer.headers['content-type'], 'application/statuslist+jwt')
  assert.equal(answer.headers['cache-control'], 'public, max-age=60')
  assert.equal(answer.headers['access-control-allow-origin'], '*')
  const { json: keys } = await harness.call('GET', '/.well-known/jwks.json')
  const { payload, protectedHeader } = await jwtVerify(
    answer.text,
    createLocalJWKSet(keys as JSONWebKeySet),
    { algorithms: ['ES256'], typ: 'statuslist+jwt', issuer: `${ctx.config.BASE_URL}/test`, subject: uri },
  )
  assert.equal(payload['ttl'], 60)
  assert.equal((payload.exp ?? 0) - (payload.iat ?? 0), 86_400)
  assert.equal((payload['status_list'] as { bits: number }).bits, 2)
  assert.notEqual(protectedHeader.kid, decodeProtectedHeader((await mint('token')).jwt).kid)
  for (const tag of [answer.headers['etag'] ?? '', `"other", W/${answer.headers['etag']}`]) {
    const cached = await fetchList(uri, { 'if-none-match': tag })
    assert.equal(cached.status, 304)
    assert.equal(cached.text, '')
  }
  assert.equal((await fetchList(uri, { 'if-none-match': '"other"' })).status, 200)
})

test('an unknown list is 404, whatever it is called', async () => {
  for (const name of ['aa-live-1', 'aa-test-99', 'x', '..%2f..', 'a'.repeat(64)])
    assert.equal((await harness.call('GET', `/status/${name}`)).json.error, 'not_found', name)
})

test('a revocation is seen by a verifier within 90 seconds, also by one that fetched just before', async () => {
  const [bad, good] = [await mint('bad'), await mint('good')]
  await advanceToNextBuild()
  const cached = await fetchList(bad.uri)
  const revokedAt = ctx.clock.now().getTime() / 1_000
  const answer = await change(bad.credentialId, 'revoke')
  assert.equal(answer.status, 200, answer.text)
  assert.deepEqual(answer.json, {
    credentialId: bad.credentialId,
    agentId,
    mode: 'test',
    state: 'revoked',
    statusUri: bad.uri,
  })
  assert.equal(getListFromStatusListJWT(cached.text).getStatus(bad.idx), 0)
  await advanceToNextBuild()
  const published = decodeJwt((await fetchList(bad.uri)).text)
  // A verifier that fetched just before keeps that copy for its ttl.
  const seenAfter = (published.iat ?? Infinity) - revokedAt + Number(decodeJwt(cached.text)['ttl'])
  assert.ok(seenAfter <= 90, `${seenAfter} s`)
  assert.equal(await read(bad), 1)
  assert.equal(await read(good), 0)
  const again = await harness.call('POST', '/api/agents/verify', { key, body: { sessionId: 'bad' } })
  assert.equal(again.status, 409)
  assert.equal(again.json.error, 'credential_revoked')
})

test('a suspended credential reads 2, is repeated as it is, and after reinstatement reads 0', async () => {
  const held = await mint('held')
  await change(held.credentialId, 'suspend')
  await advanceToNextBuild()
  assert.equal(await read(held), 2)
  assert.equal((await mint('held')).jwt, held.jwt)
  await change(held.credentialId, 'reinstate')
  await advanceToNextBuild()
  assert.equal(await read(held), 0)
  await change(held.credentialId, 'suspend')
  await change(held.credentialId, 'revoke')
  await advanceToNextBuild()
  assert.equal(await read(held), 1)
})

test('state, list, event and audit line are written together, with the reason', async () => {
  const { credentialId, idx, uri } = await mint('together')
  for (const step of ['suspend', 'reinstate', 'revoke']) await change(credentialId, step, `why ${step}`)
  const states = await owner.query(
    'select state, reason from credential_states where credential_id = $1 order by seq',
    [credentialId],
  )
  assert.deepEqual(
    states.rows.map((row) => `${row.state}: ${row.reason}`),
    ['issued: minted', 'suspended: why suspend', 'issued: why reinstate', 'revoked: why revoke'],
  )
  const events = await owner.query(
    "select type, data->>'reason' as reason from events where subject = $1 and type <> 'credential.issued' order by at, event_id",
    [credentialId],
  )
  assert.deepEqual(
    events.rows.map((row) => `${row.type}: ${row.reason}`),
    [
      'credential.suspended: why suspend',
      'credential.reinstated: why reinstate',
      'credential.revoked: why revoke',
    ],
  )
  const audit = await owner.query(
    "select action, details->>'reason' as reason from operator_audit where target = $1 order by seq",
    [credentialId],
  )
  assert.deepEqual(
    audit.rows.map((row) => `${row.action}: ${row.reason}`),
    [
      'credential.suspend: why suspend',
      'credential.reinstate: why reinstate',
      'credential.revoke: why revoke',
    ],
  )
  const entries = await owner.query('select value from status_entries where list_id = $1 and idx = $2', [
    listIdOf(uri),
    idx,
  ])
  assert.deepEqual(entries.rows, [{ value: 1 }])
})

test('an operator action that fails at its last statement changes nothing', async () => {
  const { credentialId, uri } = await mint('whole')
  const version = async () =>
    (await owner.query('select version from status_lists where list_id = $1', [listIdOf(uri)])).rows[0]
      .version
  const before = await version()
  await owner.query('alter table operator_audit rename to hidden')
  const failed = await change(credentialId, 'revoke')
  await owner.query('alter table hidden rename to operator_audit')
  assert.equal(failed.status, 500)
  assert.equal(await version(), before)
  const { rows } = await owner.query('select state from credential_states where credential_id = $1', [
    credentialId,
  ])
  assert.deepEqual(rows, [{ state: 'issued' }])
})

test('a repeated request changes nothing; revoked is final; an unknown credential is 404', async () => {
  const { credentialId } = await mint('final')
  const steps = async () =>
    (
      await owner.query('select count(*)::int as n from credential_states where credential_id = $1', [
        credentialId,
      ])
    ).rows[0].n
  assert.equal((await change(credentialId, 'reinstate')).json.state, 'issued')
  assert.equal(await steps(), 1)
  for (const _ of [1, 2]) assert.equal((await change(credentialId, 'revoke')).json.state, 'revoked')
  assert.equal(await steps(), 2)
  for (const step of ['suspend', 'reinstate'])
    assert.equal((await change(credentialId, step)).json.error, 'credential_revoked')
  assert.equal((await change('crd_unknown', 'revoke')).json.error, 'not_found')
  const noReason = await harness.callOperator('POST', `/operator/credentials/${credentialId}/revoke`, {
    key: operatorKey,
    body: {},
  })
  assert.equal(noReason.json.error, 'validation_failed')
})

for (const parallel of [2, 20]) {
  test(`${parallel} concurrent revocations write one state, one event and one audit line`, async () => {
    const { credentialId } = await mint(`crowd ${parallel}`)
    const answers = await Promise.all(Array.from({ length: parallel }, () => change(credentialId, 'revoke')))
    assert.deepEqual([...new Set(answers.map((answer) => answer.status))], [200])
    for (const [table, column, count] of [
      ['credential_states', 'credential_id', 2],
      ['operator_audit', 'target', 1],
    ] as const) {
      const { rows } = await owner.query(`select count(*)::int as n from ${table} where ${column} = $1`, [
        credentialId,
      ])
      assert.equal(rows[0].n, count)
    }
    const { rows } = await owner.query(
      "select count(*)::int as n from events where subject = $1 and type = 'credential.revoked'",
      [credentialId],
    )
    assert.equal(rows[0].n, 1)
  })
}

test('a new wallet proof does not restore a revoked personhood credential', async () => {
  const { generatePrivateKey, privateKeyToAccount } = await import('viem/accounts')
  const account = privateKeyToAccount(generatePrivateKey())
  const prove = async () => {
    const { json } = await harness.call('POST', '/api/agents/wallet/challenge', { key, body: {} })
    const walletSig = await account.signMessage({ message: json.message })
    return harness.call('POST', '/api/agents/verify-personhood', {
      key,
      body: { memberId: 'mallory', wallet: account.address, walletSig, walletNonce: json.nonce },
    })
  }
  const first = await prove()
  assert.equal(first.status, 200, first.text)
  await change(first.json.credentialId, 'revoke')
  assert.equal((await prove()).json.error, 'credential_revoked')
})

test('a revocation during a build is in the next list', async () => {
  const [early, late] = [await mint('early'), await mint('late')]
  await change(early.credentialId, 'revoke')
  const slow: Signer = {
    ...signer,
    signTyped: async (typ, payload) => {
      // The list was read; what is revoked now cannot be in it.
      await change(late.credentialId, 'revoke')
      return signer.signTyped(typ, payload)
    },
  }
  assert.equal(await buildList(ctx, slow, listIdOf(late.uri)), true)
  assert.equal(await read(early), 1)
  assert.equal(await read(late), 0)
  await advanceToNextBuild()
  assert.equal(await read(late), 1)
})

test('a builder with an older version does not overwrite the newer list', async () => {
  const { credentialId, ...place } = await mint('overtaken')
  const slow: Signer = {
    ...signer,
    signTyped: async (typ, payload) => {
      await change(credentialId, 'revoke')
      await buildList(ctx, signer, listIdOf(place.uri))
      return signer.signTyped(typ, payload)
    },
  }
  assert.equal(await buildList(ctx, slow, listIdOf(place.uri)), false)
  assert.equal(await read(place), 1)
})

test('60 revocations during concurrent builds: none is lost', async () => {
  const all = await Promise.all(Array.from({ length: 60 }, (_, n) => mint(`storm ${n}`)))
  const listId = listIdOf(all[0]?.uri ?? '')
  const revoked = new AbortController()
  const builders = Array.from({ length: 3 }, async () => {
    while (!revoked.signal.aborted) await buildList(ctx, signer, listId)
  })
  await Promise.all(all.map(({ credentialId }) => change(credentialId, 'revoke')))
  revoked.abort()
  await Promise.all(builders)
  await advanceToNextBuild()
  const list = getListFromStatusListJWT((await fetchList(all[0]?.uri ?? '')).text)
  for (const { idx } of all) assert.equal(list.getStatus(idx), 1)
})

test('a list without changes is not rebuilt for 12 hours, and never expires', async () => {
  const place = await mint('quiet')
  await advanceToNextBuild()
  const before = await fetchList(place.uri)
  await harness.advance(11 * 3_600_000)
  await harness.runJobs()
  assert.equal((await fetchList(place.uri)).headers['etag'], before.headers['etag'])
  await harness.advance(3_600_000 + 60_000)
  await harness.runJobs()
  const after = decodeJwt((await fetchList(place.uri)).text)
  assert.ok((after.exp ?? 0) - ctx.clock.now().getTime() / 1_000 > 86_000)
})

test('a list whose key was removed is signed by the next key at once', async () => {
  const place = await mint('new key')
  const kidOf = async () => decodeProtectedHeader((await fetchList(place.uri)).text).kid ?? ''
  const old = await kidOf()
  await harness.revokeKey(old)
  await signer.syncManifests()
  await harness.runJobs()
  assert.notEqual(await kidOf(), old)
  const published = (await signer.publicKeys()).map((jwk) => jwk.kid)
  assert.ok(published.includes(await kidOf()) && !published.includes(old))
})

test('a list with 1 % revoked is built within 5 seconds of processor time and read correctly at every index by another implementation', async (t) => {
  const { listId, uri } = await makeStatusIndexes(ctx, signer).next('live')
  // Spread randomly: evenly spaced entries would compress to nothing.
  const { rows } = await owner.query<{ idx: number; value: number }>(
    `insert into status_entries select $1, idx, 1 + (hashint4(idx) & 1)
     from generate_series(0, 1048575) idx where abs(hashint4(idx) / 2) % 100 = 0 returning idx, value`,
    [listId],
  )
  const wanted = new Map(rows.map(({ idx, value }) => [idx, value]))
  await owner.query('update status_lists set version = version + 1 where list_id = $1', [listId])
  const startedAt = process.cpuUsage()
  assert.equal(await buildList(ctx, signer, listId), true)
  // Processor time, so that other load on the machine does not count.
  const { user, system } = process.cpuUsage(startedAt)
  const tookMs = (user + system) / 1_000
  const { text } = await fetchList(uri)
  t.diagnostic(`${wanted.size} of 1,048,576 entries: ${tookMs.toFixed(0)} ms, ${text.length} bytes`)
  assert.ok(tookMs < 5_000)
  const list = getListFromStatusListJWT(text)
  let wrong = 0
  for (let idx = 0; idx < 1_048_576; idx++) if (list.getStatus(idx) !== (wanted.get(idx) ?? 0)) wrong += 1
  assert.ok(wanted.size > 10_000)
  assert.equal(wrong, 0)
})

test('the database refuses to undo a revocation, to decrease a list version, and to claim a block twice', async () => {
  const { credentialId, uri } = await mint('guarded')
  const listId = listIdOf(uri)
  await change(credentialId, 'revoke')
  await buildList(ctx, signer, listId)
  for (const [statement, refusal] of [
    ['update status_entries set value = 2 where value = 1', /stays revoked/],
    ['delete from status_entries where value = 1', /stays revoked/],
    ['update status_lists set version = version - 1', /cannot go back/],
    ['update status_lists set built_version = built_version - 1', /cannot go back/],
    ['update status_lists set entries = 4', /layout of a status list is fixed/],
    ['update status_blocks set taken_at = null where taken_at is not null', /taken once/],
    [`insert into status_entries values ('${listId}', 0, 3)`, /check constraint/],
    [
      `insert into credentials (agent_id, credential_id, mode, kind, expires_at, jwt, answer)
       values ('agt_x', 'crd_x', 'test', 'view', now(), 'x', '{}')`,
      /credentials_have_a_status/,
    ],
  ] as const)
    await assert.rejects(owner.query(statement), refusal, statement)
})

test('an operator finds a credential by its id through an index', async () => {
  const client = await owner.connect()
  try {
    await client.query('begin; set local enable_seqscan = off')
    const { rows } = await client.query(
      "explain select agent_id from credentials where credential_id = 'crd_x'",
    )
    await client.query('rollback')
    const scans = rows
      .map((row) => String(row['QUERY PLAN']))
      .filter((line) => /(Seq|Index) Scan /.test(line))
    assert.ok(scans.length > 0 && scans.every((line) => /_credential_id_idx/.test(line)), scans.join('\n'))
  } finally {
    client.release()
  }
})

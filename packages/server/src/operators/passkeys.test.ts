import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isId, operatorBrowserCookie } from '@pohf/protocol'
import { startHarness } from '../../test/fixtures/harness.ts'
import { createPasskey, makePasskey, usePasskey } from '../../test/fixtures/people/authenticator.ts'
import {
  addPasskey,
  makeSignedInOperator,
  openOperatorPage,
} from '../../test/fixtures/people/operator-page.ts'
import { startMain } from '../../test/fixtures/processes/child-processes.ts'
import { assertRefusal } from '../../test/fixtures/refusal.ts'
import * as operators from './index.ts'

const harness = await startHarness()
const minute = 60_000
const send = (method: string, path: string, key: string, body?: unknown) =>
  harness.callOperator(method, `/operator/${path}`, { key, ...(body === undefined ? {} : { body }) })
const auditOf = async (operatorId: string, key: string): Promise<string[]> => {
  const { json } = await send('GET', 'audit?limit=1000', key)
  assert.equal(json.intact, true)
  return (json.entries as { operatorId: string; action: string }[])
    .filter((entry) => entry.operatorId === operatorId)
    .map(({ action }) => action)
}

test('an operator adds a passkey with the key, signs in with it, and every step is in the audit log', async () => {
  const { operatorId, operatorKey } = await operators.create(harness.ctx, 'machine', 'Grace')
  const passkey = makePasskey()
  const added = await addPasskey(harness, operatorKey, passkey)
  assert.equal(added.status, 200, added.text)
  assert.ok(isId('opk_', added.json.id))
  const page = openOperatorPage(harness)
  assert.equal((await page.usePasskey(passkey)).status, 200)
  const key = await page.bearer()
  const [listed] = (await send('GET', 'sign-in/passkeys', key)).json.passkeys
  assert.equal(listed.name, 'Laptop')
  assert.notEqual(listed.lastUsedAt, null)
  const [session] = (await send('GET', 'sign-in/sessions', key)).json.sessions
  assert.deepEqual([session.browser, session.isThis], ['Firefox on Linux', true])
  assert.equal((await page.post('sign-out')).status, 200)
  assertRefusal(await send('GET', 'sign-in/sessions', key), 401, 'invalid_api_key')
  assert.equal((await page.usePasskey(passkey)).status, 200)
  const again = await page.bearer()
  const [open] = (await send('GET', 'sign-in/sessions', again)).json.sessions
  assert.equal((await send('DELETE', `sign-in/sessions/${open.id}`, operatorKey)).status, 200)
  assertRefusal(await send('GET', 'sign-in/sessions', again), 401, 'invalid_api_key')
  assert.equal((await send('DELETE', `sign-in/passkeys/${added.json.id}`, operatorKey)).status, 200)
  assert.deepEqual(await auditOf(operatorId, operatorKey), [
    'operator.passkey_add',
    'operator.sign_in',
    'operator.sign_out',
    'operator.sign_in',
    'operator.session_end',
    'operator.passkey_remove',
  ])
})

test('an assertion works once, also for calls at the same time', async () => {
  const { passkey } = await makeSignedInOperator(harness)
  const page = openOperatorPage(harness)
  const credential = await page.assert(passkey)
  const answers = await Promise.all(Array.from({ length: 5 }, () => page.post('passkey', { credential })))
  assert.equal(answers.filter(({ status }) => status === 200).length, 1)
  assertRefusal(await page.post('passkey', { credential }), 400, 'passkey_refused')
})

test('a challenge works for five minutes, and in the browser that asked for it alone', async () => {
  const { passkey } = await makeSignedInOperator(harness)
  const page = openOperatorPage(harness)
  const credential = await page.assert(passkey)
  const without = openOperatorPage(harness)
  assertRefusal(await without.post('passkey', { credential }), 400, 'passkey_refused')
  const other = openOperatorPage(harness)
  await other.post('options')
  assertRefusal(await other.post('passkey', { credential }), 400, 'passkey_refused')
  assert.equal(other.session(), undefined)
  assert.equal(
    (await page.post('passkey', { credential })).status,
    200,
    'it still works where it was asked for',
  )
  const late = await page.assert(passkey)
  await harness.advance(5 * minute + 1_000)
  assertRefusal(await page.post('passkey', { credential: late }), 400, 'passkey_refused')
})

test('a browser cookie that somebody prepared binds nothing', async () => {
  const { passkey } = await makeSignedInOperator(harness)
  const attacker = openOperatorPage(harness)
  await attacker.post('options')
  const prepared = attacker.browser() ?? ''
  const victim = openOperatorPage(harness)
  victim.cookies.set(operatorBrowserCookie, prepared)
  const credential = await victim.assert(passkey)
  assert.notEqual(victim.browser(), prepared)
  assertRefusal(await attacker.post('passkey', { credential }), 400, 'passkey_refused')
})

test('an assertion for another origin, without user verification, or with an old counter signs nobody in', async () => {
  const { passkey } = await makeSignedInOperator(harness)
  const page = openOperatorPage(harness)
  const attempt = async (change: Partial<Parameters<typeof usePasskey>[1]>) => {
    const { challenge } = (await page.post('options')).json.publicKey
    const credential = usePasskey(passkey, { challenge, origin: page.origin, ...change })
    return page.post('passkey', { credential })
  }
  assert.equal(page.origin, 'http://operators.localhost:3001')
  // A page at another port of the same host belongs to the same relying party.
  const rpId = 'operators.localhost'
  assertRefusal(await attempt({ origin: 'http://operators.localhost:3000', rpId }), 400, 'passkey_refused')
  assertRefusal(await attempt({ origin: 'http://localhost:3000' }), 400, 'passkey_refused')
  assertRefusal(await attempt({ origin: 'https://evil.example' }), 400, 'passkey_refused')
  assertRefusal(await attempt({ flags: 1 }), 400, 'passkey_refused')
  assert.equal((await attempt({ counter: 7 })).status, 200)
  assertRefusal(await attempt({ counter: 7 }), 400, 'passkey_refused')
  assertRefusal(await openOperatorPage(harness).usePasskey(makePasskey()), 400, 'passkey_refused')
  assert.ok(harness.lines.some((line) => line.includes('sign-in of an operator refused')))
})

test('a challenge of one operator adds no passkey to another, a challenge of a sign-in adds none, and a passkey has one owner', async () => {
  const first = await makeSignedInOperator(harness)
  const second = await makeSignedInOperator(harness)
  const { origin } = first.page
  const register = (challenge: string, key: string, passkey = makePasskey()) => {
    const credential = createPasskey(passkey, { challenge, origin }, { fmt: 'none' })
    return send('POST', 'sign-in/passkeys', key, { credential, name: 'Planted' })
  }
  const optionsOf = async (key: string) =>
    (await send('POST', 'sign-in/passkeys/options', key)).json.publicKey.challenge as string
  const own = await optionsOf(first.operatorKey)
  assertRefusal(await register(own, second.operatorKey), 400, 'passkey_refused')
  const { challenge } = (await second.page.post('options')).json.publicKey
  assertRefusal(await register(challenge, second.operatorKey), 400, 'passkey_refused')
  const taken = await register(await optionsOf(second.operatorKey), second.operatorKey, first.passkey)
  assertRefusal(taken, 400, 'passkey_refused')
  const withoutVerification = createPasskey(
    makePasskey(),
    { challenge: await optionsOf(second.operatorKey), origin, flags: 1 },
    { fmt: 'none' },
  )
  const body = { credential: withoutVerification, name: 'No PIN' }
  assertRefusal(await send('POST', 'sign-in/passkeys', second.operatorKey, body), 400, 'passkey_refused')
})

test('an operator has ten passkeys at most, also for calls at the same time', async () => {
  const { operatorKey } = await operators.create(harness.ctx, 'machine', 'Many')
  for (let n = 0; n < 8; n++)
    assert.equal((await addPasskey(harness, operatorKey, makePasskey())).status, 200)
  const answers = await Promise.all(
    Array.from({ length: 4 }, () => addPasskey(harness, operatorKey, makePasskey())),
  )
  assert.equal(answers.filter(({ status }) => status === 200).length, 2)
  for (const answer of answers.filter(({ status }) => status !== 200)) assertRefusal(answer, 403, 'forbidden')
  assert.equal((await send('GET', 'sign-in/passkeys', operatorKey)).json.passkeys.length, 10)
})

test('nobody removes a passkey or ends a session of another operator', async () => {
  const first = await makeSignedInOperator(harness)
  const second = await makeSignedInOperator(harness)
  const key = await second.page.bearer()
  const [session] = (await send('GET', 'sign-in/sessions', first.operatorKey)).json.sessions
  assertRefusal(await send('DELETE', `sign-in/passkeys/${first.passkeyId}`, key), 404, 'not_found')
  assertRefusal(await send('DELETE', `sign-in/sessions/${session.id}`, key), 404, 'not_found')
  assert.equal((await first.page.post('token', { active: true })).status, 200)
})

test('a removed passkey signs nobody in, and every session that it opened ends', async () => {
  const { operatorKey, passkey, passkeyId, page } = await makeSignedInOperator(harness)
  const other = makePasskey()
  await addPasskey(harness, operatorKey, other)
  const kept = openOperatorPage(harness)
  await kept.usePasskey(other)
  const key = await page.bearer()
  assert.equal((await send('DELETE', `sign-in/passkeys/${passkeyId}`, operatorKey)).status, 200)
  assertRefusal(await send('GET', 'operators', key), 401, 'invalid_api_key')
  assertRefusal(await page.post('token', { active: true }), 401, 'sign_in_required')
  assertRefusal(await openOperatorPage(harness).usePasskey(passkey), 400, 'passkey_refused')
  assert.equal((await kept.post('token', { active: true })).status, 200)
})

test('a revoked operator loses key, passkeys, sessions and bearers at once, and what was begun before', async () => {
  const ada = await makeSignedInOperator(harness)
  const eve = await makeSignedInOperator(harness, 'machine', 'Eve')
  const bearer = await eve.page.bearer()
  const credential = await eve.page.assert(eve.passkey)
  const { challenge } = (await send('POST', 'sign-in/passkeys/options', bearer)).json.publicKey
  const revoked = await send('POST', `operators/${eve.operatorId}/revoke`, ada.operatorKey)
  assert.equal(revoked.status, 200)
  for (const key of [bearer, eve.operatorKey])
    assertRefusal(await send('GET', 'operators', key), 401, 'invalid_api_key')
  assertRefusal(await eve.page.post('token', { active: true }), 401, 'sign_in_required')
  assertRefusal(await eve.page.post('passkey', { credential }), 400, 'passkey_refused')
  const late = createPasskey(makePasskey(), { challenge, origin: eve.page.origin }, { fmt: 'none' })
  assertRefusal(
    await send('POST', 'sign-in/passkeys', bearer, { credential: late, name: 'Late' }),
    401,
    'invalid_api_key',
  )
  for (const table of ['operator_passkeys', 'operator_sessions', 'operator_challenges']) {
    const { rowCount } = await harness.owner.query(`select from ${table} where operator_id = $1`, [
      eve.operatorId,
    ])
    assert.equal(rowCount, 0, table)
  }
})

test('a sign-in and a revocation at the same time leave no session', async () => {
  const ada = await makeSignedInOperator(harness)
  for (let n = 0; n < 5; n++) {
    const eve = await makeSignedInOperator(harness, 'machine', 'Eve')
    const credential = await eve.page.assert(eve.passkey)
    await Promise.all([
      eve.page.post('passkey', { credential }),
      send('POST', `operators/${eve.operatorId}/revoke`, ada.operatorKey),
    ])
    const { rowCount } = await harness.owner.query('select from operator_sessions where operator_id = $1', [
      eve.operatorId,
    ])
    assert.equal(rowCount, 0)
  }
})

test('on the machine the passkeys of an operator are listed, and a lost one is removed', async () => {
  const { operatorId, passkeyId, page, operatorKey } = await makeSignedInOperator(harness, 'machine', 'Lost')
  const onMachine = async (...parameters: string[]) => {
    const run = startMain(['operator', 'passkeys', ...parameters], {
      DATABASE_URL: harness.ctx.config.DATABASE_URL,
      DATA_DIR: harness.dataDir,
    })
    const status = await run.exited
    return { status, json: status === 0 ? JSON.parse(run.out()) : undefined }
  }
  const { json } = await onMachine('Lost')
  assert.deepEqual(
    json.operators.map((operator: { operatorId: string; passkeys: { id: string }[] }) => [
      operator.operatorId,
      operator.passkeys.map(({ id }) => id),
    ]),
    [[operatorId, [passkeyId]]],
  )
  assert.equal((await onMachine('Somebody else', passkeyId)).status, 1)
  assert.deepEqual((await onMachine('Lost', passkeyId)).json, { id: passkeyId, removed: true })
  assertRefusal(await page.post('token', { active: true }), 401, 'sign_in_required')
  assert.ok((await auditOf('machine', operatorKey)).includes('operator.passkey_remove'))
})

test('expired challenges and sessions are deleted by the maintenance job', async () => {
  const { page } = await makeSignedInOperator(harness)
  await page.post('options')
  await harness.advance(13 * 60 * minute)
  await harness.runJobs()
  for (const table of ['operator_sessions', 'operator_challenges']) {
    const { rowCount } = await harness.owner.query(`select from ${table}`)
    assert.equal(rowCount, 0, table)
  }
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endpoints, modes, scopes, type ErrorCode } from '@pohf/protocol'
import { startHarness } from '../fixtures/harness.ts'
import { makePasskey } from '../fixtures/people/authenticator.ts'
import { makeAccount, makeColleague, type ConsoleBrowser } from '../fixtures/people/console.ts'
import { assertRefusal } from '../fixtures/refusal.ts'

const harness = await startHarness()
const rows = endpoints.filter((row) => row.administratorOnly)

/** The answers of every administrative row to a caller, with a body that no schema takes: who passes changes nothing. */
const callAll = async (key: string) => {
  const answers = []
  for (const { method, path } of rows) {
    const body = method === 'GET' ? {} : { body: ['not an object'] }
    answers.push(await harness.call(method, path.replaceAll(/\{\w+\}/g, 'NONE'), { key, ...body }))
  }
  return answers
}
const assertAll = async (key: string, code: ErrorCode) => {
  for (const answer of await callAll(key)) assertRefusal(answer, 403, code)
}
const assertPasses = async (key: string) => {
  for (const { json } of await callAll(key))
    assert.ok(!['forbidden', 'sign_in_again', 'invalid_api_key'].includes(json.error), json.error)
}
const signInWithPasskey = async (browser: ConsoleBrowser) => {
  const passkey = makePasskey()
  assert.equal((await browser.addPasskey(passkey)).status, 200)
  assert.equal((await browser.usePasskey(passkey)).status, 200)
}

test('the rows for administrators are those that decide who approves, what is shown, what is measured and which company vouches', () => {
  assert.deepEqual(rows.map((row) => row.publicId).toSorted(), [
    'approvals.approvers-invite',
    'approvals.approvers-remove',
    'approvals.groups-remove',
    'approvals.groups-write',
    'approvals.known-bad-create',
    'approvals.known-bad-list',
    'approvals.pack',
    'approvals.report',
    'approvals.settings-read',
    'approvals.settings-write',
    'approvals.types-retire',
    'approvals.types-write',
    'companies.create',
    'companies.list',
    'companies.remove',
    'companies.update',
    'companies.verify',
  ])
})

test('no API key administers, whatever its scopes', async () => {
  for (const mode of modes) {
    const { apiKey } = await harness.register(mode)
    await assertAll(apiKey, 'forbidden')
    const { json } = await harness.call('POST', '/api/agents/keys', {
      key: apiKey,
      body: { scopes: [...scopes] },
    })
    await assertAll(json.apiKey, 'forbidden')
  }
})

test('an owner who makes a key with their own sign-in has not made the key an administrator', async () => {
  const { owner } = await makeAccount(harness)
  await signInWithPasskey(owner)
  for (const mode of modes) {
    const { json } = await harness.call('POST', '/api/agents/keys', {
      key: await owner.bearer(mode),
      body: { scopes: [...scopes] },
    })
    await assertAll(json.apiKey, 'forbidden')
  }
})

test('developers and viewers do not administer, in neither mode', async () => {
  const account = await makeAccount(harness)
  for (const role of ['developer', 'viewer'] as const) {
    const { browser } = await makeColleague(harness, account, role)
    await signInWithPasskey(browser)
    for (const mode of modes) await assertAll(await browser.bearer(mode), 'forbidden')
  }
})

test('in live mode an owner needs a passkey sign-in of the last hour; a mailed link does in the sandbox', async () => {
  const { owner } = await makeAccount(harness)
  await assertAll(await owner.bearer('live'), 'sign_in_again')
  await assertPasses(await owner.bearer('test'))
  await signInWithPasskey(owner)
  for (const mode of modes) await assertPasses(await owner.bearer(mode))
  const { owner: away, personId } = await makeAccount(harness)
  await signInWithPasskey(away)
  await harness.owner.query(
    "update account_sessions set created_at = pohf_now() - interval '61 minutes' where person_id = $1",
    [personId],
  )
  for (const mode of modes) await assertAll(await away.bearer(mode), 'sign_in_again')
})

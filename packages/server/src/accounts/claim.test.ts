import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sendTo, startHarness } from '../../test/fixtures/harness.ts'
import { holdLimits } from '../../test/fixtures/time/held-limits.ts'
import { makePasskey } from '../../test/fixtures/people/authenticator.ts'
import {
  enter,
  mailsTo,
  makeAccount,
  makeColleague,
  openConsole,
} from '../../test/fixtures/people/console.ts'
import { registerConfirmedAgent } from '../../test/fixtures/people/member.ts'
import { pollUntil } from '../../test/fixtures/polling.ts'
import { assertRefusal } from '../../test/fixtures/refusal.ts'
import { signToken } from '../platform/ops/tokens.ts'
import { buildApp } from '../wiring/index.ts'
import { makeBearers } from './bearer.ts'

const harness = await startHarness()

const me = (key: string) => harness.call('GET', '/api/agents/me', { key })

test('an agent that was registered by API is claimed through its confirmed address, and keeps its keys if its owner says so', async () => {
  const { owner, email, agents } = await makeAccount(harness)
  const agent = await registerConfirmedAgent(harness, 'live', email)
  const { claimable } = (await owner.get('account')).json
  assert.deepEqual(
    claimable.map(({ id }: { id: string }) => id),
    [agent.agentId],
  )
  const claimed = await owner.post('claim', { agentId: agent.agentId, keepKeys: true })
  const nothing = { revokedKeys: 0, disabledWebhooks: 0 }
  assert.deepEqual(claimed.json, { agentId: agent.agentId, mode: 'live', ...nothing })
  assert.equal((await owner.get('account')).json.agents.live.id, agent.agentId)
  assert.equal((await me(agent.apiKey)).status, 200)
  const key = await owner.bearer('live')
  assert.equal((await me(key)).json.agentId, agent.agentId)
  // The agent that was there before is still theirs, and going back to it revokes nothing.
  assert.equal((await owner.post('claim', { agentId: agents.live })).status, 200)
  assert.equal((await owner.get('account')).json.agents.live.id, agents.live)
  assert.deepEqual((await owner.post('claim', { agentId: agent.agentId })).json, claimed.json)
  assert.equal((await me(agent.apiKey)).status, 200)
})

test('whoever registered an agent with the address of somebody else keeps nothing when its owner claims it', async () => {
  const { owner, email } = await makeAccount(harness)
  const agent = await registerConfirmedAgent(harness, 'live', email)
  const call = (method: string, path: string, body: unknown, key = agent.apiKey) =>
    harness.call(method, `/api/agents/${path}`, { key, body })
  const made = await call('POST', 'keys', { scopes: ['keys', 'webhooks'] })
  const rotated = await call('POST', 'keys/rotate', { overlapSeconds: 3_600 })
  const keys = [agent.apiKey, made.json.apiKey, rotated.json.apiKey] as string[]
  for (const key of keys) assert.equal((await me(key)).status, 200)
  for (const host of ['hook.attacker.example', 'second.attacker.example'])
    assert.equal((await call('POST', 'webhooks', { url: `https://${host}/x`, events: ['*'] })).status, 200)
  await call('PATCH', 'me', { allowedOrigins: ['https://attacker.example'] }, rotated.json.apiKey)

  const [held] = (await owner.get('account')).json.claimable
  assert.deepEqual(held.webhookHosts, ['second.attacker.example', 'hook.attacker.example'])
  assert.deepEqual(held.allowedOrigins, ['https://attacker.example'])
  assert.equal(held.keys.length, 3)
  assert.deepEqual(
    new Set(held.keys.map(({ hint }: { hint: string }) => hint)),
    new Set(keys.map((key) => key.slice(-4))),
  )
  for (const key of held.keys) {
    assert.ok(Date.parse(key.createdAt) > 0)
    assert.ok(Date.parse(key.lastUsedAt) > 0)
  }
  assert.equal(
    held.keys.filter(({ expiresAt }: { expiresAt: string | null }) => expiresAt !== null).length,
    1,
  )

  const claimed = await owner.post('claim', { agentId: agent.agentId })
  assert.deepEqual(
    [claimed.status, claimed.json.revokedKeys, claimed.json.disabledWebhooks],
    [200, 3, 2],
    claimed.text,
  )
  for (const key of keys) {
    assertRefusal(await me(key), 401, 'invalid_api_key')
    assertRefusal(await call('POST', 'keys', { scopes: ['keys'] }, key), 401, 'invalid_api_key')
    assertRefusal(await call('PATCH', 'me', { name: 'Mine' }, key), 401, 'invalid_api_key')
  }
  const bearer = await owner.bearer('live')
  const { webhooks } = (await harness.call('GET', '/api/agents/webhooks', { key: bearer })).json
  assert.deepEqual(
    webhooks.map((each: { enabled: boolean; disabledReason: string }) => [each.enabled, each.disabledReason]),
    [
      [false, 'owner'],
      [false, 'owner'],
    ],
  )
  const { rows } = await harness.owner.query<{ n: number }>(
    "select count(distinct data->>'keyId')::int as n from events where agent_id = $1 and type = 'key.revoked'",
    [agent.agentId],
  )
  assert.equal(rows[0]?.n, 3)
  // The owner makes a new key in the console.
  const fresh = await call('POST', 'keys', { scopes: ['verify', 'keys'] }, bearer)
  assert.equal((await me(fresh.json.apiKey)).json.agentId, agent.agentId)
})

test('a revoked key that another process still knows leaves no new key behind', async () => {
  const { owner, email } = await makeAccount(harness)
  const agent = await registerConfirmedAgent(harness, 'live', email)
  // Its own cache of keys.
  const other = buildApp(harness.ctx)
  await other.api.ready()
  try {
    const call = sendTo(other.api)
    const request = { key: agent.apiKey, body: { scopes: ['keys'] } }
    assert.equal((await call('GET', '/api/agents/me', { key: agent.apiKey })).status, 200)
    assert.equal((await owner.post('claim', { agentId: agent.agentId })).json.revokedKeys, 1)
    assertRefusal(await call('POST', '/api/agents/keys', request), 401, 'invalid_api_key')
    assertRefusal(
      await call('POST', '/api/agents/keys/rotate', { key: agent.apiKey, body: {} }),
      401,
      'invalid_api_key',
    )
    const text = 'select count(*)::int as n from api_keys where agent_id = $1 and revoked_at is null'
    assert.equal((await harness.owner.query<{ n: number }>(text, [agent.agentId])).rows[0]?.n, 0)
  } finally {
    await Promise.all([other.api.close(), other.operator.close()])
  }
})

test('nobody claims an agent of another or an unconfirmed address, of another account, or the platform agent', async () => {
  const first = await makeAccount(harness)
  const second = await makeAccount(harness)
  const unconfirmed = await harness.register('live', first.email)
  const foreign = await registerConfirmedAgent(harness, 'live', second.email)
  const { rows } = await harness.owner.query<{ agent_id: string }>(
    "select agent_id from agents where name = 'House'",
  )
  const refused = [
    unconfirmed.agentId,
    foreign.agentId,
    second.agents.live,
    'agt_none',
    ...rows.map((row) => row.agent_id),
  ]
  for (const agentId of refused) assertRefusal(await first.owner.post('claim', { agentId }), 404, 'not_found')
  assert.equal(rows.length, 2)
})

test('a passkey alone claims no agent: it may outlive the mailbox', async () => {
  const { owner, email } = await makeAccount(harness)
  const agent = await registerConfirmedAgent(harness, 'live', email)
  const passkey = makePasskey()
  assert.equal((await owner.addPasskey(passkey)).status, 200)
  const elsewhere = openConsole(harness)
  assert.equal((await elsewhere.usePasskey(passkey)).status, 200)
  assertRefusal(await elsewhere.post('claim', { agentId: agent.agentId }), 403, 'sign_in_again')
  assert.equal((await owner.post('claim', { agentId: agent.agentId })).status, 200)
})

test('one agent goes to one account, also when two claim it at the same time', async () => {
  const { owner, email } = await makeAccount(harness)
  const other = await makeAccount(harness)
  await other.owner.post('people', { email, role: 'owner' })
  const agent = await registerConfirmedAgent(harness, 'test', email)
  // The same person in two accounts, in two browsers.
  const second = openConsole(harness)
  await enter(harness, second, email)
  await second.post('join', { accountId: other.accountId })
  await second.post('switch', { accountId: other.accountId })
  const answers = await Promise.all([
    owner.post('claim', { agentId: agent.agentId }),
    second.post('claim', { agentId: agent.agentId }),
  ])
  assert.equal(answers.map(({ status }) => status).join(), answers[0]?.status === 200 ? '200,404' : '404,200')
})

test('a removed founder recovers no key by the address that was theirs', async () => {
  const account = await makeAccount(harness)
  const agent = await registerConfirmedAgent(harness, 'live', account.email)
  const recover = () =>
    harness.call('POST', '/api/agents/keys/recover', { body: { contactEmail: account.email } })
  await recover()
  const mails = await mailsTo(harness, account.email)
  const token = /\/agents\/recover\?token=(\S+)/.exec(mails.at(-1)?.text ?? '')?.[1]
  assert.ok(token, 'an agent without an account is recovered by mail')
  await account.owner.post('claim', { agentId: agent.agentId })
  const colleague = await makeColleague(harness, account, 'owner')
  assert.equal((await colleague.browser.remove(`people/${account.personId}`)).status, 200)
  await recover()
  assert.equal((await mailsTo(harness, account.email)).length, mails.length)
  assertRefusal(
    await harness.call('POST', '/api/agents/keys/recover/complete', { body: { token } }),
    403,
    'forbidden',
  )
})

test('a console token ends after ten minutes, and no byte of it can be changed', async () => {
  const { owner, agents } = await makeAccount(harness)
  const key = await owner.bearer('live')
  await harness.advance(1_000)
  // Of the next second. It is not used before its time ends: a valid one is remembered for two seconds.
  const unused = await owner.bearer('live')
  const read = (text: string) => harness.call('GET', '/api/agents/me', { key: text })
  assert.equal((await read(key)).status, 200)
  for (const changed of [
    key.slice(0, -1),
    `${key}A`,
    key.replace('cns_aa', 'cns_bb'),
    key.replace('cns_aa', ''),
    key.replace(/^cns_/, 'vt_'),
    key.replace(/(?<=^.{20})./, (letter) => (letter === 'A' ? 'B' : 'A')),
  ])
    assertRefusal(await read(changed), 401, 'malformed_api_key')
  // Signed with a key of another purpose, and for an agent of another account.
  const claims = makeBearers(harness.ctx).read(key)
  assert.ok(claims)
  const fields = [claims.sessionId, agents.live, Math.floor(claims.expiresAt.getTime() / 1_000)]
  const signer = { keys: harness.ctx.secrets.accepted('vt'), cell: 'aa' }
  assertRefusal(await read(signToken(signer, 'cns_', fields)), 401, 'malformed_api_key')
  const stranger = await makeAccount(harness)
  const crossed = makeBearers(harness.ctx).sign({ ...claims, agentId: stranger.agents.live })
  assertRefusal(await read(crossed), 401, 'invalid_api_key')
  await harness.advance(9 * 60_000)
  assert.equal((await read(key)).status, 200)
  await harness.advance(61_000)
  assert.notEqual(unused, key)
  assertRefusal(await read(unused), 401, 'invalid_api_key')
})

test('a bearer of a suspended agent is refused', async () => {
  const { owner, agents } = await makeAccount(harness)
  const key = await owner.bearer('test')
  await harness.owner.query('update agents set suspended_at = pohf_now() where agent_id = $1', [agents.test])
  assertRefusal(await harness.call('GET', '/api/agents/me', { key }), 403, 'forbidden')
})

test('the list of requests names no session: colleagues read it', async (t) => {
  const { owner } = await makeAccount(harness)
  const key = await owner.bearer('test')
  const list = async () => (await harness.call('GET', '/api/agents/requests', { key })).json.requests
  // The log is written a second after a request.
  const limits = holdLimits(t, 1_000)
  await list()
  const rows = await pollUntil('the first request is listed', async () => {
    limits.runOut(limits.running())
    const found = await list()
    return found.length > 0 && found
  })
  for (const row of rows) assert.equal(row.keyId, 'console')
})

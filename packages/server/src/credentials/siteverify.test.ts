import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { startHarness } from '../../test/fixtures/harness.ts'
import { grantCredits } from '../../test/fixtures/payments/ledger.ts'
import { playSession } from '../../test/fixtures/people/play-session.ts'
import { refusalNames } from '../../test/fixtures/refusal-order.ts'
import { makeScoredSession } from '../../test/fixtures/scored-session.ts'
import {
  assertFailure,
  assertSuccess,
  formType,
  type Fields,
} from '../../test/fixtures/siteverify/answers.ts'
import { siteverifyRefusals } from './siteverify.ts'

const harness = await startHarness()
const sandbox = await harness.register('test')
const live = await harness.register('live')
await grantCredits(harness, live, 100n)

const postRaw = (raw: string, type: string, path = '/siteverify') =>
  harness.call('POST', path, { raw, headers: { 'content-type': type } })
const post = (fields: Fields, path?: string) => postRaw(String(new URLSearchParams(fields)), formType, path)
const check = (agent: { readonly apiKey: string }, response: string, more: Fields = {}) =>
  post({ secret: agent.apiKey, response, ...more })

const balanceOf = async (agent: typeof live): Promise<number> => {
  const { json } = await harness.call('GET', '/api/agents/credits/balance', { key: agent.apiKey })
  return json.balance
}
const countCredentials = async (agentId: string): Promise<number> => {
  const { rows } = await harness.owner.query(
    'select count(*)::int as n from credentials where agent_id = $1',
    [agentId],
  )
  return rows[0].n
}
const scored = async (agent: typeof live, more: Parameters<typeof makeScoredSession>[2] = {}) =>
  (await makeScoredSession(harness, agent, more)).sessionId

test('a form, a multipart form and JSON get the same answer at all three addresses', async () => {
  const boundary = 'x-y-z'
  for (const path of ['/siteverify', '/recaptcha/api/siteverify', '/turnstile/v0/siteverify']) {
    const fields = { secret: sandbox.apiKey, remoteip: '203.0.113.9', response: `visit ${path}` }
    const multipart = (values: Fields) =>
      `${Object.entries(values)
        .map(
          ([name, value]) =>
            `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
        )
        .join('')}--${boundary}--\r\n`
    const answers = [
      await post({ ...fields, response: `${fields.response} 1` }, path),
      await postRaw(
        multipart({ ...fields, response: `${fields.response} 2` }),
        `multipart/form-data; boundary=${boundary}`,
        path,
      ),
      await postRaw(
        JSON.stringify({ ...fields, response: `${fields.response} 3` }),
        'application/json',
        path,
      ),
    ].map(assertSuccess)
    for (const [index, answer] of answers.entries()) {
      assert.equal(answer.sessionId, `${fields.response} ${index + 1}`)
      assert.deepEqual(Object.keys(answer).toSorted(), [
        'assurance',
        'challenge_ts',
        'credential',
        'credentialId',
        'error-codes',
        'kind',
        'score',
        'sessionId',
        'success',
      ])
    }
  }
})

test('a recorded session: hostname, time, score and action are its own, and it costs one credit', async () => {
  const site = 'https://shop.example:8443'
  const before = await balanceOf(live)
  const { sessionId } = await playSession(harness, {
    site: live.agentId,
    challenge: 'order 7',
    headers: { origin: site },
  })
  const answer = assertSuccess(await check(live, sessionId, { sitekey: live.agentId }))
  const { json: read } = await harness.call('GET', `/api/agents/sessions/${sessionId}`, { key: live.apiKey })
  assert.deepEqual(
    [answer.hostname, answer.challenge_ts, answer.score, answer.action, answer.kind, answer.assurance],
    ['shop.example', read.endedAt, read.quality, 'order 7', 'view', 'low'],
  )
  assert.equal(await balanceOf(live), before - 1)
  const { json: verified } = await harness.call('POST', '/api/agents/verify', {
    key: live.apiKey,
    body: { sessionId },
  })
  assert.deepEqual(
    [verified.pohf_jwt, verified.credentialId],
    [answer.credential, answer.credentialId],
    'it is the credential of verify',
  )
  assert.equal(await balanceOf(live), before - 1)
})

test('a session counts once; the same idempotency_key gets the same answer for a day, free', async () => {
  const key = randomUUID()
  const [sessionId, plain] = [await scored(live), await scored(live)]
  const before = await balanceOf(live)
  const first = await check(live, sessionId, { idempotency_key: key })
  assertSuccess(first)
  assert.equal((await check(live, sessionId, { idempotency_key: key.toUpperCase() })).text, first.text)
  for (const more of [{}, { idempotency_key: randomUUID() }] as Fields[])
    assertFailure(await check(live, sessionId, more), 'timeout-or-duplicate', 'session_rejected')
  assertSuccess(await check(live, plain))
  assertFailure(await check(live, plain), 'timeout-or-duplicate', 'session_rejected')
  assert.equal(await balanceOf(live), before - 2)
  await harness.advance(23 * 3_600_000)
  assert.equal((await check(live, sessionId, { idempotency_key: key })).text, first.text)
  await harness.advance(2 * 3_600_000)
  assertFailure(
    await check(live, sessionId, { idempotency_key: key }),
    'timeout-or-duplicate',
    'session_rejected',
  )
  assert.equal(await balanceOf(live), before - 2)
})

test('a session is accepted for 300 seconds after its end, and one that is older is not charged', async () => {
  const [young, old] = [await scored(live), await scored(live)]
  const before = await balanceOf(live)
  await harness.advance(295_000)
  assertSuccess(await check(live, young))
  await harness.advance(10_000)
  assertFailure(await check(live, old), 'timeout-or-duplicate', 'session_expired')
  assert.equal(await balanceOf(live), before - 1)
})

test('of 50 calls at once with different keys one succeeds, and one credit is spent', async () => {
  const sessionId = await scored(live)
  const before = { balance: await balanceOf(live), credentials: await countCredentials(live.agentId) }
  const answers = await Promise.all(
    Array.from({ length: 50 }, () => check(live, sessionId, { idempotency_key: randomUUID() })),
  )
  const succeeded = answers.filter(({ json }) => json.success)
  assert.equal(succeeded.length, 1)
  for (const answer of answers.filter(({ json }) => !json.success))
    assert.ok(['timeout-or-duplicate', 'internal-error'].includes(answer.json['error-codes'][0]), answer.text)
  assert.equal(await balanceOf(live), before.balance - 1)
  assert.equal(await countCredentials(live.agentId), before.credentials + 1)
  const key = randomUUID()
  const repeated = await scored(live)
  const same = await Promise.all(
    Array.from({ length: 10 }, () => check(live, repeated, { idempotency_key: key })),
  )
  assert.ok(same.every(({ json }) => json.success || json['error-codes'][0] === 'internal-error'))
  assert.equal(new Set(same.filter(({ json }) => json.success).map(({ text }) => text)).size, 1)
})

test('a call that died after the mint can be repeated with any key and is charged once', async () => {
  const sessionId = await scored(live)
  const before = await balanceOf(live)
  await harness.owner.query(
    `create function planted_crash() returns trigger language plpgsql as $$
       begin if new.redeemed_at is not null then raise exception 'planted crash'; end if; return new; end $$;
     create trigger planted_crash before update on sessions for each row execute function planted_crash()`,
  )
  const lines = harness.lines.length
  try {
    const answer = await check(live, sessionId, { idempotency_key: randomUUID() })
    assertFailure(answer, 'internal-error', 'internal_error')
    const line = harness.lines.slice(lines).find((text) => text.includes('request failed'))
    assert.match(line ?? '', /planted crash.*credentials\.siteverify/)
  } finally {
    await harness.owner.query('drop function planted_crash cascade')
  }
  assert.equal(await balanceOf(live), before - 1)
  assertSuccess(await check(live, sessionId, { idempotency_key: randomUUID() }))
  assert.equal(await balanceOf(live), before - 1)
})

test('a session of another agent, or of the other mode, is not found', async () => {
  const other = await harness.register('live')
  await grantCredits(harness, other, 1n)
  const sessionId = await scored(other)
  assertFailure(await check(live, sessionId), 'invalid-input-response', 'not_found')
  assertFailure(await check(other, await scored(live)), 'invalid-input-response', 'not_found')
  assertFailure(
    await check(other, sessionId, { sitekey: live.agentId }),
    'sitekey-secret-mismatch',
    'validation_failed',
  )
  // To a test key an unknown id is a simulated person, and its credential is a test credential.
  const simulated = assertSuccess(await check(sandbox, sessionId))
  const claims = JSON.parse(Buffer.from(simulated.credential.split('.')[1], 'base64url').toString())
  assert.equal(claims.test, true)
  assertSuccess(await check(other, sessionId))
})

test('reserved ids have the same outcome, however often and late they are used', async () => {
  for (let day = 0; day < 2; day++) {
    for (let time = 0; time < 2; time++) {
      assertSuccess(await check(sandbox, 'ses_test_pass'))
      for (const id of ['ses_test_low_quality', 'ses_test_fraud'])
        assertFailure(await check(sandbox, id), 'invalid-input-response', 'session_rejected')
      assertFailure(await check(sandbox, 'ses_test_pending'), 'invalid-input-response', 'session_not_ready')
      assertFailure(await check(sandbox, 'ses_test_expired'), 'timeout-or-duplicate', 'session_expired')
      assertFailure(await check(sandbox, 'ses_test_unknown'), 'invalid-input-response', 'not_found')
    }
    await harness.advance(86_400_000)
  }
  assertSuccess(await check(sandbox, 'an id of my own'))
  assertFailure(await check(sandbox, 'an id of my own'), 'timeout-or-duplicate', 'session_rejected')
})

test('success follows the policy of the agent, and a refusal spends neither a credit nor the session', async () => {
  const agent = await harness.register('live')
  await grantCredits(harness, agent, 1n)
  const setPolicy = (policy: object) =>
    harness.call('PATCH', '/api/agents/me', { key: agent.apiKey, body: { policy } })
  await setPolicy({ view: { minAssurance: 'substantial' } })
  const sessionId = await scored(agent)
  const refused = assertFailure(await check(agent, sessionId), 'invalid-input-response', 'session_rejected')
  assert.equal(refused.details[0].code, 'below_policy')
  assert.equal(await balanceOf(agent), 1)
  await setPolicy({})
  assertSuccess(await check(agent, sessionId))
  const { buy } = assertFailure(
    await check(agent, await scored(agent)),
    'bad-request',
    'insufficient_credits',
  )
  assert.match(buy, /\/buy$/)
})

test('a session that another host opened is refused, by the origins that the agent allows now', async () => {
  const agent = await harness.register('test')
  const setOrigins = (allowedOrigins: readonly string[]) =>
    harness.call('PATCH', '/api/agents/me', { key: agent.apiKey, body: { allowedOrigins } })
  const play = (origin: string) => playSession(harness, { site: agent.agentId, headers: { origin } })
  const [good, bad, hostless] = [
    await play('https://shop.example'),
    await play('https://copy.example'),
    await play('null'),
  ]
  await setOrigins(['https://shop.example:444'])
  for (const { sessionId } of [bad, hostless]) {
    const { details } = assertFailure(
      await check(agent, sessionId),
      'invalid-input-response',
      'validation_failed',
    )
    assert.equal(details[0].code, 'hostname')
  }
  assert.equal(assertSuccess(await check(agent, good.sessionId)).hostname, 'shop.example')
  await setOrigins([])
  assert.equal(assertSuccess(await check(agent, bad.sessionId)).hostname, 'copy.example')
  assert.equal(assertSuccess(await check(agent, hostless.sessionId)).hostname, undefined)
})

test('the refusals before those of verify come in the order of their list', async () => {
  const agent = await harness.register('live')
  const { sessionId } = await playSession(harness, {
    site: agent.agentId,
    headers: { origin: 'https://copy.example' },
  })
  await harness.call('PATCH', '/api/agents/me', {
    key: agent.apiKey,
    body: { allowedOrigins: ['https://shop.example'] },
  })
  const update = (change: string) =>
    harness.owner.query(`update sessions set ${change} where session_id = $1`, [sessionId])
  await update("ended_at = ended_at - interval '301 seconds', redeemed_at = pohf_now()")
  const call = { response: '', sitekey: 'agt_other' }
  const steps = [
    ['response_missing', /body\.response.*missing/, () => (call.response = sessionId)],
    ['sitekey_mismatch', /body\.sitekey/, () => (call.sitekey = agent.agentId)],
    ['session_used', /session_used/, () => update('redeemed_at = null')],
    ['session_too_old', /300 seconds/, () => update('ended_at = pohf_now()')],
    ['other_host', /"hostname"/, () => update("hostname = 'shop.example'")],
  ] as const
  assert.deepEqual(
    steps.map(([name]) => name),
    refusalNames(siteverifyRefusals),
  )
  for (const [name, pattern, removeReason] of steps) {
    assert.match((await check(agent, call.response, { sitekey: call.sitekey })).text, pattern, name)
    await removeReason()
  }
  assertFailure(await check(agent, call.response), 'bad-request', 'insufficient_credits')
})

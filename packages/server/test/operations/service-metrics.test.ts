import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeChangeCredentialState } from '../../src/credentials/index.ts'
import { inTransaction } from '../../src/platform/db/db.ts'
import { buildJobs } from '../../src/wiring/index.ts'
import { openHarness, runJobs, startHarness } from '../fixtures/harness.ts'
import { pollUntil } from '../fixtures/polling.ts'
import { assertFailure, formType } from '../fixtures/siteverify/answers.ts'
import { respondWith, startReceiver } from '../fixtures/webhook-receiver.ts'
import { publishEvent, subscribe } from '../fixtures/webhooks.ts'

const harness = await startHarness()
/** Runs only the jobs that matter here: a run of all takes seconds. */
const jobs = buildJobs(harness.ctx)
const run = (...names: readonly string[]) => runJobs(jobs.filter(({ name }) => names.includes(name)))
const read = async (name: string): Promise<number> => {
  const { text } = await harness.callOperator('GET', '/metrics')
  const line = text.split('\n').find((one) => one.startsWith(`${name} `)) ?? ''
  return Number(line.split(' ')[1])
}

test('a revocation counts as pending until its status list is published', async () => {
  const agent = await harness.register()
  const { json } = await harness.call('POST', '/api/agents/verify', {
    key: agent.apiKey,
    body: { sessionId: 'ses_revoked' },
  })
  await run('status lists')
  assert.equal(await read('pohf_revocation_pending_seconds'), 0)
  const [, claims = ''] = String(json.pohf_jwt).split('.')
  const { jti } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as { jti: `crd_${string}` }
  await inTransaction(harness.ctx, 'system', (tx) =>
    makeChangeCredentialState(harness.ctx)(tx, { credentialId: jti, reason: 'test', to: 'revoked' }),
  )
  await harness.advance(20_000)
  const waited = await read('pohf_revocation_pending_seconds')
  assert.ok(waited >= 20 && waited < 60, `${waited} s for ${jti}`)
  await run('status lists')
  assert.equal(await read('pohf_revocation_pending_seconds'), 0)
})

test('the wait of an event counts at a healthy receiver and nowhere else', async () => {
  const agent = await harness.register()
  const receiver = await startReceiver()
  await run('events')
  await subscribe(harness, agent, receiver.url)
  await publishEvent(harness, agent)
  await run('events', 'webhooks')
  assert.equal(await read('pohf_webhook_wait_seconds_count'), 0, 'the receiver had not answered before')

  await publishEvent(harness, agent, 'key_y')
  await harness.advance(30_000)
  await run('events', 'webhooks')
  assert.equal(await read('pohf_webhook_wait_seconds_count'), 1)
  const sum = await read('pohf_webhook_wait_seconds_sum')
  assert.ok(sum >= 30 && sum < 60, `${sum} s`)

  receiver.respond = respondWith(500)
  await publishEvent(harness, agent, 'key_z')
  await run('events', 'webhooks')
  assert.equal(
    await read('pohf_webhook_wait_seconds_count'),
    2,
    'the first attempt counts, whatever it brings',
  )
  await harness.advance(60_000)
  await publishEvent(harness, agent, 'key_w')
  await run('events', 'webhooks')
  assert.equal(
    await read('pohf_webhook_wait_seconds_count'),
    2,
    'a retry or a failing receiver does not count',
  )
})

test('a signer that is away shows as not ready', async () => {
  assert.equal(await read('pohf_ready{check="signer"}'), 1)
  await harness.stopSigner()
  // A check that passed is not run again for a second.
  await pollUntil('not ready', async () => (await read('pohf_ready{check="signer"}')) === 0)
  assert.equal(await read('pohf_ready{check="database"}'), 1)
  await harness.startSigner()
  await pollUntil('ready again', async () => (await read('pohf_ready{check="signer"}')) === 1)
})

const countOf = async (status: number): Promise<number> =>
  (await read(`pohf_http_request_seconds_count{endpoint="credentials.siteverify",status="${status}"}`)) || 0

test('a siteverify that cannot answer counts as a fault, and a refused one by its error', async () => {
  const agent = await harness.register('test')
  const check = (fields: Record<string, string>) =>
    harness.call('POST', '/siteverify', {
      raw: String(new URLSearchParams(fields)),
      headers: { 'content-type': formType },
    })
  await check({ secret: agent.apiKey, response: 'a visit' })
  assertFailure(await check({ secret: agent.apiKey }), 'missing-input-response', 'validation_failed')
  assert.deepEqual([await countOf(200), await countOf(400), await countOf(503)], [1, 1, 0])
  await harness.stopSigner()
  try {
    const response = 'a visit while the signer is away'
    assertFailure(await check({ secret: agent.apiKey, response }), 'internal-error', 'overloaded')
    assert.deepEqual([await countOf(200), await countOf(400), await countOf(503)], [1, 1, 1])
  } finally {
    await harness.startSigner()
  }
})

test('the api shows the disk and the keys of each signer, without a metrics listener of the signer', async () => {
  const { text } = await harness.callOperator('GET', '/metrics')
  const [line = '', signer = ''] = /^pohf_journal_disk_free_bytes\{signer="(sgn_\w+)"\} .*$/m.exec(text) ?? []
  const free = Number(line.split(' ')[1])
  assert.ok(free > 0 && free <= (await read(`pohf_journal_disk_bytes{signer="${signer}"}`)), line)
  const keyLeft = `pohf_signing_key_seconds_left{signer="${signer}",purpose="live"}`
  const day = 86_400
  const before = await read(keyLeft)
  assert.ok(before > 28 * day && before <= 30 * day, `${before} s`)
  await harness.advance(3_600_000)
  assert.ok(Math.abs(before - (await read(keyLeft)) - 3_600) < 60)
  await harness.stopSigner()
  try {
    const { text: away } = await harness.callOperator('GET', '/metrics')
    assert.doesNotMatch(away, /^pohf_(journal_disk|signing_key)\w*\{/m, 'no figure of a signer that is away')
  } finally {
    await harness.startSigner()
  }
})

const topicsOf = (text: string): (string | undefined)[] =>
  [...text.matchAll(/^pohf_outbox_oldest_seconds\{topic="(\w+)"\}/gm)].map(([, topic]) => topic)

test('mails that wait for a mail server to be configured are not late', async () => {
  const { text } = await harness.callOperator('GET', '/metrics')
  const { rows } = await harness.owner.query(
    "select count(*)::int as n from outbox where topic = 'mail_confirmation'",
  )
  assert.ok(rows[0].n > 0, 'mails of the registrations wait')
  assert.deepEqual(topicsOf(text), ['event'])
  const mailing = await openHarness({ SMTP_URL: 'smtp://127.0.0.1:1' })
  try {
    const { text: sent } = await mailing.callOperator('GET', '/metrics')
    assert.deepEqual(topicsOf(sent), ['event', 'mail_sign_in', 'mail_confirmation', 'mail'])
  } finally {
    await mailing.close()
  }
})

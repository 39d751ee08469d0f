import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startHarness } from '../fixtures/harness.ts'
import { linkOf, startMailbox } from '../fixtures/mailbox.ts'
import { assertRefusal } from '../fixtures/refusal.ts'

const mailbox = await startMailbox()
after(() => mailbox.stop())
const harness = await startHarness({
  SMTP_URL: `smtp://127.0.0.1:${mailbox.smtpPort}`,
  MAILS_PER_RECIPIENT_PER_DAY: '6',
})
const day = 86_400_000
// Noon, so that no test crosses the end of a day.
await harness.advance(((day * 1.5 - (Date.now() % day)) % day) + 1)

const mailsTo = (address: string) => mailbox.mails.filter((mail) => mail.to.includes(address))
const register = (contactEmail: string, mode = 'live') =>
  harness.call('POST', '/api/agents/register', { body: { name: 'Test', contactEmail, mode } })
const resend = (key: string) => harness.call('POST', '/api/agents/email/resend', { key, body: {} })
const recover = (contactEmail: string) =>
  harness.call('POST', '/api/agents/keys/recover', { body: { contactEmail } })

/** What a caller sees of a registration, without what differs every time. */
const shapeOf = ({ status, json, headers }: Awaited<ReturnType<typeof register>>) => ({
  status,
  fields: Object.keys(json),
  mode: json.mode,
  headers: Object.keys(headers).toSorted(),
})

test('fifteen registrations send six mails to one recipient, and every answer looks the same', async () => {
  const answers = await Promise.all(Array.from({ length: 15 }, () => register('victim@example.com')))
  await harness.runJobs()
  assert.equal(mailsTo('victim@example.com').length, 6)
  for (const answer of answers) {
    assert.equal(answer.status, 200)
    assert.deepEqual(shapeOf(answer), answers[0] && shapeOf(answers[0]))
    assert.equal((await harness.call('GET', '/api/agents/me', { key: answer.json.apiKey })).status, 200)
  }
})

test('both modes, other spellings and +suffixes reach the same mailbox', async () => {
  const spellings = [
    'Ann.Lee@Gmail.com',
    'annlee@gmail.com',
    'a.n.n.lee+1@googlemail.com',
    'annlee+2@gmail.com',
  ]
  for (let round = 0; round < 3; round++)
    for (const address of spellings) await register(address, round === 1 ? 'test' : 'live')
  await harness.runJobs()
  const sent = mailbox.mails.filter((mail) => mail.to.some((to) => /^(ann|a\.n\.n)/i.test(to)))
  assert.equal(sent.length, 6)
})

test('resending counts too, and says when to try again', async () => {
  const { json } = await register('resent@example.com')
  for (let n = 0; n < 5; n++) await register('resent@example.com')
  const refused = await resend(json.apiKey)
  assertRefusal(refused, 429, 'rate_limited')
  const wait = Number(refused.headers['retry-after'])
  assert.ok(wait > 0 && wait <= 86_400, `waits ${wait}`)
  await harness.runJobs()
  assert.equal(mailsTo('resent@example.com').length, 6)
  await harness.advance(wait * 1_000)
  assert.deepEqual((await resend(json.apiKey)).json, { sent: true })
  await harness.runJobs()
  assert.equal(mailsTo('resent@example.com').length, 7)
})

test('unwanted registrations leave recovery mails to the owner, and those have their own limit', async () => {
  const { json } = await register('owner@example.com')
  await harness.runJobs()
  const { token } = linkOf(mailsTo('owner@example.com')[0])
  await harness.call('POST', '/api/agents/email/confirm', { body: { token } })
  for (let n = 0; n < 10; n++) await register('owner@example.com')
  await harness.runJobs()
  assert.equal(mailsTo('owner@example.com').length, 6)
  for (let hours = 0; hours < 4; hours++) {
    for (let n = 0; n < 3; n++) assert.equal((await recover('owner@example.com')).status, 200)
    // An hour later as far as the limit of an agent is concerned, and the same day.
    await harness.owner.query(
      "update mail_tokens set expires_at = expires_at - interval '2 hours' where agent_id = $1",
      [json.agentId],
    )
  }
  await harness.runJobs()
  assert.equal(mailsTo('owner@example.com').length, 12)
})

test('the counts hold no address, and yesterday’s are deleted', async () => {
  await register('counted@example.com')
  const count = async () =>
    (await harness.owner.query<{ text: string }>('select row_to_json(c)::text as text from mail_counts c'))
      .rows
  const before = await count()
  assert.ok(before.length > 0)
  for (const { text } of before) assert.doesNotMatch(text, /@|counted|example/)
  await harness.advance(day)
  await harness.runJobs()
  assert.deepEqual(await count(), [])
})

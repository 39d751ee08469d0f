import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { freePort } from '../../dev/cluster.ts'
import { scopes } from '@pohf/protocol'
import { buildJobs } from '../../src/wiring/index.ts'
import { assertRefusal } from '../fixtures/refusal.ts'
import { runJobs, startHarness } from '../fixtures/harness.ts'
import { linkOf, startMailbox, subjectOf, textOf } from '../fixtures/mailbox.ts'

const mailbox = await startMailbox()
after(() => mailbox.stop())
const harness = await startHarness({
  SMTP_URL: `smtp://127.0.0.1:${mailbox.smtpPort}`,
  MAIL_FROM: 'PoHF <no-reply@pohf.example>',
})

const mailsTo = (address: string) => mailbox.mails.filter((mail) => mail.to.includes(address))
const post = (path: string, body: unknown = {}, key?: string) =>
  harness.call('POST', `/api/agents/${path}`, { body, ...(key === undefined ? {} : { key }) })
const confirm = (token: string) => post('email/confirm', { token })
const recover = (contactEmail: string) => post('keys/recover', { contactEmail })
const complete = (token: string) => post('keys/recover/complete', { token })
const statusOf = async (key: string) => (await harness.call('GET', '/api/agents/me', { key })).status
const hour = 3_600_000

/** An agent whose address is confirmed through its mail. */
const registerConfirmed = async (address: string) => {
  const agent = await harness.register('live', address)
  await harness.runJobs()
  const { token } = linkOf(mailsTo(address).at(-1))
  assert.equal((await confirm(token)).status, 200)
  return agent
}
/** The token of the newest recovery mail to an address. */
const recoveryToken = async (address: string) => {
  await recover(address)
  await harness.runJobs()
  const { page, token } = linkOf(mailsTo(address).at(-1))
  assert.equal(page, '/agents/recover')
  return token
}

test('registration mails one link, and the link confirms the address once', async () => {
  const agent = await harness.register('live', 'one@example.com')
  assert.equal(mailsTo('one@example.com').length, 0, 'the request itself sends nothing')
  await harness.runJobs()
  const [mail, ...others] = mailsTo('one@example.com')
  assert.ok(mail && others.length === 0)
  assert.match(mail.raw, /^From: PoHF <no-reply@pohf\.example>/m)
  assert.equal(subjectOf(mail), 'Confirm your address for PoHF')
  assert.match(textOf(mail), new RegExp(agent.agentId))
  const { page, token } = linkOf(mail)
  assert.equal(page, '/agents/confirm')

  assert.deepEqual((await confirm(token)).json, { agentId: agent.agentId, confirmed: true })
  const { json } = await harness.call('GET', '/api/agents/me', { key: agent.apiKey })
  assert.ok(Math.abs(Date.parse(json.emailConfirmedAt) - harness.ctx.clock.now().getTime()) < 30_000)
  assertRefusal(await confirm(token), 404, 'not_found')
})

test('the visit of a link does nothing: mail scanners open links by themselves', async () => {
  const agent = await harness.register('live', 'scanner@example.com')
  await harness.runJobs()
  const { page, token } = linkOf(mailsTo('scanner@example.com')[0])
  for (const method of ['GET', 'HEAD']) {
    const answer = await harness.call(method, `${page}?token=${token}`)
    assert.equal(answer.status, 200)
    assert.match(answer.headers['content-type'] ?? '', /^text\/html/)
  }
  const { json } = await harness.call('GET', '/api/agents/me', { key: agent.apiKey })
  assert.equal(json.emailConfirmedAt, null)
  assert.equal((await confirm(token)).status, 200)
})

test('a token in the page is escaped, whatever the link carries', async () => {
  const { text } = await harness.call(
    'GET',
    `/agents/confirm?token=${encodeURIComponent('"><script>x</script>')}`,
  )
  assert.doesNotMatch(text, /<script>x/)
  assert.match(text, /&quot;&gt;&lt;script&gt;/)
})

test('a confirmation link lives 72 hours', async () => {
  await harness.register('live', 'slow@example.com')
  await harness.register('live', 'late@example.com')
  await harness.runJobs()
  await harness.advance(72 * hour - 60_000)
  assert.equal((await confirm(linkOf(mailsTo('slow@example.com')[0]).token)).status, 200)
  await harness.advance(61_000)
  assertRefusal(await confirm(linkOf(mailsTo('late@example.com')[0]).token), 404, 'not_found')
})

test('a token nobody mailed, or of another form, confirms nothing', async () => {
  assertRefusal(await confirm('A'.repeat(43)), 404, 'not_found')
  for (const bad of ['', 'short', 'A'.repeat(44), `${'A'.repeat(42)}!`, 5, null])
    assertRefusal(await post('email/confirm', { token: bad }), 400, 'validation_failed')
})

test('twenty confirmations at once with one token: exactly one succeeds, one event is published', async () => {
  const agent = await harness.register('live', 'race@example.com')
  await harness.runJobs()
  const { token } = linkOf(mailsTo('race@example.com')[0])
  const answers = await Promise.all(Array.from({ length: 20 }, () => confirm(token)))
  assert.equal(answers.filter((answer) => answer.status === 200).length, 1)
  const { rows } = await harness.owner.query(
    "select from events where agent_id = $1 and type = 'agent.email_confirmed'",
    [agent.agentId],
  )
  assert.equal(rows.length, 1)
})

test('the confirmation mail is sent again at most five times an hour, and not once it is confirmed', async () => {
  const agent = await harness.register('live', 'resend@example.com')
  const resend = () => post('email/resend', {}, agent.apiKey)
  const answers = await Promise.all(Array.from({ length: 20 }, resend))
  assert.equal(answers.filter((answer) => answer.status === 200).length, 4)
  for (const answer of answers)
    if (answer.status !== 200) {
      assertRefusal(answer, 429, 'rate_limited')
      assert.equal(answer.headers['retry-after'], '3600')
    }
  await harness.runJobs()
  assert.equal(mailsTo('resend@example.com').length, 5)
  const tokens = mailsTo('resend@example.com').map((mail) => linkOf(mail).token)
  assert.equal(new Set(tokens).size, 5)

  await harness.advance(hour + 1_000)
  assert.deepEqual((await resend()).json, { sent: true })
  assert.equal((await confirm(tokens[2] ?? '')).status, 200)
  await harness.runJobs()
  assert.deepEqual((await resend()).json, { sent: false })
  await harness.runJobs()
  assert.equal(mailsTo('resend@example.com').length, 6)
})

/** The headers that do not differ from one request to the next anyway. */
const comparable = ({ headers }: { headers: Record<string, unknown> }) =>
  Object.entries(headers).filter(([name]) => !['x-request-id', 'date'].includes(name))

test('recovery answers the same to everybody, and mails only a confirmed address', async () => {
  await registerConfirmed('known@example.com')
  await harness.register('live', 'unconfirmed@example.com')
  await harness.runJobs()
  const before = mailbox.mails.length
  const answers = [
    await recover('known@example.com'),
    await recover('unconfirmed@example.com'),
    await recover('nobody@example.com'),
  ]
  const [first] = answers
  assert.equal(first?.status, 200)
  for (const answer of answers) {
    assert.equal(answer.text, first?.text)
    assert.deepEqual(comparable(answer), first && comparable(first))
  }
  await harness.runJobs()
  assert.deepEqual(
    mailbox.mails.slice(before).map((mail) => mail.to),
    [['known@example.com']],
  )
})

test('recovery finds the address whatever the case it is written in', async () => {
  await registerConfirmed('Mixed.Case@Example.com'.toLowerCase())
  const before = mailsTo('mixed.case@example.com').length
  assert.equal((await recover('MIXED.case@EXAMPLE.com')).status, 200)
  await harness.runJobs()
  assert.equal(mailsTo('mixed.case@example.com').length, before + 1)
})

test('a recovery link ends every old key and gives one new one with every scope, once', async () => {
  const agent = await registerConfirmed('lost@example.com')
  const further = (await post('keys', { scopes: ['keys'] }, agent.apiKey)).json.apiKey as string
  assert.deepEqual([await statusOf(agent.apiKey), await statusOf(further)], [200, 200])
  const token = await recoveryToken('lost@example.com')
  assert.deepEqual(
    [await statusOf(agent.apiKey), await statusOf(further)],
    [200, 200],
    'asking changes nothing',
  )

  const recovered = await complete(token)
  assert.equal(recovered.status, 200)
  assert.deepEqual([recovered.json.agentId, recovered.json.mode], [agent.agentId, 'live'])
  assert.deepEqual([await statusOf(agent.apiKey), await statusOf(further)], [401, 401])
  const { json } = await harness.call('GET', '/api/agents/keys', { key: recovered.json.apiKey })
  assert.deepEqual(json.keys[0].scopes, [...scopes])
  assert.equal(json.keys.filter((key: { revokedAt: string | null }) => key.revokedAt === null).length, 1)

  assertRefusal(await complete(token), 404, 'not_found')
  assert.equal(await statusOf(recovered.json.apiKey), 200)
})

test('twenty completions at once with one token give one key', async () => {
  const agent = await registerConfirmed('race2@example.com')
  const token = await recoveryToken('race2@example.com')
  const answers = await Promise.all(Array.from({ length: 20 }, () => complete(token)))
  const made = answers.filter((answer) => answer.status === 200)
  assert.equal(made.length, 1)
  assert.equal(await statusOf(made[0]?.json.apiKey), 200)
  assert.equal(await statusOf(agent.apiKey), 401)
})

test('a recovery link lives an hour, and the two kinds of links do not stand in for each other', async () => {
  const agent = await registerConfirmed('kinds@example.com')
  const token = await recoveryToken('kinds@example.com')
  assertRefusal(await confirm(token), 404, 'not_found')
  const other = await harness.register('live', 'kinds2@example.com')
  await harness.runJobs()
  assertRefusal(await complete(linkOf(mailsTo('kinds2@example.com')[0]).token), 404, 'not_found')
  assert.equal(await statusOf(other.apiKey), 200)
  await harness.advance(hour + 1_000)
  assertRefusal(await complete(token), 404, 'not_found')
  assert.equal(await statusOf(agent.apiKey), 200)
})

test('an address gets at most three recovery mails an hour, however many ask at once', async () => {
  await registerConfirmed('flood@example.com')
  const before = mailsTo('flood@example.com').length
  const answers = await Promise.all(Array.from({ length: 20 }, () => recover('flood@example.com')))
  assert.ok(answers.every((answer) => answer.status === 200))
  await harness.runJobs()
  assert.equal(mailsTo('flood@example.com').length, before + 3)
  await harness.advance(hour + 1_000)
  await recover('flood@example.com')
  await harness.runJobs()
  assert.equal(mailsTo('flood@example.com').length, before + 4)
})

test('an address with several agents gets a link for each, and a link touches only its own', async () => {
  const one = await registerConfirmed('several@example.com')
  const two = await registerConfirmed('several@example.com')
  const before = mailsTo('several@example.com').length
  await recover('several@example.com')
  await harness.runJobs()
  const mails = mailsTo('several@example.com').slice(before)
  assert.equal(mails.length, 2)
  const mine = mails.find((mail) => textOf(mail).includes(one.agentId))
  assert.equal((await complete(linkOf(mine).token)).json.agentId, one.agentId)
  assert.deepEqual([await statusOf(one.apiKey), await statusOf(two.apiKey)], [401, 200])
})

test('a suspended agent gets no recovery mail, and a link mailed before opens nothing', async () => {
  const agent = await registerConfirmed('suspended@example.com')
  const token = await recoveryToken('suspended@example.com')
  await harness.owner.query('update agents set suspended_at = now() where agent_id = $1', [agent.agentId])
  const before = mailbox.mails.length
  await recover('suspended@example.com')
  await harness.runJobs()
  assert.equal(mailbox.mails.length, before)
  const answer = await complete(token)
  assert.equal(answer.status === 200 ? await statusOf(answer.json.apiKey) : 401, 401)
})

test('a dead mail server fails no request, and the mail comes when it is back', async () => {
  const port = await freePort()
  const offline = await startHarness({ SMTP_URL: `smtp://127.0.0.1:${port}` })
  const agent = await offline.register('live', 'patient@example.com')
  assert.match(agent.apiKey, /^svc_live_/)
  // All jobs together take seconds on a busy machine, and after five the mail is tried again.
  const mailing = buildJobs(offline.ctx).filter(({ name }) => name === 'mail_confirmation')
  assert.equal(mailing.length, 1)
  await runJobs(mailing)
  const waiting = async () =>
    (await offline.owner.query("select attempts, last_error from outbox where topic = 'mail_confirmation'"))
      .rows
  assert.equal((await waiting())[0].attempts, 1)
  assert.match((await waiting())[0].last_error, /ECONNREFUSED/)

  const late = await startMailbox(port)
  try {
    await runJobs(mailing)
    assert.equal(late.mails.length, 0, 'not before its wait is over')
    await offline.advance(5_100)
    await offline.runJobs()
    assert.equal(late.mails.length, 1)
    assert.deepEqual(await waiting(), [])
    const { token } = linkOf(late.mails[0])
    const answer = await offline.call('POST', '/api/agents/email/confirm', { body: { token } })
    assert.equal(answer.status, 200)
  } finally {
    await late.stop()
  }
})

test('without a mail server mails wait in the outbox and no request fails', async () => {
  const silent = await startHarness()
  await silent.register('live', 'waiting@example.com')
  await silent.runJobs()
  const { rows } = await silent.owner.query("select attempts from outbox where topic = 'mail_confirmation'")
  assert.deepEqual(rows, [{ attempts: 0 }])
})

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { eventEnvelope } from '@pohf/protocol'
import { startHarness, type Harness } from '../../../test/fixtures/harness.ts'
import { linkOf, startMailbox, subjectOf, textOf } from '../../../test/fixtures/mailbox.ts'
import { respondWith, startReceiver } from '../../../test/fixtures/webhook-receiver.ts'
import {
  dayMs,
  endpointOf,
  publishEvent,
  hourMs,
  registerIdleAgent,
  subscribe,
  makeWebhookJobRunner,
} from '../../../test/fixtures/webhooks.ts'

const mailbox = await startMailbox()
after(() => mailbox.stop())
const minuteMs = 60_000

const webhookMails = () => mailbox.mails.filter((mail) => /webhook/i.test(subjectOf(mail)))
const owner = 'owner@example.com'

const setUp = async () => {
  const harness = await startHarness({ SMTP_URL: `smtp://127.0.0.1:${mailbox.smtpPort}` })
  const agent = await harness.register('live', owner)
  await harness.runJobs()
  const { token } = linkOf(mailbox.mails.at(-1))
  await harness.call('POST', '/api/agents/email/confirm', { body: { token } })
  const [broken, healthy] = [await startReceiver(respondWith(500)), await startReceiver()]
  const { id } = await subscribe(harness, agent, `${broken.url}?token=hidden`, ['key.revoked'])
  await subscribe(harness, agent, healthy.url, ['endpoint.failing', 'endpoint.disabled'])
  return { harness, agent, broken, healthy, id }
}
type SetUp = Awaited<ReturnType<typeof setUp>>

/** Moves time until the endpoint is disabled, with an event on each day, and notes what reached the receiver and the owner. */
const failForDays = async ({ harness, agent, broken, id }: SetUp) => {
  const startedAt = harness.ctx.clock.now()
  const hoursSince = () => (harness.ctx.clock.now().getTime() - startedAt.getTime()) / hourMs
  const runWebhookJobs = makeWebhookJobRunner(harness)
  const eventIds = [await publishEvent(harness, agent)]
  const attempts: { hours: number; type: string }[] = []
  const notices: { hours: number; subject: string }[] = []
  const note = () => {
    for (const { body } of broken.received.splice(0))
      attempts.push({ hours: hoursSince(), type: eventEnvelope.parse(JSON.parse(body)).type })
    for (const mail of webhookMails().slice(notices.length))
      notices.push({ hours: hoursSince(), subject: subjectOf(mail) })
  }
  await runWebhookJobs()
  note()
  let disabledAfter = 0
  for (let minutes = 0; disabledAfter === 0 && minutes < 6 * 24 * 60;) {
    // Short steps at first, where the retry delays are short.
    const step = minutes < 10 ? 1 : minutes < 60 ? 10 : 30
    minutes += step
    await harness.advance(step * minuteMs)
    if (minutes % (24 * 60) === 0 && minutes < 5 * 24 * 60) eventIds.push(await publishEvent(harness, agent))
    await runWebhookJobs()
    note()
    if ((await endpointOf(harness, id))?.state === 'disabled') disabledAfter = hoursSince()
  }
  return { startedAt, eventIds, attempts, notices, disabledAfter }
}
type Failure = Awaited<ReturnType<typeof failForDays>>

/** The attempts of the first event: 0, 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h, 24 h, each within a tenth. */
const assertRetrySchedule = async (harness: Harness, { eventIds, startedAt, attempts }: Failure) => {
  const { rows } = await harness.owner.query<{ hours: number }>(
    `select extract(epoch from at - $2)::float / 3600 as hours from webhook_attempts where event_id = $1 order by at`,
    [eventIds[0], startedAt],
  )
  const planned = [0, 5 / 3_600, 5 / 60, 0.5, 2, 5, 10, 14, 20, 24]
  assert.equal(rows.length, 10)
  for (const [index, { hours }] of rows.entries()) {
    const delay = hours - (rows[index - 1]?.hours ?? 0)
    const plan = planned[index] ?? 0
    // The jobs run up to 30 minutes late, at first one minute. Time moves in whole minutes; the rest is the machine's own.
    const wholeMinutes = Math.floor(delay * 60) / 60
    assert.ok(
      delay >= plan * 0.9 - 0.02 && wholeMinutes <= plan * 1.1 + (plan < 0.1 ? 0.02 : 0.6),
      `attempt ${index + 1} after ${delay} h`,
    )
  }
  // No silence of more than a day: an endpoint without attempts is probed.
  for (const [index, { hours }] of attempts.entries())
    assert.ok(hours - (attempts[index - 1]?.hours ?? 0) <= 25, `nothing for a day before ${hours} h`)
}

const assertNotices = ({ healthy, id }: SetUp, { notices, disabledAfter }: Failure) => {
  assert.ok(disabledAfter >= 120 && disabledAfter < 121, `disabled after ${disabledAfter} h`)
  assert.deepEqual(
    notices.map(({ subject }) => subject.replace(/127\.0\.0\.1:\d+/, 'HOST')),
    [
      'Your webhook at HOST has failed for an hour',
      'Your webhook at HOST has failed for a day',
      'Your webhook at HOST was disabled',
    ],
  )
  const [first, second, third] = notices
  assert.ok(first && first.hours >= 1 && first.hours <= 1.5)
  assert.ok(second && second.hours >= 24 && second.hours <= 24.5)
  assert.ok(third && third.hours >= 120 && third.hours < 121)
  assert.deepEqual(
    healthy.received
      .map(({ body }) => eventEnvelope.parse(JSON.parse(body)))
      .map(({ type, data }) => [type, data['hours']]),
    [
      ['endpoint.failing', 1],
      ['endpoint.failing', 24],
      ['endpoint.disabled', undefined],
    ],
  )
  for (const mail of webhookMails()) {
    assert.deepEqual(mail.to, [owner])
    assert.ok(!mail.raw.includes('hidden'), 'the mail holds what follows the host')
    assert.match(textOf(mail), new RegExp(`/console#/webhooks/${id}`))
  }
}

test('five days of failure: the schedule, three notices, the end, and one call that recovers every event', async (t) => {
  const fixture = await setUp()
  const { harness, agent, broken, id } = fixture
  const failure = await failForDays(fixture)
  const { eventIds, attempts, disabledAfter } = failure
  await assertRetrySchedule(harness, failure)
  assertNotices(fixture, failure)
  const lastMail = webhookMails()[2]
  assert.ok(lastMail)
  const command = /pohf webhooks recover (\S+) --since (\S+)/.exec(textOf(lastMail))
  assert.equal(command?.[1], id)

  // Two days later, with one more event missed: the receiver works again, and the owner makes the call of the mail.
  await harness.advance(2 * dayMs)
  eventIds.push(await publishEvent(harness, agent))
  await harness.runJobs()
  broken.respond = respondWith(204)
  await harness.call('POST', `/api/agents/webhooks/${id}/recover`, {
    key: agent.apiKey,
    body: { since: command?.[2] },
  })
  await harness.runJobs()
  assert.deepEqual(broken.eventIds().toSorted(), eventIds.toSorted(), 'an event was lost, or came twice')
  assert.equal((await endpointOf(harness, id))?.state, 'enabled')
  t.diagnostic(
    `${attempts.length} attempts, ${eventIds.length} events, disabled after ${disabledAfter.toFixed(1)} h`,
  )
})

test('an unconfirmed address receives no notice', async () => {
  const harness = await startHarness({ SMTP_URL: `smtp://127.0.0.1:${mailbox.smtpPort}` })
  const agent = await harness.register('live', 'victim@example.com')
  await harness.runJobs()
  const written = mailbox.mails.length
  const gone = await startReceiver(respondWith(410))
  await subscribe(harness, agent, gone.url)
  await publishEvent(harness, agent)
  await harness.runJobs()
  assert.equal(gone.received.length, 1)
  assert.equal(mailbox.mails.length, written)
})

test('one success resets the notices: they start again with the next failure', async () => {
  const harness = await startHarness({ SMTP_URL: `smtp://127.0.0.1:${mailbox.smtpPort}` })
  const agent = await harness.register('live', 'again@example.com')
  await harness.runJobs()
  await harness.call('POST', '/api/agents/email/confirm', {
    body: { token: linkOf(mailbox.mails.at(-1)).token },
  })
  const runWebhookJobs = makeWebhookJobRunner(harness)
  const written = mailbox.mails.length
  const receiver = await startReceiver(respondWith(500))
  await subscribe(harness, agent, receiver.url, ['key.revoked'])
  for (let spell = 1; spell <= 2; spell++) {
    receiver.respond = respondWith(500)
    await publishEvent(harness, agent)
    await runWebhookJobs()
    await harness.advance(1.1 * hourMs)
    await runWebhookJobs()
    assert.equal(mailbox.mails.length, written + spell)
    receiver.respond = respondWith(204)
    await harness.advance(3 * hourMs)
    await runWebhookJobs()
    await harness.advance(30 * hourMs)
    await runWebhookJobs()
    assert.equal(mailbox.mails.length, written + spell)
  }
})

test('an owner who sends the URL that the endpoint has does not close its circuit breaker', async () => {
  const harness = await startHarness()
  const runWebhookJobs = makeWebhookJobRunner(harness)
  const receiver = await startReceiver(respondWith(500))
  const agent = await registerIdleAgent(harness)
  const { id } = await subscribe(harness, agent, receiver.url)
  for (let i = 0; i < 5; i++) await publishEvent(harness, agent)
  await runWebhookJobs()
  const before = receiver.received.length
  assert.ok((await endpointOf(harness, id))?.failing_since)
  for (const url of [receiver.url, `${receiver.url}#again`]) {
    const { status } = await harness.call('PATCH', `/api/agents/webhooks/${id}`, {
      key: agent.apiKey,
      body: { url },
    })
    assert.equal(status, 200)
    await runWebhookJobs()
  }
  assert.equal(receiver.received.length, before)
  assert.ok((await endpointOf(harness, id))?.failing_since)
})

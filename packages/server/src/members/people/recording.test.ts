import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkChunks } from '@pohf/verify'
import { platformAgentId } from '../../agents/index.ts'
import { startHarness } from '../../../test/fixtures/harness.ts'
import {
  enrolMember,
  invite,
  openBrowser,
  registerConfirmedAgent,
} from '../../../test/fixtures/people/member.ts'
import { makePasskey } from '../../../test/fixtures/people/authenticator.ts'
import { openRecorder } from '../../../test/fixtures/people/recorder.ts'
import { assertRefusal } from '../../../test/fixtures/refusal.ts'
import { startReceiver } from '../../../test/fixtures/webhook-receiver.ts'
import { subscribe } from '../../../test/fixtures/webhooks.ts'

const harness = await startHarness()
const live = await registerConfirmedAgent(harness, 'live', 'one@example.com')
const chunksOf = (sessionId: string, query = '') => `me/sessions/${sessionId}/chunks${query}`

test('a person reads their own recording page by page, and it verifies', async () => {
  const { browser, sessionId } = await enrolMember(harness, live)
  const first = await browser.get(chunksOf(sessionId, '?limit=2'))
  assert.equal(first.status, 200, first.text)
  assert.deepEqual(
    first.json.chunks.map(({ seq }: { seq: number }) => seq),
    [1, 2],
  )
  assert.equal(first.json.nextFrom, 3)
  const { json } = await browser.get(chunksOf(sessionId, '?limit=100'))
  const whole = await checkChunks(json)
  assert.ok(whole.ok && whole.records.length === json.telemetry.n)
})

test('no call, event or delivery shows an agent the attention check of its member', async () => {
  const receiver = await startReceiver()
  const endpoint = await subscribe(harness, live, receiver.url)
  const { sessionId, memberId } = await enrolMember(harness, live)
  const call = (method: 'GET' | 'POST', path: string, body?: object) =>
    harness.call(method, `/api/agents/${path}`, { key: live.apiKey, ...(body ? { body } : {}) })
  for (const path of [`sessions/${sessionId}`, `sessions/${sessionId}/chunks`])
    assertRefusal(await call('GET', path), 404, 'not_found')
  assertRefusal(await call('POST', 'verify', { sessionId }), 404, 'not_found')
  await harness.advance(60_000)
  await harness.runJobs()
  const seen = [
    await call('GET', 'events?limit=100'),
    await call('GET', 'metrics'),
    await call('GET', 'metrics?format=csv'),
    await call('GET', 'members'),
    await call('GET', `members/${memberId}`),
    await call('GET', `webhooks/${endpoint.id}/deliveries`),
    await call('POST', 'verify-personhood', { memberId }),
  ]
  assert.deepEqual(
    seen.map(({ status }) => status),
    seen.map(() => 200),
  )
  assert.ok(seen[0]?.text.includes(memberId), 'the events are empty')
  const texts = [...seen.map(({ text }) => text), ...receiver.received.map(({ body }) => body)]
  assert.ok(receiver.received.length > 0, 'nothing was delivered')
  for (const text of texts) assert.ok(!text.includes(sessionId), text.slice(0, 300))
  // Not even a count: an agent sees the views of its own pages.
  assert.equal(seen[1]?.json.summary.views, 0)
})

test('two agents have no recording of a person whom both enrolled', async () => {
  const other = await registerConfirmedAgent(harness, 'live', 'two@example.com')
  const first = await enrolMember(harness, live)
  const second = await enrolMember(harness, other, { browser: first.browser })
  for (const { apiKey } of [live, other])
    for (const { sessionId } of [first, second])
      for (const path of [sessionId, `${sessionId}/chunks`])
        assertRefusal(
          await harness.call('GET', `/api/agents/sessions/${path}`, { key: apiKey }),
          404,
          'not_found',
        )
  const { rows } = await harness.owner.query(
    'select distinct agent_id from session_chunks where session_id = any($1)',
    [[first.sessionId, second.sessionId]],
  )
  assert.deepEqual(rows, [{ agent_id: platformAgentId(harness.ctx.config, 'live') }])
  const mine = (await first.browser.get('me')).json.memberships as { sessions: { sessionId: string }[] }[]
  assert.deepEqual(
    mine.flatMap(({ sessions }) => sessions.map((one) => one.sessionId)).toSorted(),
    [first.sessionId, second.sessionId].toSorted(),
  )
})

test('another person’s recording is not found, and reading one requires sign-in', async () => {
  const owner = await enrolMember(harness, live)
  const stranger = await enrolMember(harness, live)
  assertRefusal(await stranger.browser.get(chunksOf(owner.sessionId)), 404, 'not_found')
  assertRefusal(await stranger.browser.get(chunksOf('ses_none')), 404, 'not_found')
  assertRefusal(await openBrowser(harness).get(chunksOf(owner.sessionId)), 401, 'sign_in_required')
  assertRefusal(await owner.browser.get(chunksOf(owner.sessionId, '?limit=101')), 400, 'validation_failed')
})

test('an unfinished recording is readable by nobody: its probes are not answered yet', async () => {
  const browser = openBrowser(harness)
  const { token, memberId } = await invite(harness, live.apiKey)
  const { site, challenge } = (await browser.agree(token, makePasskey())).json
  const recorder = await openRecorder({ send: harness.call, site, challenge })
  await harness.advance(2_000)
  await recorder.chunk({ t1: 2_000, events: [['f', 5, 1, 1, 100]] })
  await harness.owner.query('update sessions set member_ref = $1 where session_id = $2', [
    memberId,
    recorder.sessionId,
  ])
  assertRefusal(await browser.get(chunksOf(recorder.sessionId)), 404, 'not_found')
})

test('after its retention the recording is deleted; its hashes stay readable', async () => {
  const { browser, sessionId, passkey } = await enrolMember(harness, live)
  await harness.advance(31 * 86_400_000)
  await harness.runJobs()
  await browser.signIn(passkey)
  const { json, status } = await browser.get(chunksOf(sessionId))
  assert.deepEqual([status, json.chunks, json.nextFrom], [200, [], null])
  assert.ok((await browser.get('me')).text.includes(sessionId))
})

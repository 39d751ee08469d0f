import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkChunks } from '@pohf/verify'
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
  // The agent's own call returns the same.
  const agents = await harness.call('GET', `/api/agents/sessions/${sessionId}/chunks?limit=100`, {
    key: live.apiKey,
  })
  assert.deepEqual(json, agents.json)
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

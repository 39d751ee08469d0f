import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { makePasskey } from '../../../test/fixtures/people/authenticator.ts'
import {
  enrolMember,
  openBrowser,
  proveAttention,
  registerConfirmedAgent,
} from '../../../test/fixtures/people/member.ts'
import { assertRefusal } from '../../../test/fixtures/refusal.ts'
import { languages, messagesOf } from '../pages/messages.ts'
import { attentionDaysMax, consentVersion } from '../rules.ts'

const harness = await startHarness()
const live = await registerConfirmedAgent(harness, 'live', 'one@example.com')
const dayMs = 86_400_000

const inviteAgain = async (memberId: string): Promise<string> => {
  const { status, json, text } = await harness.call('POST', '/api/agents/members', {
    key: live.apiKey,
    body: { memberId },
  })
  assert.equal(status, 200, text)
  assert.equal(json.memberId, memberId)
  return String(json.enrolUrl).split('/m/')[1] ?? ''
}
const personhood = (memberId: string) =>
  harness.call('POST', '/api/agents/verify-personhood', { key: live.apiKey, body: { memberId } })
const agree = (browser: ReturnType<typeof openBrowser>, token: string) =>
  browser.post('enrol', { token, consentVersion, language: 'en' })

test('a check that is too old is renewed through a new link for the same member', async () => {
  const { memberId, browser, passkey } = await enrolMember(harness, live)
  const early = await agree(browser, await inviteAgain(memberId))
  assert.deepEqual([early.json.status, early.json.checkRequired], ['enrolled', false])

  await harness.advance((attentionDaysMax + 1) * dayMs)
  assert.equal((await personhood(memberId)).json.details[0].code, 'attention_too_old')
  await browser.signIn(passkey)
  const token = await inviteAgain(memberId)
  const { json } = await agree(browser, token)
  assert.deepEqual([json.status, json.checkRequired, json.recoveryCodes], ['enrolled', true, undefined])
  const { site, challenge } = json as { site: string; challenge: string }
  const { answer } = await proveAttention(harness, browser, { token, site, challenge })
  assert.equal(answer.status, 200, answer.text)
  assert.equal((await personhood(memberId)).status, 200)
})

test('a new link for a member is of no use to another person or agent', async () => {
  const { memberId } = await enrolMember(harness, live)
  const token = await inviteAgain(memberId)
  const taken = await openBrowser(harness).agree(token, makePasskey())
  assertRefusal(taken, 409, 'member_not_enrolled')
  const other = await registerConfirmedAgent(harness, 'live', 'two@example.com')
  const call = (body: object, key = live.apiKey) => harness.call('POST', '/api/agents/members', { key, body })
  assertRefusal(await call({ memberId }, other.apiKey), 404, 'not_found')
  assertRefusal(await call({ memberId, externalRef: 'customer' }), 400, 'validation_failed')
})

test('the consent text names what the agent sees, and says that it never sees the recording', () => {
  const expected = {
    en: [/never sees the recording/, /how your passkey was made/, /strokes of your pointer/, /180 days/],
    de: [
      /Die Aufzeichnung sieht sie nie/,
      /wie Ihr Passkey entstand/,
      /Formen der Striche Ihres Zeigers/,
      /180 Tagen/,
    ],
  }
  for (const language of languages) {
    const { recorded, doneLead } = messagesOf(language)
    const text = recorded.join('\n')
    for (const pattern of expected[language]) assert.match(text, pattern)
    assert.doesNotMatch(doneLead, /nothing else|Mehr erfährt/)
  }
})

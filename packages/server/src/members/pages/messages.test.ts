import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { consentVersion } from '../rules.ts'
import { languages, messagesOf } from './messages.ts'

/** What a person reads before they agree. */
const consentTexts = languages.map((language) => {
  const { enrolLead, steps, recordedTitle, recorded, limitsTitle, limits, agree } = messagesOf(language)
  return { enrolLead, steps, recordedTitle, recorded, limitsTitle, limits, agree }
})

test('a consent text keeps its version as long as nothing in it changes', () => {
  const hash = createHash('sha256').update(JSON.stringify(consentTexts)).digest('base64url')
  assert.deepEqual(
    { version: consentVersion, hash },
    { version: '2026-11-19', hash: 'F_t18NgSHhUxjqQuObu7AzqBfTJO_MSz5WsO4QU3uCA' },
    'the text changed: give consentVersion in rules.ts the date of today, and put version and hash here',
  )
})

test('no text of enrolment says that a person did it, or that somebody was attentive', () => {
  for (const language of languages) {
    const { me, enrolTitle, limits, checkWhy, doneLead, recorded } = messagesOf(language)
    for (const text of [enrolTitle, limits, checkWhy, doneLead, me.human, ...recorded])
      assert.doesNotMatch(
        text,
        /attentive|you are a person|^a person|aufmerksam(?!keit)|Sie ein Mensch|^ein Mensch/,
        `${language}: ${text}`,
      )
  }
})

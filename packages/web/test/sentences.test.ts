import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assurances, credentialKinds, type Assurance } from '@pohf/protocol'
import type { Claims } from '@pohf/verify'
import { makeIssuer } from '../../verify/test/issuer.ts'
import { limitsOf } from '../src/shared/credential/messages.ts'
import { claimFacts, outcomeOf } from '../src/shared/credential/outcome.ts'

// What /verify says of a credential, held against what its level rests on.

const issuer = makeIssuer()
const verification = { jwt: '', issuer: issuer.issuer, nowSeconds: Math.floor(Date.now() / 1_000) }
const sentencesOf = (claims: Claims): readonly string[] => {
  const { headline, lead } = outcomeOf({ ok: true, claims, checks: [] }, verification)
  const facts = claimFacts(claims).map(([label]) => label)
  return [headline, ...lead.split(/(?<=\.)\s/), ...facts]
}
const claimsOf = (kind: (typeof credentialKinds)[number], assurance: Assurance, isTest: boolean) =>
  ({ ...issuer.claimsOf(kind, { assurance }), test: isTest }) as unknown as Claims

/** Sentences in which a person acts, and the two that deny it. */
const namesPerson = /\b(persons?|humans?|people|somebody|someone|who)\b/i
const denials = /^(Nothing says that a person did this\b|A test credential: no person was involved)/
/** Sentences in which a device answers, beside that one of an approval which denies it. */
const namesDevice = /\b(attested|device|paid account)\b/i
const deviceDenials = /^No attested device answered/

const faultsOf = (assurance: Assurance, isTest: boolean, sentences: readonly string[]): string[] =>
  sentences.filter((sentence) => {
    if (denials.test(sentence) || deviceDenials.test(sentence)) return false
    if (isTest) return namesPerson.test(sentence) || namesDevice.test(sentence)
    if (assurance === 'low') return namesPerson.test(sentence) || namesDevice.test(sentence)
    if (assurance === 'substantial') return namesPerson.test(sentence)
    // Who vouches for a person is named in the same sentence.
    return namesPerson.test(sentence) && !/\bissuer\b/i.test(sentence)
  })

for (const kind of credentialKinds)
  test(`${kind}: no sentence of any level and mode is above its evidence`, () => {
    for (const assurance of assurances)
      for (const isTest of [false, true]) {
        const claims = claimsOf(kind, assurance, isTest)
        const sentences = sentencesOf(claims)
        assert.deepEqual(faultsOf(assurance, isTest, sentences), [], `${assurance}, test: ${isTest}`)
        assert.ok(limitsOf(claims).length > 0, 'it says what is not proven')
        const said = sentences.join(' ')
        if (!isTest && assurance !== 'low')
          assert.match(said, assurance === 'high' ? /says an issuer/ : /device|paid account/)
      }
  })

test('a sentence above its evidence is found', () => {
  assert.equal(faultsOf('low', false, ['A person looked at this, just now.']).length, 1)
  assert.equal(faultsOf('low', true, ['An attested device answered.']).length, 1)
  assert.equal(faultsOf('substantial', false, ['A person did this work.']).length, 1)
  assert.equal(faultsOf('high', false, ['A unique human did this.']).length, 1)
})

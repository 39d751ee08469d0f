import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assurances, credentialKinds } from '@pohf/protocol'
import { sentencesOf, statementOf } from '@pohf/protocol/statements'
import { rootKinds, type Claims } from '@pohf/verify'
import { makeIssuer } from '../../verify/test/issuer.ts'
import { limitsOf } from '../src/shared/credential/messages.ts'
import { claimFacts, outcomeOf, toneOf } from '../src/shared/credential/outcome.ts'
import { rootOf } from './issuer-fixture.ts'

// What /verify and the console say of a credential is what the one table says, and nothing besides that is above its evidence.

const issuer = makeIssuer()
const verification = { jwt: '', issuer: issuer.issuer, nowSeconds: Math.floor(Date.now() / 1_000) }
const outcomeFor = (claims: Claims) => outcomeOf({ ok: true, claims, checks: [] }, verification)
const claimsOf = (kind: (typeof credentialKinds)[number], more: Record<string, unknown>) =>
  issuer.claimsOf(kind, more) as unknown as Claims

test('a live credential is told by the table alone, in its colour, and the page says what is not proven', () => {
  for (const kind of credentialKinds)
    for (const root of rootKinds) {
      const claims = claimsOf(kind, { roots: [rootOf(root)] })
      const { headline, lead, tone, statement } = outcomeFor(claims)
      assert.ok(statement)
      assert.deepEqual([headline, statement], [statement.seen, statementOf(claims)])
      assert.equal(tone, toneOf[statement.colour])
      assert.match(lead, /^The act ended /)
      assert.ok(sentencesOf(statement).length > 1 && limitsOf(claims).length > 3)
    }
})

test('a test credential says that no person was involved, whatever its claims are', () => {
  for (const kind of credentialKinds)
    for (const assurance of assurances) {
      const claims = claimsOf(kind, { assurance, test: true, roots: [rootOf('world_id')] })
      const { headline, lead, tone, statement } = outcomeFor(claims)
      assert.deepEqual([statement, tone], [undefined, 'test'])
      assert.match(headline, /^A test credential: no person was involved\.$/)
      assert.doesNotMatch(lead, /human|device|account/)
      assert.equal(limitsOf(claims).length, 1)
    }
})

test('roots, limit and approver are among the facts, as they are signed', () => {
  const roots = [{ ...rootOf('organization'), issuer: 'acme' }, rootOf('app')]
  const facts = claimFacts(claimsOf('approval', { roots, limit: { perHumanDay: 3 } }))
  const valuesOf = (label: string) => facts.filter(([name]) => name === label).map(([, value]) => value)
  assert.deepEqual(valuesOf('Root'), [
    'organization, employer, acme, counted, in this act',
    'app, device:phone, not counted, in this act',
  ])
  assert.deepEqual(valuesOf('Acts a day of one human'), ['3'])
  assert.deepEqual(valuesOf('Enrolled by'), ['per_1'])
})

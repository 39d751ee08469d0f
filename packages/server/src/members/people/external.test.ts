import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { enrolMember, registerConfirmedAgent } from '../../../test/fixtures/people/member.ts'
import { findTablesHolding } from '../../../test/architecture/personal-data.ts'
import { assertRefusal } from '../../../test/fixtures/refusal.ts'
import { officeIssuer, proofOf } from '../../../test/fixtures/people/outside-proof.ts'

const harness = await startHarness({}, [officeIssuer])
const live = await registerConfirmedAgent(harness, 'live', 'external@example.com')
const personhood = async (memberId: string) =>
  (await harness.call('POST', '/api/agents/verify-personhood', { key: live.apiKey, body: { memberId } })).json

test('an external issuer makes a person unique across devices: one human there is one person here', async () => {
  const one = await enrolMember(harness, live)
  const two = await enrolMember(harness, live)
  const signalOf = async ({ browser }: typeof one) => (await browser.get('me')).json.signal as string
  const human = 'citizen-0815'
  const good = { human, seal: proofOf(human, await signalOf(one)) }

  const show = (who: typeof one, proof: unknown, issuer = 'office') =>
    who.browser.post('me/proofs', { issuer, proof })
  assertRefusal(await show(one, good, 'nobody'), 404, 'not_found')
  assertRefusal(await show(one, { human, seal: 'forged' }), 400, 'proof_refused')
  assertRefusal(await show(two, good), 400, 'proof_refused')
  assert.equal((await show(one, good)).status, 200)
  assert.equal((await show(one, good)).status, 200, 'again is no harm')
  const twice = await show(two, { human, seal: proofOf(human, await signalOf(two)) })
  assertRefusal(twice, 409, 'member_not_enrolled')
  assert.equal(twice.json.details[0].code, 'duplicate')

  const minted = await personhood(one.memberId)
  assert.deepEqual(
    [minted.uniqueness, minted.assurance, minted.methods],
    ['external', 'high', ['passkey', 'attention', 'external:office']],
  )
  assert.equal((await personhood(two.memberId)).uniqueness, 'device')
  assert.deepEqual(
    await findTablesHolding(harness.owner, human),
    [],
    'the code of the issuer is kept as a keyed hash',
  )
  const held = (await one.browser.get('me')).json.proofs
  assert.deepEqual([held.length, held[0].issuer], [1, 'office'])

  await one.browser.post('me/erase', { confirm: 'delete everything' })
  const { rows } = await harness.owner.query('select from person_proofs')
  assert.equal(rows.length, 0)
})

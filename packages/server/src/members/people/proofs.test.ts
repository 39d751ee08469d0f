import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { enrolMember, openBrowser, registerConfirmedAgent } from '../../../test/fixtures/people/member.ts'
import { findTablesHolding } from '../../../test/architecture/personal-data.ts'
import { assertRefusal } from '../../../test/fixtures/refusal.ts'
import { makeOffice, officeIssuer, proofOf, showProof } from '../../../test/fixtures/people/outside-proof.ts'
import { inTransaction, readNow } from '../../platform/db/db.ts'
import * as operators from '../../operators/index.ts'
import { listValidProofs } from './store.ts'

/** Shows whatever the test wants. */
let broken: Readonly<Record<string, unknown>> = {}
const brokenIssuer = makeOffice({
  name: 'broken',
  kind: 'organization',
  sourceClass: 'employer',
  maxLevel: 'low',
  finish: async () => {
    const checkedAt = new Date()
    return {
      ok: true as const,
      level: 'low' as const,
      human: 'somebody',
      counted: true,
      checkedAt,
      expiresAt: new Date(checkedAt.getTime() + 3_600_000),
      evidenceHash: createHash('sha256').update('evidence').digest(),
      ...broken,
    }
  },
})
const harness = await startHarness({}, [
  officeIssuer,
  makeOffice({ name: 'desk' }),
  makeOffice({ name: 'elsewhere', agents: ['agt_aa01k2golden0000000000000'] }),
  brokenIssuer,
])
const live = await registerConfirmedAgent(harness, 'live', 'external@example.com')
const operator = await operators.create(harness.ctx, 'machine', 'Ada')
const personhood = async (memberId: string) =>
  (await harness.call('POST', '/api/agents/verify-personhood', { key: live.apiKey, body: { memberId } })).json

type Enrolled = Awaited<ReturnType<typeof enrolMember>>
const begin = async ({ browser }: Enrolled, issuer = 'office') =>
  (await browser.post('me/proofs/begin', { issuer })).json as {
    request: { signal: string }
    state: string
  }
const ruleOf = ({
  status,
  json,
}: {
  status: number
  json: { details?: { code: string }[]; error: string }
}) => (status === 200 ? 'shown' : (json.details?.[0]?.code ?? json.error))
const personIdOf = async ({ memberId }: Enrolled): Promise<string> => {
  const { rows } = await harness.owner.query<{ person_id: string }>(
    'select person_id from members where member_id = $1',
    [memberId],
  )
  return rows[0]?.person_id ?? ''
}
const validOf = async (who: Enrolled) => {
  const personId = await personIdOf(who)
  return inTransaction(harness.ctx, 'system', async (tx) =>
    listValidProofs(tx, personId, { agentId: live.agentId, at: await readNow(tx) }),
  )
}

test('an outside issuer makes a person unique across devices: one human there is one person here', async () => {
  const one = await enrolMember(harness, live)
  const two = await enrolMember(harness, live)
  const human = 'citizen-0815'

  assertRefusal(await showProof(one.browser, human, 'nobody'), 404, 'not_found')
  assertRefusal(await showProof(one.browser, human, 'elsewhere'), 404, 'not_found')
  assert.equal((await showProof(one.browser, human)).status, 200)
  assert.equal((await showProof(one.browser, human)).status, 200, 'again renews it')
  const twice = await showProof(two.browser, human)
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
  assert.deepEqual(
    held.map((proof: Record<string, unknown>) => [proof['issuer'], proof['level'], proof['withdrawn']]),
    [['office', 'high', false]],
  )

  await one.browser.post('me/erase', { confirm: 'delete everything' })
  const { rows } = await harness.owner.query('select from person_proofs')
  assert.equal(rows.length, 0)
  const requests = await harness.owner.query('select from issuer_requests where person_id = $1', [
    await personIdOf(one),
  ])
  assert.equal(requests.rows.length, 0)
})

const finish = (who: Enrolled, state: string, signal: string, human = 'citizen-once') =>
  who.browser.post('me/proofs/finish', { state, answer: { human, seal: proofOf(human, signal) } })

test('a check works once, for the person who began it, on the page that began it, and for ten minutes', async () => {
  const one = await enrolMember(harness, live)
  const two = await enrolMember(harness, live)
  const first = await begin(one)
  assert.equal(ruleOf(await finish(two, first.state, first.request.signal)), 'wrong_person')
  assert.equal(ruleOf(await finish(one, `${first.state}x`, first.request.signal)), 'state_unknown')
  assert.equal(ruleOf(await finish(one, 'A'.repeat(200), first.request.signal)), 'state_unknown')
  const stranger = openBrowser(harness)
  const answer = { human: 'citizen-once', seal: proofOf('citizen-once', first.request.signal) }
  assertRefusal(
    await stranger.post('me/proofs/finish', { state: first.state, answer }),
    401,
    'sign_in_required',
  )
  assertRefusal(
    await one.browser.post('me/proofs/finish', { state: first.state, answer }, 'https://evil.example'),
    403,
    'forbidden',
  )
  const other = await begin(two)
  assert.equal(ruleOf(await finish(one, first.state, other.request.signal)), 'signature')
  assert.equal(ruleOf(await finish(one, first.state, first.request.signal)), 'state_used')

  const late = await begin(one)
  await harness.advance(10 * 60_000 + 1_000)
  assert.equal(ruleOf(await finish(one, late.state, late.request.signal)), 'expired')
  const both = await begin(one)
  const answers = await Promise.all([
    finish(one, both.state, both.request.signal),
    finish(one, both.state, both.request.signal),
  ])
  assert.deepEqual(answers.map(ruleOf).toSorted(), ['shown', 'state_used'])

  await harness.advance(3 * 86_400_000)
  await harness.runJobs()
  const { rows } = await harness.owner.query('select from issuer_requests')
  assert.equal(rows.length, 0, 'requests go after two days')
})

test('one human is one person under 64 enrolments at once', async () => {
  const people: Enrolled[] = []
  while (people.length < 8) people.push(await enrolMember(harness, live))
  const ended = await Promise.all(
    Array.from({ length: 64 }, (_, index) => {
      const person = people[index % people.length]
      assert.ok(person)
      return showProof(person.browser, 'citizen-crowd').then(({ status }) => [index % people.length, status])
    }),
  )
  const owners = new Set(ended.filter(([, status]) => status === 200).map(([who]) => who))
  assert.equal(owners.size, 1)
  const { rows } = await harness.owner.query('select from person_proofs where issuer = $1 and counted', [
    'office',
  ])
  assert.ok(rows.length >= 1)
})

test('an expired or withdrawn proof raises nothing, and a new check counts again', async () => {
  const one = await enrolMember(harness, live)
  assert.equal((await showProof(one.browser, 'citizen-year')).status, 200)
  assert.equal((await validOf(one)).length, 1)
  const personId = await personIdOf(one)
  await harness.owner.query(
    'update person_proofs set expires_at = pohf_now() - interval $$1 second$$ where person_id = $1',
    [personId],
  )
  assert.deepEqual(await validOf(one), [])
  assert.equal((await personhood(one.memberId)).assurance, 'low')
  assert.equal((await showProof(one.browser, 'citizen-year')).status, 200)
  assert.equal((await validOf(one)).length, 1)
  await harness.owner.query('update person_proofs set withdrawn_at = pohf_now() where person_id = $1', [
    personId,
  ])
  assert.deepEqual(await validOf(one), [])
})

test('a personhood credential is not repeated once a proof that it names counts no more', async () => {
  const one = await enrolMember(harness, live)
  assert.equal((await showProof(one.browser, 'citizen-leaver')).status, 200)
  const proven = await personhood(one.memberId)
  assert.deepEqual([proven.assurance, proven.uniqueness], ['high', 'external'])
  assert.equal((await personhood(one.memberId)).credentialId, proven.credentialId, 'a repeat')
  await harness.owner.query('update person_proofs set withdrawn_at = pohf_now() where person_id = $1', [
    await personIdOf(one),
  ])
  const without = await personhood(one.memberId)
  assert.notEqual(without.credentialId, proven.credentialId)
  assert.deepEqual([without.assurance, without.uniqueness], ['low', 'device'])
  assert.equal((await personhood(one.memberId)).credentialId, without.credentialId)
})

const operate = (path: string, body: object) =>
  harness.callOperator('POST', `/operator/roots/${path}`, { key: operator.operatorKey, body })

test('a suspension with a date leaves the proofs that were checked before it', async () => {
  const [early, late] = [await enrolMember(harness, live), await enrolMember(harness, live)]
  assert.equal((await showProof(early.browser, 'citizen-early', 'desk')).status, 200)
  const from = new Date(Date.now() + 1).toISOString()
  await harness.owner.query(
    "update person_proofs set checked_at = $1::timestamptz - interval '1 hour' where issuer = 'desk'",
    [from],
  )
  assert.equal((await showProof(late.browser, 'citizen-late', 'desk')).status, 200)
  const suspended = await operate('suspend', {
    kind: 'world_id',
    name: 'desk',
    credentials: 'keep',
    reason: 'its key was stolen',
    from: new Date(Date.parse(from) - 60_000).toISOString(),
  })
  assert.equal(suspended.status, 200, suspended.text)
  assert.deepEqual((await validOf(early)).length, 1)
  assert.deepEqual(await validOf(late), [])
  const third = await enrolMember(harness, live)
  assert.equal(ruleOf(await showProof(third.browser, 'citizen-third', 'desk')), 'suspended')
  await operate('suspend', { kind: 'world_id', name: 'desk', credentials: 'keep', reason: 'all of it' })
  assert.deepEqual(await validOf(early), [], 'without a date nothing rests on it')
  const listed = await harness.callOperator('GET', '/operator/roots/suspended', {
    key: operator.operatorKey,
  })
  assert.deepEqual(
    listed.json.suspended.map((root: Record<string, unknown>) => [root['name'], root['from']]),
    [['desk', null]],
  )
  await operate('reinstate', { kind: 'world_id', name: 'desk', reason: 'a new key' })
  assert.equal((await validOf(late)).length, 1)
})

test('what an adapter cannot show is an error of the service and stores nothing', async () => {
  const one = await enrolMember(harness, live)
  const impossible = [
    { counted: true, human: undefined },
    { counted: false, human: 'somebody' },
    { level: 'substantial' },
    { level: 'high' },
    { human: '' },
    { expiresAt: new Date(0) },
  ]
  for (const shown of impossible) {
    broken = shown
    assert.equal((await showProof(one.browser, 'somebody', 'broken')).status, 500, JSON.stringify(shown))
  }
  broken = {}
  assert.deepEqual(await validOf(one), [])
  assert.equal((await showProof(one.browser, 'somebody', 'broken')).status, 200)
})

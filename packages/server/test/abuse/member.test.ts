import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../fixtures/harness.ts'
import { enrolMember, registerConfirmedAgent } from '../fixtures/people/member.ts'
import { officeIssuer, showProof } from '../fixtures/people/outside-proof.ts'
import { pollUntil } from '../fixtures/polling.ts'
import { assertRefusal } from '../fixtures/refusal.ts'

const harness = await startHarness({}, [officeIssuer])
const live = await registerConfirmedAgent(harness, 'live', 'dev@member.example')
const call = (path: string, body: unknown) =>
  harness.call('POST', `/api/agents/${path}`, { key: live.apiKey, body })

type EnrolledPerson = Awaited<ReturnType<typeof enrolMember>>
const prove = async ({ browser }: EnrolledPerson, human: string) => {
  const shown = await showProof(browser, human)
  assert.equal(shown.status, 200, shown.text)
}

const vote = async ({ memberId }: EnrolledPerson) => {
  const { status, json, text } = await call(`members/${memberId}/acts`, { action: 'vote-2026' })
  assert.equal(status, 200, text)
  return json.first as boolean
}

test('a person who deletes everything is no second human for a year, and never acts a second time', async () => {
  const before = await enrolMember(harness, live)
  await prove(before, 'citizen-1')
  assert.equal(await vote(before), true)
  const erased = await before.browser.post('me/erase', { confirm: 'delete everything' })
  assert.equal(erased.status, 200, erased.text)
  const later = await enrolMember(harness, live)
  const refused = await showProof(later.browser, 'citizen-1')
  assertRefusal(refused, 400, 'proof_refused')
  assert.equal(refused.json.details[0].code, 'erased')
  const other = await enrolMember(harness, live)
  await prove(other, 'citizen-2')
  assert.equal(await vote(other), true)
  await harness.advance(366 * 86_400_000)
  await harness.runJobs()
  const returned = await enrolMember(harness, live)
  await prove(returned, 'citizen-1')
  assert.equal(await vote(returned), false)
})

/** Runs `work` while no credential can be written: calls that have read everything wait for their commit. */
const whileMintWaits = async <T>(work: () => Promise<T>): Promise<T> => {
  const client = await harness.owner.connect()
  await client.query('begin; lock table credential_states in exclusive mode')
  try {
    return await work()
  } finally {
    await client.query('rollback')
    client.release()
  }
}
const isMintWaiting = async () =>
  (
    await harness.owner.query(
      // The table has the same number in the databases of other tests.
      `select from pg_locks where not granted and relation = 'credential_states'::regclass
       and database = (select oid from pg_database where datname = current_database())`,
    )
  ).rowCount !== 0

test('a person who withdraws while a credential is being minted is in no credential', async () => {
  const { memberId, browser } = await enrolMember(harness, live)
  const minting = await whileMintWaits(async () => {
    const pending = call('verify-personhood', { memberId })
    await pollUntil('the mint waits', isMintWaiting)
    const withdrawn = await browser.post('me/withdraw', { memberId, language: 'en' })
    assert.equal(withdrawn.status, 200, withdrawn.text)
    return { pending }
  })
  const answer = await minting.pending
  assert.equal(answer.json.error, 'member_not_enrolled', answer.text)
  const { rows } = await harness.owner.query('select type from events where subject = $1', [memberId])
  assert.ok(rows.every(({ type }) => type !== 'personhood.verified'))
})

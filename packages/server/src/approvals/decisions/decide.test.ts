import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeJwt } from 'jose'
import type { Claims } from '@pohf/verify'
import { decisionChallenge, viewName } from '@pohf/verify/approvals'
import { attacksIn } from '../../../../verify/test/approvals/run-attack.ts'
import { startHarness, type TestResponse } from '../../../test/fixtures/harness.ts'
import { grantCredits } from '../../../test/fixtures/payments/ledger.ts'
import { ruleOf } from '../../../test/fixtures/people/approvals.ts'
import {
  enrolApprover,
  makeApproval,
  recordDecision,
  shownHash,
  type TestApprover,
} from '../../../test/fixtures/people/approver.ts'
import { invite } from '../../../test/fixtures/people/member.ts'
import { playSession } from '../../../test/fixtures/people/play-session.ts'
import { pollUntil } from '../../../test/fixtures/polling.ts'
import { consentVersion } from '../../members/rules.ts'

const attack = attacksIn(import.meta.url)
const harness = await startHarness()
const agent = await harness.register('live')
await grantCredits(harness, agent, 100n)
const ada = await enrolApprover(harness, agent)
const bob = await enrolApprover(harness, agent)

/** Makes a person an approver of another agent too. */
const enrolAlso = async (person: TestApprover, other: Awaited<ReturnType<typeof harness.register>>) => {
  const { token, memberId } = await invite(harness, other.apiKey)
  const agreed = await person.browser.post('enrol', { token, consentVersion, language: 'en' })
  assert.equal(agreed.status, 200, agreed.text)
  const approver = harness.ctx.ids.make('apv_')
  await harness.owner.query(
    `insert into approvers (agent_id, mode, approver_id, member_id, name, email, created_by)
     values ($1, 'live', $2, $3, 'Ada', $2 || '@example.com', 'prs_owner')`,
    [other.agentId, approver, memberId],
  )
  return { approver }
}

type Made = Awaited<ReturnType<typeof makeApproval>>
const challengeOf = async (person: TestApprover, { approvalId }: Made): Promise<string> =>
  (await person.read(approvalId)).json.challenge
/** A recording of this person's page for this approval. */
const attend = async (
  person: TestApprover,
  made: Made,
  measured: Parameters<typeof recordDecision>[3] = {},
) => recordDecision(harness, agent, await challengeOf(person, made), measured)
const approve = async (person: TestApprover, made: Made) =>
  person.decideWhole(made.approvalId, { decision: 'approve', sessionId: await attend(person, made) })
const rowOf = async ({ approvalId }: Made) => {
  const { rows } = await harness.owner.query(
    `select status, approved, decided_at, consumable_at, ended_at,
       (select count(*)::int from approval_turns t where t.approval_id = a.approval_id and decision is not null) as decided
     from approvals a where approval_id = $1`,
    [approvalId],
  )
  return rows[0]
}
const credits = async (): Promise<number> =>
  (await harness.call('GET', '/api/agents/credits/balance', { key: agent.apiKey })).json.balance
const assertRule = (answer: TestResponse, error: string, rule?: string) => {
  assert.equal(answer.json.error, error, answer.text)
  if (rule !== undefined) assert.equal(answer.json.details[0].code, rule, answer.text)
}

/** The credential says what was shown, who decided and by which recording. */
const assertClaims = async (made: Made, credentialId: string, asked: TestResponse, viewHash: string) => {
  const stored = await harness.call('GET', `/api/agents/credentials/${credentialId}`, {
    key: agent.apiKey,
  })
  const claims = decodeJwt(stored.json.pohf_jwt)
  assert.equal(claims['kind'], 'approval')
  assert.equal(claims['test'], undefined)
  assert.deepEqual(claims['approval'], {
    id: made.approvalId,
    type: 'invoice.pay',
    envelope_hash: made.envelopeHash,
    view_hash: viewHash,
    view: viewName,
    decision: 'approve',
    decided_at: (claims['approval'] as { decided_at: number }).decided_at,
    consume_by: Math.floor(Date.parse(made.envelope.consumeBy) / 1_000),
    shown_seconds: (claims['approval'] as { shown_seconds: number }).shown_seconds,
  })
  assert.ok((claims['approval'] as { shown_seconds: number }).shown_seconds >= 3)
  const { key_age: age, enrolled, ...approver } = claims['approver'] as NonNullable<Claims['approver']>
  assert.deepEqual(approver, {
    ref: ada.approver,
    user_verification: true,
    key: 'device',
    decided: 1,
    needed: 1,
  })
  assert.deepEqual([enrolled.by, enrolled.way], ['prs_owner', 'mail_link'])
  const { approval } = claims as { approval: NonNullable<Claims['approval']> }
  assert.ok(age >= 0 && enrolled.at <= approval.decided_at)
  assert.equal((claims['telemetry'] as { link: string }).link, asked.json.telemetryLink)
  assert.ok(claims['cnf'])
}

/** Status, page and event after the approval. */
const assertApproved = async (made: Made, credentialId: string) => {
  const row = await rowOf(made)
  assert.equal(row.status, 'approved')
  assert.equal(row.consumable_at.getTime() - row.decided_at.getTime(), 60_000)
  const after = await ada.read(made.approvalId)
  assert.equal(after.json.own.credentialId, credentialId)
  assert.equal(after.json.own.assurance, 'low')
  assert.ok(after.json.own.inViewSeconds >= 3)
  const { rows } = await harness.owner.query(
    "select data from events where type = 'approval.decided' and subject = $1",
    [made.approvalId],
  )
  assert.deepEqual(
    rows.map(({ data }) => data),
    [
      {
        approvalId: made.approvalId,
        approver: ada.approver,
        decision: 'approve',
        credentialId: credentialId,
        status: 'approved',
      },
    ],
  )
}

test('a person approves on the page, and the credential says what was shown, who decided and for how long', async () => {
  const made = await makeApproval(harness, agent, [ada], { policy: { delaySeconds: 60 } })
  const shown = await ada.read(made.approvalId)
  assert.equal(shown.status, 200, shown.text)
  assert.equal(shown.json.envelopeHash, made.envelopeHash)
  const { site, challenge } = shown.json
  const { sessionId, ended } = await playSession(harness, {
    site,
    challenge,
    kind: 'approval',
    headers: { origin: ada.browser.origin },
    lastsMs: 4_000,
  })
  assert.equal(ended.json.verdict, 'passed', ended.text)
  const before = await credits()
  const asked = await ada.options(made.approvalId, { decision: 'approve', sessionId })
  assert.equal(asked.status, 200, asked.text)
  const expected = await decisionChallenge({
    envelopeHash: made.envelopeHash,
    viewHash: await shownHash(shown),
    decision: 'approve',
    approver: ada.approver,
    nonce: asked.json.nonce,
    telemetryLink: asked.json.telemetryLink,
  })
  assert.equal(asked.json.publicKey.challenge, expected)
  const decided = await ada.decide(made.approvalId, asked, ada.sign(asked))
  assert.equal(decided.status, 200, decided.text)
  assert.equal(decided.json.status, 'approved')
  assert.equal(await credits(), before - 1)
  const { rows: keys } = await harness.owner.query(
    'select counter::int from person_passkeys where credential_id = $1',
    [ada.passkey.id.toString('base64url')],
  )
  assert.deepEqual(keys, [{ counter: 1 }])
  await assertClaims(made, decided.json.credentialId, asked, await shownHash(shown))
  await assertApproved(made, decided.json.credentialId)
})

attack('quorum-by-one-person', async (refused) => {
  const made = await makeApproval(harness, agent, [ada, bob], { policy: { quorum: 2 } })
  assert.equal((await approve(ada, made)).json.status, 'pending')
  refused(ruleOf(await approve(ada, made)))
  assert.equal((await rowOf(made)).approved, 1)
  assert.equal((await approve(bob, made)).json.status, 'approved')
})

test('of two decisions of one person at the same time one counts', async () => {
  const made = await makeApproval(harness, agent, [ada, bob], { policy: { quorum: 2 } })
  const sessionId = await attend(ada, made)
  const before = await credits()
  const first = await ada.options(made.approvalId, { decision: 'approve', sessionId })
  const [one, credential] = [first, ada.sign(first)]
  // The second challenge is made while the first decision is under way.
  const running = ada.decide(made.approvalId, one, credential)
  const second = await ada.options(made.approvalId, { decision: 'approve', sessionId })
  const answers = [await running]
  if (second.status === 200) answers.push(await ada.decide(made.approvalId, second, ada.sign(second)))
  assert.equal(answers.filter(({ status }) => status === 200).length, 1)
  const row = await rowOf(made)
  assert.deepEqual([row.approved, row.status], [1, 'pending'])
  assert.equal(await credits(), before - 1)
})

test('a denial that commits while an approval is being signed wins', async () => {
  const made = await makeApproval(harness, agent, [ada, bob])
  const asked = await ada.options(made.approvalId, {
    decision: 'approve',
    sessionId: await attend(ada, made),
  })
  const before = await credits()
  const other = await harness.owner.connect()
  await other.query('begin')
  await other.query("update approvals set status = 'denied', ended_at = pohf_now() where approval_id = $1", [
    made.approvalId,
  ])
  const running = ada.decide(made.approvalId, asked, ada.sign(asked))
  await pollUntil('the decision to wait', async () => {
    const { rowCount } = await harness.owner.query(
      "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    )
    return rowCount === 0 ? undefined : true
  })
  await other.query('commit')
  other.release()
  assertRule(await running, 'approval_conflict', 'not_pending')
  const row = await rowOf(made)
  assert.deepEqual([row.status, row.approved, row.decided], ['denied', 0, 0])
  assert.equal(await credits(), before)
})

test('a denial with words and without a recording ends the approval and costs nothing', async () => {
  const made = await makeApproval(harness, agent, [ada, bob], { policy: { quorum: 2 } })
  await approve(bob, made)
  const before = await credits()
  const asked = await ada.options(made.approvalId, { decision: 'deny' })
  const covered = {
    envelopeHash: made.envelopeHash,
    viewHash: await shownHash(await ada.read(made.approvalId)),
    decision: 'deny',
    approver: ada.approver,
    nonce: asked.json.nonce as string,
    telemetryLink: '',
  } as const
  assert.equal(asked.json.publicKey.challenge, await decisionChallenge(covered))
  const denied = await ada.decide(made.approvalId, asked, ada.sign(asked), 'The IBAN changed.')
  assert.deepEqual(denied.json, { status: 'denied', decision: 'deny', credentialId: null })
  assert.equal(await credits(), before)
  assert.equal((await ada.read(made.approvalId)).json.own.words, 'The IBAN changed.')
  assert.ok((await rowOf(made)).ended_at)
})

test('an attended denial gets a credential, and so costs one credit', async () => {
  const made = await makeApproval(harness, agent, [ada])
  const before = await credits()
  const sessionId = await attend(ada, made)
  const denied = await ada.decideWhole(made.approvalId, { decision: 'deny', sessionId })
  assert.equal(denied.json.status, 'denied', denied.text)
  assert.ok(denied.json.credentialId)
  assert.equal(await credits(), before - 1)
})

test('a denial with a recording that was not verified is stored without a credential', async () => {
  const made = await makeApproval(harness, agent, [ada])
  const sessionId = await attend(ada, made, { verified: false, reasons: ['focus_low'] })
  const denied = await ada.decideWhole(made.approvalId, { decision: 'deny', sessionId })
  assert.deepEqual(denied.json, { status: 'denied', decision: 'deny', credentialId: null })
})

test('in the delay every approver can still deny, also one who approved; afterwards nobody can', async () => {
  const delayed = { policy: { delaySeconds: 300 } }
  const [first, second, third] = [
    await makeApproval(harness, agent, [ada, bob], delayed),
    await makeApproval(harness, agent, [ada, bob], delayed),
    await makeApproval(harness, agent, [ada, bob], delayed),
  ]
  for (const made of [first, second, third]) assert.equal((await approve(ada, made)).json.status, 'approved')
  assert.equal((await bob.decideWhole(first.approvalId, { decision: 'deny' })).json.status, 'denied')
  const veto = await ada.decideWhole(second.approvalId, { decision: 'deny' })
  assert.equal(veto.json.status, 'denied', veto.text)
  assert.equal((await rowOf(second)).approved, 0)
  await harness.advance(301_000)
  const late = await bob.decideWhole(third.approvalId, { decision: 'deny' })
  assertRule(late, 'approval_conflict', 'not_pending')
})

test('a known-bad request looks the same until it is decided, and mints, charges and publishes nothing', async () => {
  const real = await makeApproval(harness, agent, [ada])
  const bad = await makeApproval(harness, agent, [ada], { knownBad: 'The recipient is unknown.' })
  const [shown, shownBad] = [await ada.read(real.approvalId), await ada.read(bad.approvalId)]
  assert.deepEqual(Object.keys(shownBad.json), Object.keys(shown.json))
  assert.doesNotMatch(shownBad.text, /known|unknown/i)
  const listed = (await ada.list()).json.waiting as Record<string, unknown>[]
  const [inList, badInList] = [real, bad].map(({ approvalId }) =>
    listed.find((one) => one['approvalId'] === approvalId),
  )
  assert.ok(inList && badInList)
  assert.deepEqual(Object.keys(badInList), Object.keys(inList))

  const before = await credits()
  const { sessionId } = await playSession(harness, {
    site: shownBad.json.site,
    challenge: shownBad.json.challenge,
    kind: 'approval',
    headers: { origin: ada.browser.origin },
    lastsMs: 4_000,
  })
  // The requester's key sees neither the recording nor an event.
  const seenBy = (id: string) => harness.call('GET', `/api/agents/sessions/${id}`, { key: agent.apiKey })
  assert.equal((await seenBy(sessionId)).json.error, 'not_found')
  assert.equal((await seenBy(await attend(ada, real))).json.kind, 'approval')
  const asked = await ada.options(bad.approvalId, { decision: 'approve', sessionId })
  const decided = await ada.decide(bad.approvalId, asked, ada.sign(asked))
  assert.deepEqual(decided.json, { status: 'approved', decision: 'approve', credentialId: null })
  assert.equal(await credits(), before)
  const { rowCount } = await harness.owner.query('select from events where subject = $1', [bad.approvalId])
  assert.equal(rowCount, 0)
})

test('without credits the decision is refused and nothing is stored', async () => {
  const poor = await harness.register('live', 'poor@example.com')
  const person = await enrolApprover(harness, poor)
  const made = await makeApproval(harness, poor, [person])
  const { challenge } = (await person.read(made.approvalId)).json
  const sessionId = await recordDecision(harness, poor, challenge)
  const answer = await person.decideWhole(made.approvalId, { decision: 'approve', sessionId })
  assertRule(answer, 'insufficient_credits')
  const row = await rowOf(made)
  assert.deepEqual([row.status, row.approved, row.decided], ['pending', 0, 0])
  const denied = await person.decideWhole(made.approvalId, { decision: 'deny' })
  assert.equal(denied.json.status, 'denied', denied.text)
})

test('the credential of a decision in test mode is a test credential, and free', async () => {
  const sandbox = await harness.register('test')
  const person = await enrolApprover(harness, sandbox)
  const made = await makeApproval(harness, sandbox, [person])
  const { challenge } = (await person.read(made.approvalId)).json
  const sessionId = await recordDecision(harness, sandbox, challenge)
  const answer = await person.decideWhole(made.approvalId, { decision: 'approve', sessionId })
  assert.equal(answer.status, 200, answer.text)
  const stored = await harness.call('GET', `/api/agents/credentials/${answer.json.credentialId}`, {
    key: sandbox.apiKey,
  })
  const claims = decodeJwt(stored.json.pohf_jwt)
  assert.equal(claims['test'], true)
  assert.match(String(claims.iss), /\/test$/)
})

test('the list has what waits and what was decided, of all agents of the person', async () => {
  const made = await makeApproval(harness, agent, [bob])
  const waiting = (await bob.list()).json
  assert.ok(waiting.waiting.some((one: { approvalId: string }) => one.approvalId === made.approvalId))
  assert.ok(waiting.decided.length > 0)
  await approve(bob, made)
  const after = (await bob.list()).json
  assert.equal(after.decided[0].approvalId, made.approvalId)
  assert.ok(!after.waiting.some((one: { approvalId: string }) => one.approvalId === made.approvalId))
})

test('an agent that asks often hides the requests of no other agent, nor those with the nearest deadline', async () => {
  const quiet = await harness.register('live', 'quiet@example.com')
  const person = await enrolApprover(harness, agent)
  const other = await makeApproval(harness, quiet, [await enrolAlso(person, quiet)], { decideMinutes: 100 })
  const urgent = await makeApproval(harness, agent, [person], { decideMinutes: 5 })
  for (let n = 0; n < 55; n += 1) await makeApproval(harness, agent, [person])
  const { waiting, hasMore } = (await person.list()).json
  const ids = waiting.map((one: { approvalId: string }) => one.approvalId)
  assert.deepEqual([ids[0], ids.at(-1), ids.length, hasMore], [urgent.approvalId, other.approvalId, 11, true])
  await person.decideWhole(urgent.approvalId, { decision: 'deny' })
  assert.equal((await person.list()).json.waiting.length, 11)
  const asked = (await (await enrolApprover(harness, agent)).list()).json
  assert.deepEqual([asked.waiting, asked.hasMore], [[], false])
})

test('of more agents than the list has room for, each has its first request listed', async () => {
  const agents = await Promise.all(
    Array.from({ length: 6 }, (_, n) => harness.register('live', `agent${n}@example.com`)),
  )
  const [quiet, first, ...others] = agents
  assert.ok(quiet && first)
  const person = await enrolApprover(harness, first)
  const other = await makeApproval(harness, quiet, [await enrolAlso(person, quiet)], { decideMinutes: 100 })
  for (const loud of [first, ...others]) {
    const approver = loud === first ? person : await enrolAlso(person, loud)
    for (let n = 0; n < 11; n += 1) await makeApproval(harness, loud, [approver], { decideMinutes: 5 })
  }
  const { waiting, hasMore } = (await person.list()).json
  assert.deepEqual(
    [waiting.length, hasMore, waiting.at(-1).approvalId],
    [50, true, other.approvalId],
    'the request with the last deadline is listed beside five agents that ask often',
  )
})

test('values that the person has not approved before are named, and fast decisions in a row ask to slow down', async () => {
  const carol = await enrolApprover(harness, agent)
  const action = { amount: '10.00', recipient: 'x'.repeat(400) }
  const fast = async (what: typeof action) => {
    const made = await makeApproval(harness, agent, [carol], { action: what })
    const shown = (await carol.read(made.approvalId)).json
    const sessionId = await attend(carol, made, { seconds: 4 })
    await carol.decideWhole(made.approvalId, { decision: 'approve', sessionId })
    return shown
  }
  const first = await fast(action)
  assert.deepEqual([first.newValues, first.slowDown], [['/amount', '/recipient'], false])
  const second = await fast({ ...action, amount: '20.00' })
  assert.deepEqual([second.newValues, second.slowDown], [['/amount'], false])
  assert.equal((await fast(action)).slowDown, false)
  const fourth = await fast(action)
  assert.deepEqual([fourth.newValues, fourth.slowDown], [[], true])
})

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { endpoints, type Endpoint } from '@pohf/protocol'
import { startHarness, type TestResponse } from '../fixtures/harness.ts'
import { enrolMember, openBrowser, type PersonBrowser } from '../fixtures/people/member.ts'
import { createPasskey, makePasskey, usePasskey, type Passkey } from '../fixtures/people/authenticator.ts'
import { findTablesHolding } from '../architecture/personal-data.ts'
import { makeAdministration } from '../fixtures/people/approvals.ts'
import { enrolApprover } from '../fixtures/people/approver.ts'
import { makeOffice } from '../fixtures/people/outside-proof.ts'
import { makeWorker } from '../fixtures/people/worker.ts'

/** Vouches for whoever brings a code; `meanwhile` happens while it looks. */
let meanwhile: () => Promise<unknown> = async () => undefined
const issuer = makeOffice({
  name: 'registry',
  finish: async ({ answer }) => {
    await meanwhile()
    const human = String(answer)
    const checkedAt = new Date()
    return {
      ok: true,
      level: 'high',
      human,
      counted: true,
      checkedAt,
      expiresAt: new Date(checkedAt.getTime() + 86_400_000),
      evidenceHash: createHash('sha256').update(human).digest(),
    }
  },
})
const harness = await startHarness({}, [issuer])
const { origin } = openBrowser(harness)
const home = await harness.register('test')
const buyer = await harness.register('test')

const commission = async (items: readonly string[]): Promise<void> => {
  const body = { taskType: 'wf_judge', quantity: items.length, items }
  const placed = await harness.call('POST', '/api/agents/order', { key: buyer.apiKey, body })
  const { orderId } = placed.json
  await harness.call('POST', '/api/agents/order/fund', { key: buyer.apiKey, body: { orderId } })
}
const denial = { decision: 'deny', viewHash: 'A'.repeat(43) }
const claimWish = { workflowId: 'wf_judge', mode: 'test' }

const memberRows = endpoints.filter((row) => row.auth === 'member')
const rowOf = (publicId: string): Endpoint => {
  const row = memberRows.find((candidate) => candidate.publicId === publicId)
  assert.ok(row, publicId)
  return row
}
type Asked = { readonly params?: Readonly<Record<string, string>>; readonly body?: unknown }
const pathOf = (row: Endpoint, params: Asked['params'] = {}) =>
  row.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => params[name] ?? 'none')
const ask = (publicId: string, cookie: string, { params, body }: Asked = {}): Promise<TestResponse> => {
  const row = rowOf(publicId)
  return harness.call(row.method, pathOf(row, params), {
    ...(row.method === 'GET' ? {} : { body: body ?? {} }),
    headers: { cookie, origin },
  })
}
const outcomeOf = ({ status, json }: TestResponse): unknown => (status === 200 ? 200 : json.error)
const challengeOf = async (browser: PersonBrowser, purpose: 'create' | 'confirm'): Promise<string> =>
  (await browser.post('passkey-options', { purpose })).json.publicKey.challenge
const confirmed = async (browser: PersonBrowser, passkey: Passkey) =>
  usePasskey(passkey, { challenge: await challengeOf(browser, 'confirm'), origin, flags: 5, counter: 0 })
const created = async (browser: PersonBrowser, passkey: Passkey) =>
  createPasskey(passkey, { challenge: await challengeOf(browser, 'create'), origin }, { fmt: 'none' })

const begunState = async (cookie: string): Promise<string> =>
  (await ask('members.proof-begin', cookie, { body: { issuer: 'registry' } })).json.state

/** Somebody who enrolled in their own browser and has a unit of work in hand. */
const makePerson = async (externalRef: string) => {
  const person = await enrolMember(harness, home, { externalRef })
  const cookie = person.browser.cookie() ?? ''
  const { rows } = await harness.owner.query<{ person_id: string }>(
    'select person_id from members where member_id = $1',
    [person.memberId],
  )
  await commission([`For ${externalRef}?`])
  const claimed = await ask('work.worker-claim', cookie, { body: claimWish })
  assert.equal(claimed.status, 200, claimed.text)
  const assignmentId = String(claimed.json.assignmentId)
  return { ...person, cookie, assignmentId, personId: rows[0]?.person_id ?? '' }
}

/** What a person sees of themselves; the tasks on offer change with what others claim. */
const readOwn = async (cookie: string, params: Record<string, string>) => {
  const rows = ['members.me', 'work.worker-assignment', 'work.worker-tasks', 'work.worker-earnings']
  const answers = await Promise.all(rows.map((row) => ask(row, cookie, { params })))
  return answers.map(({ status, json }) => ({ status, json: { ...json, tasks: undefined } }))
}

type Attempts = Readonly<Record<string, Asked & { readonly ends: unknown }>>

/** On an approval that waits for somebody else. */
const approvalAttempts = async (): Promise<Attempts> => {
  const team = await makeAdministration(harness, 'test')
  const { approver } = await enrolApprover(harness, team)
  const type = 'test.invoice'
  const asked = await team.request({ type, action: { a: '1' }, approvers: [approver], requestId: 'first' })
  assert.equal(asked.json.status, 'pending', asked.text)
  const waiting = { approvalId: String(asked.json.approvalId) }
  return {
    'approvals.approver-list': { ends: 200 },
    'approvals.approver-figures': { ends: 200 },
    'approvals.approver-read': { params: waiting, ends: 'not_found' },
    'approvals.approver-options': { params: waiting, body: denial, ends: 'not_found' },
    'approvals.approver-decide': {
      params: waiting,
      body: { nonce: 'none', credential: {} },
      ends: 'not_found',
    },
  }
}

test("another person's session shows and changes nothing of the first", async () => {
  const first = await makePerson('customer-first')
  await commission(['For whoever comes?'])
  const second = await enrolMember(harness, home, { externalRef: 'customer-second' })
  const cookie = second.browser.cookie() ?? ''
  const params = { assignmentId: first.assignmentId, sessionId: first.sessionId }
  const work = await makeWorker(harness, home)
  const answer = { judgement: 'It is fine. I think so.', sure: 4 }
  const recorded = await work.record((await ask('work.worker-assignment', first.cookie, { params })).json)
  // In this order: the last one ends the second person.
  const attempts: Attempts = {
    'members.attention': {
      body: { token: first.token, sessionId: first.sessionId },
      ends: 'member_not_enrolled',
    },
    'members.me': { ends: 200 },
    'members.recording': { params, ends: 'not_found' },
    'members.export': { ends: 200 },
    'members.withdraw': { body: { memberId: first.memberId, language: 'en' }, ends: 'not_found' },
    'members.proof-begin': { body: { issuer: 'registry' }, ends: 200 },
    // The state of the first person's check.
    'members.proof-finish': {
      body: { state: await begunState(first.cookie), answer: 'second human' },
      ends: 'proof_refused',
    },
    'members.codes-renew': {
      body: { credential: await confirmed(second.browser, first.passkey) },
      ends: 'passkey_refused',
    },
    'members.passkey-add': {
      body: { credential: await created(second.browser, first.passkey) },
      ends: 'passkey_refused',
    },
    'work.worker-tasks': { ends: 200 },
    'work.worker-claim': { body: claimWish, ends: 200 },
    'work.worker-assignment': { params, ends: 'not_found' },
    'work.worker-image': { params: { ...params, field: 'url' }, ends: 'not_found' },
    'work.worker-deliver': { params, body: { sessionId: recorded, answer }, ends: 'not_found' },
    'work.worker-return': { params, ends: 'not_found' },
    'work.worker-report': { params, body: {}, ends: 'not_found' },
    'work.worker-appeal': { params, body: { text: 'I do not agree.' }, ends: 'not_found' },
    'work.worker-earnings': { ends: 200 },
    'work.worker-payout': {
      body: { mode: 'test', stars: 1, account: 'acct_0001' },
      ends: 'insufficient_stars',
    },
    ...(await approvalAttempts()),
    'members.erase': { body: { confirm: 'delete everything' }, ends: 200 },
  }
  assert.deepEqual(
    Object.keys(attempts).toSorted(),
    memberRows.map((row) => row.publicId).toSorted(),
    'every row for a person is tried here',
  )
  const before = await readOwn(first.cookie, params)
  for (const { status } of before) assert.equal(status, 200)
  const traces = [first.personId, first.memberId, first.sessionId, first.assignmentId, 'customer-first']
  for (const [publicId, { ends, ...asked }] of Object.entries(attempts)) {
    const answered = await ask(publicId, cookie, asked)
    assert.equal(outcomeOf(answered), ends, `${publicId}: ${answered.text}`)
    for (const trace of traces) assert.ok(!answered.text.includes(trace), `${publicId} shows ${trace}`)
  }
  assert.deepEqual(await readOwn(first.cookie, params), before)
})

/** Lets the edge look at the request, then does something else, and only then sends the body. */
const askLate = async (
  publicId: string,
  cookie: string,
  { params, body = {}, first }: Asked & { readonly first: () => Promise<unknown> },
): Promise<unknown> => {
  const row = rowOf(publicId)
  const late = async function* () {
    await first()
    yield JSON.stringify(body)
  }
  const answer = await harness.app.api.inject({
    method: row.method,
    url: pathOf(row, params),
    headers: { cookie, origin, 'content-type': 'application/json' },
    payload: Readable.from(late()),
  })
  return answer.statusCode === 200 ? 200 : answer.json().error
}

test('nothing is written for a person who was erased after the call was let in', async () => {
  type Made = Awaited<ReturnType<typeof makePerson>>
  const writes: Readonly<Record<string, readonly [ends: unknown, body: (person: Made) => unknown]>> = {
    'members.attention': ['not_found', ({ token, sessionId }) => ({ token, sessionId })],
    'members.withdraw': ['sign_in_required', ({ memberId }) => ({ memberId, language: 'en' })],
    'members.proof-begin': ['sign_in_required', () => ({ issuer: 'registry' })],
    'members.proof-finish': [
      'proof_refused',
      async ({ cookie }) => ({ state: await begunState(cookie), answer: 'erased human' }),
    ],
    'members.codes-renew': [
      'passkey_refused',
      async ({ browser, passkey }) => ({ credential: await confirmed(browser, passkey) }),
    ],
    'members.passkey-add': [
      'passkey_refused',
      async ({ browser }) => ({ credential: await created(browser, makePasskey()) }),
    ],
    'work.worker-claim': ['sign_in_required', () => claimWish],
    'work.worker-deliver': ['not_found', ({ sessionId }) => ({ sessionId, answer: { sure: 4 } })],
    'work.worker-return': ['not_found', () => ({})],
    'work.worker-report': ['sign_in_required', () => ({})],
    'work.worker-appeal': ['not_found', () => ({ text: 'I do not agree.' })],
    'approvals.approver-options': ['not_found', () => denial],
    'approvals.approver-decide': ['not_found', () => ({ nonce: 'none', credential: {} })],
    'work.worker-payout': ['sign_in_required', () => ({ mode: 'test', stars: 1, account: 'acct_0001' })],
    // Two erasures at once: the second finds nobody, and what it was asked for is true.
    'members.erase': [200, () => ({ confirm: 'delete everything' })],
  }
  assert.deepEqual(
    Object.keys(writes).toSorted(),
    memberRows
      .filter((row) => row.method !== 'GET')
      .map((row) => row.publicId)
      .toSorted(),
    'every write of a person is tried here',
  )
  for (const [publicId, [ends, bodyOf]] of Object.entries(writes)) {
    const person = await makePerson(`customer-${publicId}`)
    const { cookie, assignmentId, personId } = person
    const body = await bodyOf(person)
    let erased: TestResponse | undefined
    const first = async () => {
      erased = await ask('members.erase', cookie, { body: { confirm: 'delete everything' } })
    }
    const ended = await askLate(publicId, cookie, { params: { assignmentId }, body, first })
    assert.equal(erased?.status, 200, erased?.text)
    assert.equal(ended, ends, publicId)
    assert.deepEqual(await findTablesHolding(harness.owner, personId), [], publicId)
  }
})

test('a proof that was judged while its person was erased is kept of nobody', async () => {
  const { cookie, personId } = await makePerson('customer-judged')
  meanwhile = () => ask('members.erase', cookie, { body: { confirm: 'delete everything' } })
  const body = { state: await begunState(cookie), answer: 'a human who went' }
  assert.equal(outcomeOf(await ask('members.proof-finish', cookie, { body })), 'sign_in_required')
  meanwhile = async () => undefined
  assert.deepEqual(await findTablesHolding(harness.owner, personId), [])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { attacksIn } from '../../../../verify/test/approvals/run-attack.ts'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { invoice, invoiceType, makeAdministration, ruleOf } from '../../../test/fixtures/people/approvals.ts'
import { makeApproval } from '../../../test/fixtures/people/approver.ts'
import { assertRefusal } from '../../../test/fixtures/refusal.ts'
import { envelopeDays } from '../rules.ts'

const attack = attacksIn(import.meta.url)
const harness = await startHarness()
const requester = await makeAdministration(harness, 'test')
const executor = await makeAdministration(harness, 'test')
const stranger = await makeAdministration(harness, 'test')
const live = await makeAdministration(harness, 'live')

let references = 0
const ask = async (change: object = {}) => {
  references += 1
  const { json, text } = await requester.request({
    type: 'test.action',
    requestId: `request-${references}`,
    action: invoice,
    approvers: ['apv_test_approves'],
    ...change,
  })
  assert.ok(json.approvalId, text)
  return json as { approvalId: string; envelopeHash: string; status: string }
}
const shift = (approvalId: string, column: string, interval: string) =>
  harness.owner.query(
    `alter table approvals disable trigger transition;
     update approvals set ${column} = pohf_now() + interval '${interval}' where approval_id = '${approvalId}';
     alter table approvals enable trigger transition`,
  )
const eventsOf = async (type: string, approvalId: string): Promise<string[]> => {
  const { rows } = await harness.owner.query<{ agent_id: string }>(
    'select agent_id from events where type = $1 and subject = $2 order by agent_id',
    [type, approvalId],
  )
  return rows.map((row) => row.agent_id)
}

test('the audience consumes once, and both agents are told', async () => {
  const { approvalId, envelopeHash } = await ask({ audience: executor.agentId })
  assert.equal((await executor.read(approvalId)).json.status, 'approved')
  const used = await executor.consume(approvalId, envelopeHash)
  assert.equal(used.json.status, 'consumed', used.text)
  assert.ok(used.json.consumedAt)
  assert.deepEqual(
    await eventsOf('approval.consumed', approvalId),
    [requester.agentId, executor.agentId].toSorted(),
  )
  assert.equal(ruleOf(await executor.consume(approvalId, envelopeHash)), 'approval_conflict consumed')
  assert.equal((await requester.read(approvalId)).json.status, 'consumed')
})

attack('consumed-twice', async (refused) => {
  const { approvalId, envelopeHash } = await ask()
  const answers = await Promise.all(
    Array.from({ length: 100 }, () => requester.consume(approvalId, envelopeHash)),
  )
  const rules = answers.map(ruleOf)
  assert.equal(rules.filter((rule) => rule === 'passes').length, 1)
  for (const rule of rules.filter((one) => one !== 'passes')) refused(rule)
  assert.equal(rules.length, 100)
  assert.deepEqual(await eventsOf('approval.consumed', approvalId), [requester.agentId])
})

attack('other-audience', async (refused) => {
  const { approvalId, envelopeHash } = await ask({ audience: executor.agentId })
  for (const { apiKey } of [requester, stranger, live])
    refused(ruleOf(await requester.consume(approvalId, envelopeHash, apiKey)))
  for (const { apiKey } of [stranger, live])
    assertRefusal(await requester.read(approvalId, apiKey), 404, 'not_found')
  assert.equal((await requester.read(approvalId)).json.status, 'approved')
})

attack('test-key-for-live', async (refused) => {
  await live.administer('POST', 'approval-types/invoice.pay', invoiceType)
  const { approver } = await live.enrol()
  const { json } = await live.request({
    type: 'invoice.pay',
    action: invoice,
    requestId: 'live',
    approvers: [approver],
  })
  const made = await harness.call('POST', '/api/agents/keys', {
    key: await live.owner.bearer('test'),
    body: { scopes: ['approvals'] },
  })
  assertRefusal(await live.read(json.approvalId, made.json.apiKey), 404, 'not_found')
  refused(ruleOf(await live.consume(json.approvalId, json.envelopeHash, made.json.apiKey)))
})

test('a key without the scope approvals does nothing here', async () => {
  const { approvalId, envelopeHash } = await ask()
  const made = await harness.call('POST', '/api/agents/keys', {
    key: requester.bearer,
    body: { scopes: ['verify', 'work'] },
  })
  for (const answer of [
    await requester.consume(approvalId, envelopeHash, made.json.apiKey),
    await requester.read(approvalId, made.json.apiKey),
    await harness.call('GET', '/api/agents/approvals', { key: made.json.apiKey }),
  ])
    assertRefusal(answer, 403, 'forbidden')
})

attack('equal-action-other-request', async (refused) => {
  const [one, other] = [await ask(), await ask()]
  refused(ruleOf(await requester.consume(one.approvalId, other.envelopeHash)))
  refused(ruleOf(await requester.consume(one.approvalId, 'x'.repeat(43))))
  assert.equal(ruleOf(await requester.consume(one.approvalId, one.envelopeHash)), 'passes')
})

const consumeOf = async (change: object) => {
  const { approvalId, envelopeHash } = await ask(change)
  return ruleOf(await requester.consume(approvalId, envelopeHash))
}
attack('consume-undecided', async (refused) => refused(await consumeOf({ approvers: ['apv_test_silent'] })))
attack('consume-denied', async (refused) => refused(await consumeOf({ approvers: ['apv_test_denies'] })))
attack('consume-in-delay', async (refused) => {
  refused(await consumeOf({ policy: { delaySeconds: 60 } }))
  const { approvalId, envelopeHash } = await ask({ policy: { delaySeconds: 60 } })
  await shift(approvalId, 'consumable_at', '-1 second')
  assert.equal(ruleOf(await requester.consume(approvalId, envelopeHash)), 'passes')
})

attack('consume-stale', async (refused) => {
  const undecided = await ask({ approvers: ['apv_test_silent'] })
  const unused = await ask()
  await shift(undecided.approvalId, 'decide_by', '-1 second')
  await shift(unused.approvalId, 'decide_by', '-2 seconds')
  await shift(unused.approvalId, 'consume_by', '-1 second')
  for (const { approvalId, envelopeHash } of [undecided, unused]) {
    assert.equal((await requester.read(approvalId)).json.status, 'expired')
    refused(ruleOf(await requester.consume(approvalId, envelopeHash)))
    assert.deepEqual(await eventsOf('approval.expired', approvalId), [])
  }
  await harness.runJobs()
  await harness.runJobs()
  for (const { approvalId, envelopeHash } of [undecided, unused]) {
    assert.deepEqual(await eventsOf('approval.expired', approvalId), [requester.agentId])
    assert.equal((await requester.read(approvalId)).json.status, 'expired')
    refused(ruleOf(await requester.consume(approvalId, envelopeHash)))
  }
})

attack('consume-known-bad', async (refused) => {
  const owner = { agentId: requester.agentId, mode: 'test' } as const
  const approvers = [{ approver: 'apv_test_silent' }]
  const bad = await makeApproval(harness, owner, approvers, {
    knownBad: 'the recipient is not in the register',
  })
  await harness.owner.query(
    `update approvals set status = 'approved', approved = 1, decided_at = pohf_now(), consumable_at = pohf_now()
     where approval_id = $1`,
    [bad.approvalId],
  )
  assertRefusal(await requester.read(bad.approvalId), 404, 'not_found')
  refused(ruleOf(await requester.consume(bad.approvalId, bad.envelopeHash)))
  for (const query of ['', '?status=approved', '?type=invoice.pay', '?limit=100']) {
    const { json } = await harness.call('GET', `/api/agents/approvals${query}`, { key: requester.apiKey })
    assert.ok(!json.approvals.some((one: { approvalId: string }) => one.approvalId === bad.approvalId))
  }
  // Not even the database lets it be consumed.
  await assert.rejects(
    harness.owner.query(
      "update approvals set status = 'consumed', consumed_at = pohf_now() where approval_id = $1",
      [bad.approvalId],
    ),
    /check constraint/,
  )
  await shift(bad.approvalId, 'decide_by', '-2 seconds')
  await shift(bad.approvalId, 'consume_by', '-1 second')
  await harness.runJobs()
  const { rows } = await harness.owner.query('select status from approvals where approval_id = $1', [
    bad.approvalId,
  ])
  assert.equal(rows[0]?.status, 'expired')
  const events = await harness.owner.query('select from events where subject = $1', [bad.approvalId])
  assert.equal(events.rowCount, 0)
})

const idsOf = (answer: { approvals: { approvalId: string }[] }) =>
  answer.approvals.map(({ approvalId }) => approvalId)

test('the list has pages, newest first, by status, type and time', async () => {
  const owner = await makeAdministration(harness, 'test')
  const ids: string[] = []
  for (let n = 0; n < 5; n += 1) {
    const { json } = await owner.request({
      type: n % 2 === 0 ? 'test.even' : 'test.odd',
      requestId: `page-${n}`,
      action: { n },
      approvers: [n === 4 ? 'apv_test_denies' : 'apv_test_silent'],
    })
    ids.unshift(json.approvalId)
  }
  const read = async (query: string) =>
    (await harness.call('GET', `/api/agents/approvals?${query}`, { key: owner.apiKey })).json
  const first = await read('limit=2')
  const second = await read(`limit=2&cursor=${first.nextCursor}`)
  const third = await read(`limit=2&cursor=${second.nextCursor}`)
  assert.deepEqual([...idsOf(first), ...idsOf(second), ...idsOf(third)], ids)
  assert.deepEqual([first.hasMore, third.hasMore, third.nextCursor], [true, false, null])
  assert.equal((await read('status=denied')).approvals.length, 1)
  assert.equal((await read('type=test.odd')).approvals.length, 2)
  assert.equal((await read('to=2020-01-01')).approvals.length, 0)
  assert.equal((await read('from=2020-01-01')).approvals.length, 5)
  const other = await harness.call(
    'GET',
    `/api/agents/approvals?limit=2&status=denied&cursor=${first.nextCursor}`,
    {
      key: owner.apiKey,
    },
  )
  assertRefusal(other, 400, 'validation_failed')
})

test('old envelopes are erased; their hash stays, and the approval is no longer read', async () => {
  const { approvalId } = await ask({ approvers: ['apv_test_denies'] })
  const kept = await ask({ approvers: ['apv_test_denies'] })
  await shift(approvalId, 'decide_by', `-${envelopeDays + 2} days`)
  await shift(approvalId, 'consume_by', `-${envelopeDays + 1} days`)
  await shift(kept.approvalId, 'decide_by', `-${envelopeDays - 1} days`)
  await shift(kept.approvalId, 'consume_by', `-${envelopeDays - 1} days`)
  await harness.runJobs()
  assertRefusal(await requester.read(approvalId), 404, 'not_found')
  assert.equal((await requester.read(kept.approvalId)).status, 200)
  const { rows } = await harness.owner.query(
    'select envelope, octet_length(envelope_hash) as bytes from approvals where approval_id = $1',
    [approvalId],
  )
  assert.deepEqual(rows, [{ envelope: null, bytes: 32 }])
})

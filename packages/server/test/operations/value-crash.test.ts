import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import * as operators from '../../src/operators/index.ts'
import { valueOperations } from '../architecture/value-operations.ts'
import { startHarness, type TestResponse } from '../fixtures/harness.ts'
import { registerPartner } from '../fixtures/partner.ts'
import { enrolMember, openBrowser, registerConfirmedAgent } from '../fixtures/people/member.ts'
import { makeWorker, type TestWorker } from '../fixtures/people/worker.ts'

// A process may die after it has committed and before the answer is stored or sent. Whoever repeats the call, at once or
// after the lease of the key, must not move value a second time.

const harness = await startHarness({ PAYOUT_APPROVAL: 'on', DATABASE_WAIT_SECONDS: '20' })
const ada = await operators.create(harness.ctx, 'machine', 'Ada')
const bob = await operators.create(harness.ctx, 'machine', 'Bob')
const sandbox = await harness.register('test')
const home = await harness.register('test')
const partner = await registerPartner(harness)

let count = 0
const unique = (name: string): string => `${name}-${count++}`

/** One call, which a case repeats byte for byte. */
type Call = () => Promise<TestResponse>
type KeyHolder = { readonly apiKey: string }

const asAgent = (agent: KeyHolder, path: string, body: object): Call => {
  const headers = { 'idempotency-key': unique('key') }
  return () => harness.call('POST', path, { key: agent.apiKey, body, headers })
}
const asOperator = (path: string, body: object, operator = ada): Call => {
  const headers = { 'idempotency-key': unique('key') }
  return () => harness.callOperator('POST', `/operator/${path}`, { key: operator.operatorKey, body, headers })
}
const asWorker = ({ cookie }: TestWorker, path: string, body: object): Call => {
  const headers = { 'idempotency-key': unique('key'), cookie, origin: openBrowser(harness).origin }
  return () => harness.call('POST', `/api/work/${path}`, { body, headers })
}
const requireOk = async (call: Call): Promise<TestResponse> => {
  const answer = await call()
  assert.equal(answer.status, 200, answer.text)
  return answer
}

const workflowId = 'wf_judge'
const answer = { judgement: 'It is fine. I think so.', sure: 4 }
const placeOrder = () => asAgent(sandbox, '/api/agents/order', { taskType: workflowId, quantity: 2 })
const fundedOrder = async (): Promise<string> => {
  const { orderId } = (await requireOk(placeOrder())).json
  await requireOk(asAgent(sandbox, '/api/agents/order/fund', { orderId }))
  return String(orderId)
}
/** Each case works on the only open order, so that a worker claims a unit of it. */
const cancel = (orderId: string) => asAgent(sandbox, `/api/agents/orders/${orderId}/cancel`, {})
const claimed = async () => {
  const orderId = await fundedOrder()
  const worker = await makeWorker(harness, home)
  const { json } = await requireOk(asWorker(worker, 'claim', { workflowId, mode: 'test' }))
  return { orderId, worker, assignment: json as { assignmentId: string; site: string; challenge: string } }
}
const delivery = async () => {
  const { orderId, worker, assignment } = await claimed()
  const sessionId = await worker.record(assignment)
  const path = `assignments/${assignment.assignmentId}/deliver`
  return { orderId, worker, call: asWorker(worker, path, { sessionId, answer }) }
}
const delivered = async () => {
  const { orderId, worker, call } = await delivery()
  await requireOk(call)
  const { rows } = await harness.owner.query<{ n: number }>(
    "select n from order_units where order_id = $1 and status = 'delivered'",
    [orderId],
  )
  return { orderId, worker, unit: `/api/agents/orders/${orderId}/units/${rows[0]?.n}` }
}
const queuedPayout = async (...steps: readonly ('review' | 'approve')[]): Promise<string> => {
  const userRef = unique('user')
  await requireOk(asAgent(partner, '/api/partner/points/convert', { userRef, points: 100 }))
  const { json } = await requireOk(asAgent(partner, '/api/partner/payout/request', { userRef, stars: 30 }))
  for (const step of steps)
    await requireOk(asOperator(`payouts/${json.requestId}/${step}`, {}, step === 'approve' ? bob : ada))
  return String(json.requestId)
}
/** A worker with 50 vested Stars. */
const paidWorker = async (): Promise<TestWorker> => {
  const { worker, unit, orderId } = await delivered()
  await requireOk(asAgent(sandbox, `${unit}/accept`, {}))
  await requireOk(cancel(orderId))
  await harness.advance(15 * 86_400_000)
  await harness.runJobs()
  return worker
}

/** Prepares each operation; the call is the one that is interrupted and repeated. */
const cases: Readonly<Record<string, () => Promise<Call>>> = {
  'credits.buy': async () => asAgent(sandbox, '/api/agents/credits/buy', { pack: 'starter' }),
  'credentials.verify': async () => asAgent(sandbox, '/api/agents/verify', { sessionId: unique('visit') }),
  'credentials.verify-personhood': async () =>
    asAgent(sandbox, '/api/agents/verify-personhood', { memberId: unique('member') }),
  'credentials.binding.bind': async () => {
    const agent = await registerConfirmedAgent(harness, 'live', `${unique('binds')}@example.com`)
    const { memberId } = await enrolMember(harness, agent)
    return asAgent(agent, '/api/agents/bind-transaction', { memberId, paymentRef: unique('invoice') })
  },
  'partners.points-convert': async () =>
    asAgent(partner, '/api/partner/points/convert', { userRef: unique('user'), points: 7 }),
  'partners.payout-request': async () => {
    const userRef = unique('user')
    await requireOk(asAgent(partner, '/api/partner/points/convert', { userRef, points: 1_000 }))
    return asAgent(partner, '/api/partner/payout/request', { userRef, stars: 300 })
  },
  'work.orders.create': async () => placeOrder(),
  'questions.ask': async () =>
    asAgent(sandbox, '/api/agents/questions', { question: 'Is tea a soup?', budgetUsd: 1 }),
  'work.orders.fund': async () => {
    const { orderId } = (await requireOk(placeOrder())).json
    return asAgent(sandbox, '/api/agents/order/fund', { orderId })
  },
  'work.orders.cancel': async () => cancel(await fundedOrder()),
  'work.units.accept': async () => asAgent(sandbox, `${(await delivered()).unit}/accept`, {}),
  'work.units.reject': async () =>
    asAgent(sandbox, `${(await delivered()).unit}/reject`, { reason: 'wrong_answer' }),
  'work.workers.claim': async () => {
    await fundedOrder()
    return asWorker(await makeWorker(harness, home), 'claim', { workflowId, mode: 'test' })
  },
  'work.workers.deliver': async () => (await delivery()).call,
  'work.workers.return': async () => {
    const { worker, assignment } = await claimed()
    return asWorker(worker, `assignments/${assignment.assignmentId}/return`, {})
  },
  'work.workers.report': async () => {
    const { worker, assignment } = await claimed()
    return asWorker(worker, `assignments/${assignment.assignmentId}/report`, {})
  },
  'work.workers.payout': async () =>
    asWorker(await paidWorker(), 'payout', { mode: 'test', stars: 20, account: `acct_${randomUUID()}` }),
  'credits.operator-grant': async () =>
    asOperator(`agents/${partner.agentId}/credits`, {
      credits: 10,
      reference: unique('grant'),
      reason: 'test',
    }),
  'partners.limit-grant': async () =>
    asOperator(`agents/${partner.agentId}/points-limit`, {
      stars: 10,
      reference: unique('limit'),
      reason: 'test',
    }),
  'partners.payout-review': async () => asOperator(`payouts/${await queuedPayout()}/review`, {}),
  'partners.payout-approve': async () =>
    asOperator(`payouts/${await queuedPayout('review')}/approve`, {}, bob),
  'partners.payout-pay': async () =>
    asOperator(`payouts/${await queuedPayout('review', 'approve')}/pay`, { paymentRef: 'wire 1' }),
  'partners.payout-reject': async () =>
    asOperator(`payouts/${await queuedPayout()}/reject`, { reason: 'test' }),
  'work.operator.offer-decline': async () => {
    const body = { taskType: 'Look at my garden', quantity: 1, maxPriceUsd: 3 }
    const { orderId } = (await requireOk(asAgent(sandbox, '/api/agents/order', body))).json
    await requireOk(asAgent(sandbox, '/api/agents/order/fund', { orderId }))
    const path = `agents/${sandbox.agentId}/orders/${orderId}/decline`
    return asOperator(path, { mode: 'test', reason: 'no' })
  },
  'work.operator.review-decide': async () => {
    const { orderId, worker, assignment } = await claimed()
    await requireOk(asWorker(worker, `assignments/${assignment.assignmentId}/report`, {}))
    const path = `agents/${sandbox.agentId}/orders/${orderId}/review`
    return asOperator(path, { mode: 'test', decision: 'refused', reason: 'no' })
  },
  // The last case: nobody can cancel the platform's own units, and the workers of a later case would claim them.
  'work.operator.produce': async () => asOperator('work/produce', { workflowId, mode: 'test', quantity: 2 }),
}

const countedTables = [
  'assignments',
  'binding_allowances',
  'card_refunds',
  'checkouts',
  'credentials',
  'ledger_lines',
  'order_units',
  'orders',
  'payout_requests',
  'worker_earnings',
] as const

/** Every posting by kind and amount, and the number of things that somebody pays for. */
const readValue = async (): Promise<Map<string, number>> => {
  const postings = await harness.owner.query<{ name: string; n: number }>(
    `select entry.kind || ' ' || line.unit || ' ' || abs(line.amount) as name, count(*)::int as n
     from ledger_entries entry join ledger_lines line using (agent_id, entry_id) group by 1`,
  )
  const allowances = await harness.owner.query<{ n: number }>(
    'select coalesce(sum(used), 0)::int as n from binding_allowances',
  )
  const value = new Map(postings.rows.map(({ name, n }) => [name, n]))
  value.set('bindings used', allowances.rows[0]?.n ?? 0)
  for (const table of countedTables) {
    const { rows } = await harness.owner.query<{ n: number }>(`select count(*)::int as n from ${table}`)
    value.set(table, rows[0]?.n ?? 0)
  }
  return value
}
/** What `work` changed. */
const movedBy = async (work: () => Promise<void>): Promise<Record<string, number>> => {
  const before = await readValue()
  await work()
  const after = await readValue()
  return Object.fromEntries(
    [...after]
      .map(([name, n]) => [name, n - (before.get(name) ?? 0)] as const)
      .filter(([, change]) => change !== 0)
      .toSorted(([one], [two]) => (one < two ? -1 : 1)),
  )
}

/** While it stands, no answer can be stored: what a process that dies at that moment leaves behind. */
const plantCrash = async (): Promise<void> => {
  await harness.owner.query(
    `create function planted_crash() returns trigger language plpgsql as $$
       begin if new.status is not null then raise exception 'planted crash'; end if; return new; end $$;
     create trigger planted_crash before update on idempotency_keys for each row execute function planted_crash()`,
  )
}
const removeCrash = () => harness.owner.query('drop function planted_crash cascade')

/** Orders of one case must not give units to the workers of the next. */
const closeOrders = async (): Promise<void> => {
  const { rows } = await harness.owner.query<{ order_id: string }>(
    "select order_id from orders where agent_id = $1 and status in ('funded', 'in_progress')",
    [sandbox.agentId],
  )
  for (const { order_id: orderId } of rows) await cancel(orderId)()
}

test('the cases are those that the list of value operations names', () => {
  assert.deepEqual(
    Object.keys(cases).toSorted(),
    valueOperations
      .filter(({ crash }) => crash === 'case')
      .map(({ id }) => id)
      .toSorted(),
  )
})

test('the unique index of every natural key exists', async () => {
  const { rows } = await harness.owner.query<{ name: string }>(
    'select indexrelid::regclass::text as name from pg_index where indisunique',
  )
  const names = new Set(rows.map(({ name }) => name))
  for (const { id, index } of valueOperations) assert.ok(names.has(index), `${id}: ${index}`)
})

for (const [id, prepare] of Object.entries(cases))
  test(`${id}: a crash before the answer is stored moves value once`, async () => {
    const once = await prepare()
    const expected = await movedBy(async () => {
      await requireOk(once)
    })
    await closeOrders()

    const crashing = await prepare()
    const moved = await movedBy(async () => {
      await plantCrash()
      const first = await crashing()
      await removeCrash()
      assert.equal(first.status, 500, first.text)
      await crashing()
      await harness.advance(61_000)
      await crashing()
    })
    assert.deepEqual(moved, expected)
    await closeOrders()

    const lost = await prepare()
    const repeated = await movedBy(async () => {
      await lost()
      await lost()
      await harness.advance(61_000)
      const last = await lost()
      assert.equal(last.status, 200, last.text)
    })
    assert.deepEqual(repeated, expected)
    await closeOrders()
  })

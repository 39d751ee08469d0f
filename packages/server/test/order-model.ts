import assert from 'node:assert/strict'
import * as fc from 'fast-check'
import { houseAgentId, networkTagOf } from '../src/agents/index.ts'
import * as partners from '../src/partners/index.ts'
import { postTaken } from '../src/payments/card-apply.ts'
import { makePayments } from '../src/payments/index.ts'
import { findCheckoutForUpdate } from '../src/payments/store.ts'
import type { Agent } from '../src/platform/call.ts'
import { inTransaction, type Tx } from '../src/platform/db.ts'
import { Refusal } from '../src/platform/errors.ts'
import type { WorkerDeps } from '../src/work/deps.ts'
import { deadlines } from '../src/work/duties.ts'
import { makeCardSettler } from '../src/work/order-paid.ts'
import { operatorAppealDecide } from '../src/work/operator-appeal-decide.ts'
import { orderCancel } from '../src/work/order-cancel.ts'
import { orderFund } from '../src/work/order-fund.ts'
import { order } from '../src/work/order.ts'
import { unitAccept } from '../src/work/unit-accept.ts'
import { unitReject } from '../src/work/unit-reject.ts'
import type { UnitState } from '../src/work/units/rules.ts'
import { workerAppeal } from '../src/work/worker-appeal.ts'
import { workerClaim } from '../src/work/worker-claim.ts'
import { workerDeliver } from '../src/work/worker-deliver.ts'
import { workerReturn } from '../src/work/worker-return.ts'
import type { Harness } from './harness.ts'
import { makeWorker, type TestWorker } from './worker.ts'

/** What does not add up about the orders of an agent: by queries of their own. */
const faultQueries = {
  'an escrow is not the money of the units that have not ended': `
    select from orders o where o.agent_id = $1 and o.mode = 'test' and o.order_id = $2 and coalesce((select balance from ledger_accounts a
      where (a.agent_id, a.mode, a.account, a.unit) = (o.agent_id, o.mode, 'escrow:' || o.order_id, 'usd_cent')), 0)
    <> (select coalesce(sum(price_usd_cents), 0) from order_units u
      where (u.agent_id, u.mode, u.order_id) = (o.agent_id, o.mode, o.order_id) and u.ended_at is null and not u.house_pays)`,
  'units do not sum to what the order costs': `
    select from orders o where o.agent_id = $1 and o.mode = 'test' and o.order_id = $2 and o.funded_at is not null and o.total_usd_cents <>
      (select sum(price_usd_cents) from order_units u
        where (u.agent_id, u.mode, u.order_id) = (o.agent_id, o.mode, o.order_id))`,
  'a unit is paid that was not accepted, or accepted and not paid': `
    select from order_units u left join worker_earnings e
      on (e.agent_id, e.mode, e.order_id, e.n) = (u.agent_id, u.mode, u.order_id, u.n)
    where u.agent_id = $1 and u.mode = 'test' and u.order_id = $2 and (u.status = 'accepted') <> (e.n is not null)`,
  'a unit was paid by no entry, or its money went two ways': `
    select from order_units u where u.agent_id = $1 and u.mode = 'test' and u.order_id = $2 and not u.house_pays
      and (u.status = 'accepted') <> exists (select from ledger_claims c where c.agent_id = u.agent_id
        and c.mode = u.mode and c.kind = 'unit_payment' and c.reference = u.order_id || '/' || u.n)`,
  'an order is over and a unit waits': `
    select from orders o join order_units u on (u.agent_id, u.mode, u.order_id) = (o.agent_id, o.mode, o.order_id)
    where o.agent_id = $1 and o.mode = 'test' and o.order_id = $2 and u.status = 'open' and o.status not in ('funded', 'in_progress')`,
  'a unit is in hand and nobody has it': `
    select from order_units u where u.agent_id = $1 and u.mode = 'test' and u.order_id = $2
      and (u.status in ('open', 'cancelled')) = exists (select from assignments a
        where (a.agent_id, a.mode, a.order_id, a.n) = (u.agent_id, u.mode, u.order_id, u.n)
          and a.status not in ('not_verified', 'returned', 'ran_out'))`,
}
/** States and faults in one look: it is asked after every step. */
const comparison = `
  select o.status, array_agg(u.status order by u.n) as units, (select array_agg(fault) from (${Object.entries(
    faultQueries,
  )
    .map(([name, query]) => `select '${name}' as fault where exists (${query})`)
    .join(' union all ')}) found) as faults
  from orders o join order_units u on (u.agent_id, u.mode, u.order_id) = (o.agent_id, o.mode, o.order_id)
  where o.agent_id = $1 and o.mode = 'test' and o.order_id = $2 group by o.status`

type Lane = {
  readonly harness: Harness
  readonly agent: Agent
  readonly workflowId: string
  readonly deps: WorkerDeps
  readonly people: readonly TestWorker[]
  readonly counts: Map<string, number>
}
type Unit = { status: UnitState; holder: number | undefined; assignmentId: string; house: boolean }
type Model = { units: Unit[]; status: string; disputed: boolean; items: number; had: Set<string> }
type Real = Lane & { readonly orderId: string; readonly checkoutId: string; readonly price: number }

const hours = (count: number) => `${count} hours`
/** Time stands still but for the transactions that say otherwise: then a day is a setting. */
export const skewable = `
  create or replace function pohf_now() returns timestamptz language sql stable parallel safe as
  $$ select transaction_timestamp() + coalesce(nullif(current_setting('pohf.skew', true), ''), '0 hours')::interval $$`
const later = <T>({ harness }: Lane, skew: string, work: (tx: Tx) => Promise<T>): Promise<T> =>
  inTransaction(harness.ctx, 'system', async (tx) => {
    const { sql } = await import('kysely')
    await sql`select set_config('pohf.skew', ${skew}, true)`.execute(tx)
    return work(tx)
  })

/** Whether a call was taken, or refused in words. Everything else is a fault of ours. */
const attempt = async (work: () => Promise<unknown>): Promise<boolean> => {
  try {
    await work()
    return true
  } catch (error) {
    if (error instanceof Refusal) return false
    throw error
  }
}
const findTokens = async () => new Map<string, string>()
const noAudit = async () => undefined

/** A step: what it does to the real thing, and whether and how it may change the model. */
type Step = {
  readonly name: string
  readonly act: (real: Real, model: Model) => Promise<unknown>
  /** Undefined where the step must be refused or change nothing. */
  readonly change: (model: Model) => (() => void) | undefined
}
const isOpenOrder = (model: Model) => model.status === 'funded' || model.status === 'in_progress'
const refresh = (model: Model): void => {
  const has = (...states: UnitState[]) => model.units.some(({ status }) => states.includes(status))
  if (model.status === 'funded' && !has('open', 'claimed')) model.status = 'expired'
  if (model.status === 'in_progress' && !has('open', 'claimed')) model.status = 'delivered'
  if (model.status === 'delivered' && !has('open', 'claimed', 'delivered', 'rejected', 'appealed'))
    model.status = 'completed'
}
/** Where all the money went back, an order that is over is refunded: in the sandbox at once. */
const refund = (model: Model): void => {
  if (
    (model.status === 'cancelled' || model.status === 'expired') &&
    model.units.every(({ status, house }) => house || status === 'cancelled' || status === 'refused')
  )
    model.status = 'refunded'
}
const free = (model: Model, unit: Unit): void => {
  unit.status = isOpenOrder(model) ? 'open' : 'cancelled'
  unit.holder = undefined
  refresh(model)
  refund(model)
}
const inHand = (model: Model, person: number) =>
  model.units.find(({ status, holder }) => status === 'claimed' && holder === person)
const unitAt = (model: Model, place: number) => model.units[place % model.units.length]
const keyAt = (model: Model, place: number) => (place % model.units.length) + 1
const personAt = (real: Real, person: number) => ({ personId: real.people[person]?.personId ?? '' })
const itemOf = (model: Model, n: number) =>
  model.items === 0 ? `unit ${n}` : `item ${(n - 1) % model.items}`

const accept = (model: Model, unit: Unit): void => {
  unit.status = 'accepted'
  refresh(model)
}
const refuse = (model: Model, unit: Unit): void => {
  unit.status = 'refused'
  refresh(model)
  refund(model)
}

const claim = (person: number): Step => ({
  name: `claim ${person}`,
  act: async (real, model) => {
    const got = await workerClaim(real.deps, personAt(real, person), {
      workflowId: real.workflowId,
      mode: 'test',
      address: '10.0.0.1',
    })
    const { rows } = await real.harness.owner.query('select n from assignments where assignment_id = $1', [
      got.assignmentId,
    ])
    const unit = model.units[rows[0].n - 1]
    assert.ok(unit)
    unit.assignmentId = got.assignmentId
  },
  change: (model) => {
    if (inHand(model, person)) return undefined
    const n = model.units.findIndex(
      ({ status }, index) => status === 'open' && !model.had.has(`${person} ${itemOf(model, index + 1)}`),
    )
    const unit = model.units[n]
    if (!unit) return undefined
    return () => {
      unit.status = 'claimed'
      unit.holder = person
      model.had.add(`${person} ${itemOf(model, n + 1)}`)
      if (model.status === 'funded') model.status = 'in_progress'
    }
  },
})
const giveBack = (person: number): Step => ({
  name: `return ${person}`,
  act: (real, model) =>
    workerReturn(real.harness.ctx, personAt(real, person), inHand(model, person)?.assignmentId ?? 'asg_none'),
  change: (model) => {
    const unit = inHand(model, person)
    if (!unit) return undefined
    return () => {
      model.had.delete(`${person} ${itemOf(model, model.units.indexOf(unit) + 1)}`)
      free(model, unit)
    }
  },
})
const deliver = (person: number, verified: boolean): Step => ({
  name: `${verified ? 'deliver' : 'deliver as a bot'} ${person}`,
  act: async (real, model) => {
    const assignmentId = inHand(model, person)?.assignmentId ?? 'asg_none'
    const { rows } = await real.harness.owner.query(
      'select challenge from assignments where assignment_id = $1',
      [assignmentId],
    )
    const challenge = String(rows[0]?.challenge ?? 'none')
    const sessionId =
      (await real.people[person]?.record(
        { site: real.agent.agentId, challenge },
        verified ? {} : { verified: false, reasons: ['synthetic'] },
      )) ?? ''
    return workerDeliver(real.deps, personAt(real, person), { assignmentId, sessionId, answer: { a: 'x' } })
  },
  change: (model) => {
    const unit = inHand(model, person)
    if (!unit) return undefined
    return () => {
      if (!verified) free(model, unit)
      else {
        unit.status = 'delivered'
        refresh(model)
      }
    }
  },
})
const decideByBuyer = (place: number, yes: boolean): Step => ({
  name: `${yes ? 'accept' : 'reject'} ${place}`,
  act: (real, model) => {
    const { ctx } = real.harness
    const unit = { orderId: real.orderId, n: keyAt(model, place) }
    return yes
      ? unitAccept({ ctx, books: real.deps, findTokens }, real.agent, unit)
      : unitReject(ctx, real.agent, findTokens, { ...unit, reason: 'incomplete' })
  },
  change: (model) => {
    const unit = unitAt(model, place)
    if (unit?.status !== 'delivered') return undefined
    return () => {
      if (yes) accept(model, unit)
      else unit.status = 'rejected'
    }
  },
})
const appeal = (place: number): Step => ({
  name: `appeal ${place}`,
  act: (real, model) => {
    const unit = unitAt(model, place)
    return workerAppeal(real.harness.ctx, personAt(real, unit?.holder ?? 0), {
      assignmentId: unit?.assignmentId ?? 'asg_none',
      text: 'Look again.',
    })
  },
  change: (model) => {
    const unit = unitAt(model, place)
    return unit?.status === 'rejected' ? () => void (unit.status = 'appealed') : undefined
  },
})
const decide = (place: number, decision: 'accepted' | 'refused'): Step => ({
  name: `decide ${place} ${decision}`,
  act: (real, model) =>
    operatorAppealDecide(
      { ctx: real.harness.ctx, audit: noAudit, books: real.deps },
      { operatorId: 'opr_x', name: 'Ada' },
      { assignmentId: unitAt(model, place)?.assignmentId ?? 'asg_none', decision, reason: 'r' },
    ),
  change: (model) => {
    const unit = unitAt(model, place)
    if (unit?.status !== 'appealed') return undefined
    return () => (decision === 'accepted' ? accept(model, unit) : refuse(model, unit))
  },
})
const cancel: Step = {
  name: 'cancel',
  act: (real) => orderCancel(real.harness.ctx, real.agent, real.orderId),
  change: (model) => {
    // To cancel what is cancelled is no fault, and changes nothing.
    if (model.status === 'cancelled') return () => undefined
    if (!isOpenOrder(model)) return undefined
    return () => {
      for (const unit of model.units) if (unit.status === 'open') unit.status = 'cancelled'
      model.status = 'cancelled'
      refund(model)
    }
  },
}
const isBack = ({ status, house }: Unit) => !house && (status === 'refused' || status === 'cancelled')
/** The bank takes all of the payment back, whatever we gave back before. */
const dispute: Step = {
  name: 'dispute',
  act: (real) =>
    inTransaction(real.harness.ctx, 'system', async (tx) => {
      const row = await findCheckoutForUpdate(tx, real.checkoutId)
      assert.ok(row)
      if (row.takenUsdCents >= row.amountUsdCents) throw new Refusal('order_conflict')
      await postTaken(tx, makeCardSettler(real.deps), row, row.amountUsdCents)
    }),
  change: (model) => {
    if (model.disputed || model.units.every(isBack)) return undefined
    return () => {
      model.disputed = true
      for (const unit of model.units) {
        if (unit.status === 'open' || unit.status === 'claimed') unit.status = 'cancelled'
        else if (['delivered', 'rejected', 'appealed'].includes(unit.status)) {
          unit.house = true
          if (unit.status === 'delivered') unit.status = 'rejected'
        }
      }
      if (isOpenOrder(model)) model.status = 'cancelled'
      if (model.status === 'cancelled' || model.status === 'expired') model.status = 'refunded'
      refresh(model)
    }
  },
}
const pass = (kind: 'claims' | 'reviews' | 'appeals' | 'untaken'): Step => ({
  name: `${kind} run out`,
  act: async (real) => {
    const skew = { claims: hours(25), reviews: hours(73), appeals: hours(73), untaken: hours(31 * 24) }[kind]
    const { list, act } = deadlines(real.deps)[kind]
    const due = (await later(real, skew, list)).filter(({ orderId }) => orderId === real.orderId)
    for (const one of due) await later(real, skew, (tx) => act(tx, one as never))
  },
  change: (model) => () => {
    for (const unit of model.units) {
      if (kind === 'claims' && unit.status === 'claimed') {
        model.had.delete(`${unit.holder} ${itemOf(model, model.units.indexOf(unit) + 1)}`)
        free(model, unit)
      }
      if (kind === 'reviews' && unit.status === 'delivered') accept(model, unit)
      if (kind === 'appeals' && unit.status === 'rejected') refuse(model, unit)
      if (kind === 'untaken' && unit.status === 'open') unit.status = 'cancelled'
    }
    refresh(model)
    refund(model)
  },
})

const compare = async (model: Model, real: Real, name: string): Promise<void> => {
  const { rows } = await real.harness.owner.query(comparison, [real.agent.agentId, real.orderId])
  assert.deepEqual(
    rows[0],
    { status: model.status, units: model.units.map(({ status }) => status), faults: null },
    `after ${name}`,
  )
}
const runStep = async (step: Step, model: Model, real: Real): Promise<void> => {
  const change = step.change(model)
  const taken = await attempt(() => step.act(real, model))
  assert.equal(taken, change !== undefined, `${step.name} was ${taken ? 'taken' : 'refused'}`)
  change?.()
  await compare(model, real, step.name)
  const key = `${step.name.split(' ')[0]} ${taken ? 'taken' : 'refused'}`
  real.counts.set(key, (real.counts.get(key) ?? 0) + 1)
}

const unitsIn = (model: Model, status: UnitState) =>
  model.units.flatMap((unit, index) => (unit.status === status ? [index] : []))
const passes = (['claims', 'reviews', 'appeals', 'untaken'] as const).map(pass)
/** Every step that there is, sensible or not. */
const anyStep = (n: number): readonly Step[] => [
  claim(n % 3),
  deliver(n % 3, true),
  deliver(n % 3, false),
  giveBack(n % 3),
  decideByBuyer(n % 3, n % 2 === 0),
  appeal(n % 3),
  decide(n % 3, n % 2 === 0 ? 'accepted' : 'refused'),
  cancel,
  dispute,
  ...passes,
]
/** The steps that lead on from here, the usual ones more often. */
const nextSteps = (model: Model): readonly Step[] => {
  const holders = [0, 1, 2].filter((one) => inHand(model, one))
  const idle = [0, 1, 2].filter((one) => !inHand(model, one))
  return [
    ...(unitsIn(model, 'open').length > 0 ? idle.map(claim) : []),
    ...holders.flatMap((one) => [deliver(one, true), deliver(one, true), deliver(one, false), giveBack(one)]),
    ...unitsIn(model, 'delivered').flatMap((at) => [decideByBuyer(at, true), decideByBuyer(at, false)]),
    ...unitsIn(model, 'rejected').map(appeal),
    ...unitsIn(model, 'appealed').flatMap((at) => [decide(at, 'accepted'), decide(at, 'refused')]),
  ]
}
type Aimed = (model: Model) => Step
/** One in six is any step at all; the others lead on where they can. */
const stepArbitrary: fc.Arbitrary<Aimed> = fc
  .tuple(fc.nat({ max: 5 }), fc.nat({ max: 9_999 }))
  .map(([kind, n]) => (model) => {
    const sensible = kind === 0 ? [] : nextSteps(model)
    const from = sensible.length > 0 ? sensible : anyStep(Math.floor(n / 13))
    return from[n % from.length] ?? cancel
  })

/** Whatever happened, every unit comes to an end by time and operators alone, and the escrow is empty. */
const end = async (model: Model, real: Real): Promise<void> => {
  for (const [state, kind] of [
    ['claimed', 'claims'],
    ['open', 'untaken'],
    ['delivered', 'reviews'],
    ['rejected', 'appeals'],
  ] as const)
    if (unitsIn(model, state).length > 0) await runStep(pass(kind), model, real)
  for (const [index, { status }] of model.units.entries())
    if (status === 'appealed') await runStep(decide(index, 'refused'), model, real)
  assert.ok(model.units.every(({ status }) => ['accepted', 'refused', 'cancelled'].includes(status)))
  assert.ok(['completed', 'cancelled', 'refunded', 'expired'].includes(model.status), model.status)
}

const begin = async (lane: Lane, wish: { quantity: number; items: number; price: number }) => {
  const { harness, agent, workflowId } = lane
  const items = Array.from({ length: Math.min(wish.items, wish.quantity) }, (_, index) => `item ${index}`)
  const placed = await order(harness.ctx, agent, { taskType: workflowId, quantity: wish.quantity, items })
  const payments = makePayments(harness.ctx, undefined)
  const { checkoutUrl } = await orderFund(harness.ctx, agent, { orderId: placed.orderId, payments })
  const checkoutId = checkoutUrl.split('/').at(-1) ?? ''
  const model: Model = {
    units: Array.from({ length: wish.quantity }, () => ({
      status: 'open' as const,
      holder: undefined,
      assignmentId: 'asg_none',
      house: false,
    })),
    status: 'funded',
    disputed: false,
    items: items.length,
    had: new Set(),
  }
  return { model, real: { ...lane, orderId: placed.orderId, checkoutId, price: wish.price } }
}

export const makeLane = async (harness: Harness, name: string): Promise<Lane> => {
  const registered = await harness.register('test', `dev@${name}.example`)
  const agent: Agent = { ...registered, keyId: 'key_x', scopes: [], ratePerMinute: null }
  const home = await harness.register('test', `home@${name}.example`)
  const workflowId = `wf_model_${name}`
  await harness.owner.query(
    `insert into workflows (workflow_id, title, description, steps, est_minutes, reward_stars, category, price_usd_cents,
       input_form, answer_form) values ($1, 'T', 'D', '{do}', 1, 7, 'model', 20, '[]',
       '[{"name": "a", "label": "A", "type": "line", "required": true}]')`,
    [workflowId],
  )
  const deps: WorkerDeps = {
    ctx: harness.ctx,
    houseOf: (mode) => houseAgentId(harness.ctx.config, mode),
    starsAccountOf: partners.userAccountOf,
    // The mint has tests of its own, and a signature for each step would only cost time.
    mintWork: (_work, within) =>
      inTransaction(harness.ctx, 'system', (tx) => within(tx, harness.ctx.ids.make('crd_'))),
    findNetwork: async () => undefined,
    networkOf: (address) => networkTagOf(harness.ctx, address),
    requestPayout: partners.requestPayout,
    starsHeldOf: partners.findPayoutSums,
  }
  const people = await Promise.all(Array.from({ length: 3 }, () => makeWorker(harness, home)))
  return { harness, agent, workflowId, deps, people, counts: new Map() }
}

/** So many random lives of orders, each step compared with the model and the books. */
export const runModel = async (
  lane: Lane,
  sequences: number,
  steps: number,
  seed?: number,
): Promise<void> => {
  const wish = fc.record({
    quantity: fc.constantFrom(1, 1, 2, 2, 3),
    items: fc.integer({ min: 0, max: 3 }),
    price: fc.constant(20),
  })
  const property = fc.asyncProperty(
    wish,
    fc.array(stepArbitrary, { minLength: 4, maxLength: steps }),
    async (wanted, taken) => {
      const { model, real } = await begin(lane, wanted)
      try {
        for (const aimed of taken) await runStep(aimed(model), model, real)
        await end(model, real)
      } finally {
        // What a failed run leaves must not be found by the next.
        await lane.harness.owner.query(
          "update order_units set status = 'cancelled', ended_at = now() where agent_id = $1 and mode = 'test' and order_id = $2 and status = 'open'",
          [lane.agent.agentId, real.orderId],
        )
      }
    },
  )
  await fc.assert(property, { numRuns: sequences, ...(seed === undefined ? {} : { seed }) })
}

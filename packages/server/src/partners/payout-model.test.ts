import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/fixtures/harness.ts'
import { registerPartner } from '../../test/fixtures/partner.ts'
import { ledgerFaults } from '../../test/fixtures/payments/ledger.ts'
import * as agents from '../agents/index.ts'
import { post } from '../ledger/index.ts'
import * as operators from '../operators/index.ts'
import type { Agent } from '../platform/http/call.ts'
import { inTransaction } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import { unitDepsOf } from '../wiring/settlement.ts'
import { jobs } from '../work/jobs.ts'
import { starLines, vestingAccountOf, vestingDays, workAccounts } from '../work/units/rules.ts'
import { payoutApprove } from './payout-approve.ts'
import { payoutPay } from './payout-pay.ts'
import { payoutReject } from './payout-reject.ts'
import { makeRequestWorkerPayout, payoutRequest } from './payout-request.ts'
import { payoutReview } from './payout-review.ts'
import { pointsConvert } from './points-convert.ts'

/** Lives of payouts, half of partners' users and half of workers. 2,000 take about 90 s: `npm run battery -- planted` runs them. */
const lives = process.env['POHF_LONG_MODELS'] === '1' ? 2_000 : 300
const rounds = 7
const daysPerRound = 4
const stars = 20

const harness = await startHarness({ PAYOUT_APPROVAL: 'on' })
const { ctx } = harness
const partner = (await registerPartner(harness)) as unknown as Agent
const [ada, bob, eve] = [
  await operators.create(ctx, 'machine', 'Ada'),
  await operators.create(ctx, 'machine', 'Bob'),
  await operators.create(ctx, 'machine', 'Eve'),
]
/** The third was made by another operator: she may pay and reject, never review or approve. */
const staff = [
  { operatorId: ada.operatorId, name: 'Ada' },
  { operatorId: bob.operatorId, name: 'Bob' },
  { operatorId: eve.operatorId, name: 'Eve', madeBy: ada.operatorId },
] as const
const platform = agents.platformAgentId(ctx.config, 'live')
const audit = (tx: Parameters<typeof operators.audit>[0], entry: Parameters<typeof operators.audit>[1]) =>
  operators.audit(tx, entry)
const listRisks = async () => []

let seed = 20_261_117
const random = (below: number): number => {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
  return Math.floor((seed / 2 ** 32) * below)
}

type Life = {
  readonly number: number
  readonly isWorker: boolean
  readonly userRef: string
  requestId: string | undefined
  state: 'none' | 'queued' | 'in_review' | 'approved' | 'paid' | 'rejected'
  reviewer: number | undefined
}
const all: Life[] = Array.from({ length: lives }, (_, number) => ({
  number,
  isWorker: number % 2 === 1,
  userRef: number % 2 === 1 ? `wrk_model_${number}` : `user ${number}`,
  requestId: undefined,
  state: 'none',
  reviewer: undefined,
}))
let elapsedDays = 0
const isVested = () => elapsedDays >= vestingDays

const begin = async ({ isWorker, userRef, number }: Life): Promise<void> => {
  if (!isWorker) {
    const deps = { ctx, isEmailConfirmed: agents.isEmailConfirmed }
    await pointsConvert(deps, partner, { userRef, points: stars, key: `${number}` })
    return
  }
  await inTransaction(ctx, 'system', async (tx) => {
    await post(tx, {
      agentId: platform,
      mode: 'live',
      kind: 'stars_earned',
      reference: `model ${number}`,
      lines: starLines(workAccounts.stars, vestingAccountOf(userRef), BigInt(stars)),
    })
    await tx
      .insertInto('worker_earnings')
      .values({
        agent_id: platform,
        mode: 'live',
        order_id: 'ord_model',
        n: number,
        worker: userRef,
        stars: BigInt(stars),
        vests_at: new Date(ctx.clock.now().getTime() + vestingDays * 86_400_000),
      })
      .execute()
  })
}

const requestWorker = makeRequestWorkerPayout(ctx)
const request = async (life: Life): Promise<string> => {
  const { userRef, isWorker, number } = life
  if (!isWorker)
    return (await payoutRequest(ctx, partner, { userRef, stars }, async (_tx, result) => result)).requestId
  const outcome = await inTransaction(ctx, 'system', (tx) =>
    requestWorker(tx, {
      agentId: platform,
      mode: 'live',
      userRef,
      stars,
      account: `account ${String(number).padStart(8, '0')}`,
    }),
  )
  if ('refusal' in outcome) throw outcome.refusal
  return outcome.requestId
}

/** Whether the step is allowed, said by the rules of the documentation and not by the code. */
const isAllowed = (life: Life, step: string, who: number): boolean => {
  const isMachineMade = who < 2
  switch (step) {
    case 'request':
      return (life.state === 'none' || life.state === 'rejected') && (!life.isWorker || isVested())
    case 'review':
      return life.state === 'queued' && isMachineMade
    case 'approve':
      return life.state === 'in_review' && isMachineMade && who !== life.reviewer
    case 'pay':
      return life.state === 'approved'
    default:
      return life.state === 'queued' || life.state === 'in_review' || life.state === 'approved'
  }
}
const act = async (life: Life, step: string, who: number): Promise<void> => {
  const operator = staff[who] ?? staff[0]
  const requestId = life.requestId ?? 'pay_none'
  if (step === 'request') life.requestId = await request(life)
  if (step === 'review') await payoutReview({ ctx, audit, listRisks }, operator, requestId)
  if (step === 'approve') await payoutApprove(ctx, audit, operator, requestId)
  if (step === 'reject') await payoutReject(ctx, audit, operator, { requestId, reason: 'model' })
  const account = life.isWorker ? { account: `account ${String(life.number).padStart(8, '0')}` } : {}
  if (step === 'pay') await payoutPay(ctx, audit, operator, { requestId, paymentRef: 'wire', ...account })
}
const stateAfter = {
  request: 'queued',
  review: 'in_review',
  approve: 'approved',
  pay: 'paid',
  reject: 'rejected',
} as const
/** Often the step that leads on, otherwise any. */
const stepOf = ({ state }: Life): keyof typeof stateAfter => {
  const onward = {
    none: 'request',
    queued: 'review',
    in_review: 'approve',
    approved: 'pay',
    paid: 'pay',
    rejected: 'request',
  } as const
  const steps = ['request', 'review', 'approve', 'pay', 'reject'] as const
  return random(4) > 0 ? onward[state] : (steps[random(steps.length)] ?? 'pay')
}
const taken = new Map<string, number>()
const tryStep = async (life: Life): Promise<void> => {
  // A life that has ended is tried again now and then.
  if (life.state === 'paid' && random(8) > 0) return
  const step = stepOf(life)
  const who = random(3)
  const expected = isAllowed(life, step, who)
  const refusal = await act(life, step, who).then(
    () => undefined,
    (error: unknown) => {
      if (error instanceof Refusal) return error
      throw error
    },
  )
  const count = `${step} ${expected ? 'taken' : 'refused'}`
  taken.set(count, (taken.get(count) ?? 0) + 1)
  assert.equal(
    refusal === undefined,
    expected,
    `${count} of life ${life.number} in ${life.state} by ${who}: ${refusal?.code}`,
  )
  if (!expected) return
  life.state = stateAfter[step]
  if (step === 'review') life.reviewer = who
  if (step === 'request') life.reviewer = undefined
}
/** Eight lives at a time: more would wait for the audit log, which is one chain. */
const forAll = async (work: (life: Life) => Promise<void>): Promise<void> => {
  const waiting = [...all]
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (let life = waiting.pop(); life; life = waiting.pop()) await work(life)
    }),
  )
}
const vestingJob = jobs(ctx, unitDepsOf(ctx)).find(({ name }) => name === 'stars')

test(`${lives} random lives: nothing is paid without two operators, nor before its Stars have vested`, async (t) => {
  assert.ok(vestingJob)
  await forAll(begin)
  for (let round = 0; round < rounds; round++) {
    await forAll(tryStep)
    await harness.advance(daysPerRound * 86_400_000)
    elapsedDays += daysPerRound
    while ((await vestingJob.run()) > 0);
  }
  t.diagnostic(
    [...taken]
      .map(([step, count]) => `${step}: ${count}`)
      .toSorted()
      .join(', '),
  )
  for (const step of Object.keys(stateAfter))
    for (const outcome of ['taken', 'refused'])
      assert.ok((taken.get(`${step} ${outcome}`) ?? 0) > 0, `${step} was never ${outcome}`)
  const { rows } = await harness.owner.query(
    `select p.request_id from payout_requests p left join worker_earnings e on e.worker = p.user_ref
     where (p.state = 'paid' and (p.reviewed_by is null or p.approved_by is null or p.reviewed_by = p.approved_by
       or p.reviewed_by = $1 or p.approved_by = $1)) or p.created_at < e.vests_at`,
    [eve.operatorId],
  )
  assert.deepEqual(rows, [])
  const { rows: paid } = await harness.owner.query(
    "select count(*)::int as n from payout_requests where state = 'paid'",
  )
  assert.equal(paid[0].n, all.filter(({ state }) => state === 'paid').length)
  assert.ok(paid[0].n > lives / 10)
  assert.deepEqual(await ledgerFaults(harness), [])
})

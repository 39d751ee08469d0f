import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { ledgerFaults } from '../../test/fixtures/payments/ledger.ts'
import { startHarness } from '../../test/fixtures/harness.ts'
import { inTransaction } from '../platform/db/db.ts'
import type { AgentId } from '../platform/ops/ids.ts'
import { InsufficientBalance, post } from './index.ts'
import type { Entry, Line, Unit } from './rules.ts'

const harness = await startHarness()
const sequences = 120
const commandsMax = 40

type Model = { balances: Map<string, bigint>; posted: Map<string, readonly Line[]> }
type Real = { agentId: AgentId; posts: number; repeats: number; refusals: number }

const keyOf = (line: Line) => `${line.account} ${line.unit}`
const fits = (account: string, balance: bigint) =>
  account.startsWith('world:') || (account.startsWith('owed:') ? balance <= 0n : balance >= 0n)

class Post implements fc.AsyncCommand<Model, Real> {
  readonly reference: string
  readonly lines: readonly Line[]
  constructor(reference: string, lines: readonly Line[]) {
    this.reference = reference
    this.lines = lines
  }
  check = () => true
  async run(model: Model, real: Real): Promise<void> {
    const entry: Entry = {
      agentId: real.agentId,
      mode: 'live',
      kind: 'model',
      reference: this.reference,
      lines: this.lines,
    }
    const outcome = await inTransaction(harness.ctx, real.agentId, (tx) => post(tx, entry)).catch(
      (error: unknown) => {
        if (error instanceof InsufficientBalance) return error
        throw error
      },
    )
    real.posts += 1
    const stored = model.posted.get(this.reference)
    const after = (line: Line) => (model.balances.get(keyOf(line)) ?? 0n) + line.amount
    const isShort = this.lines.some((line) => !fits(line.account, after(line)))
    if (stored) {
      real.repeats += 1
      assert.ok(!(outcome instanceof InsufficientBalance) && outcome.repeated)
      const written = (lines: readonly Line[]) =>
        lines.map((line) => `${keyOf(line)} ${line.amount}`).toSorted()
      assert.deepEqual(written(outcome.lines), written(stored))
      return
    }
    assert.equal(outcome instanceof InsufficientBalance, isShort)
    if (outcome instanceof InsufficientBalance) {
      real.refusals += 1
      return
    }
    assert.equal(outcome.repeated, false)
    for (const line of this.lines) model.balances.set(keyOf(line), after(line))
    for (const line of outcome.lines) assert.equal(line.balanceAfter, model.balances.get(keyOf(line)))
    model.posted.set(this.reference, this.lines)
  }
  toString = () =>
    `post(${this.reference}, ${this.lines.map((line) => `${keyOf(line)} ${line.amount}`).join('; ')})`
}

const accounts = ['world:a', 'world:b', 'owed:a', 'purse', 'hold:1', 'hold:2']
/** A balanced move over two or three accounts of one unit. */
const movement = (unit: Unit) =>
  fc
    .tuple(
      fc.shuffledSubarray(accounts, { minLength: 2, maxLength: 3 }),
      fc.bigInt({ min: -30n, max: 30n }).filter((amount) => amount !== 0n),
      fc.bigInt({ min: 1n, max: 9n }),
    )
    .map(([[first = '', second = '', third], amount, part]): Line[] => {
      const rest = third === undefined || amount === -part ? 0n : part
      const lines = [
        { account: first, unit, amount },
        { account: second, unit, amount: -amount - rest },
      ]
      return rest === 0n || third === undefined ? lines : [...lines, { account: third, unit, amount: rest }]
    })
const command = fc
  .record({
    reference: fc.integer({ min: 1, max: 60 }).map(String),
    credits: movement('credit'),
    stars: fc.option(movement('star'), { nil: [] as Line[], freq: 3 }),
  })
  .map(({ reference, credits, stars }) => new Post(reference, [...credits, ...stars]))

void test('whatever is posted, the ledger does what a simple model of it does', async (t) => {
  const totals = { posts: 0, repeats: 0, refusals: 0 }
  await fc.assert(
    fc.asyncProperty(fc.commands([command], { maxCommands: commandsMax, size: 'max' }), async (commands) => {
      const agentId = harness.ctx.ids.make('agt_') as Real['agentId']
      const real: Real = { agentId, posts: 0, repeats: 0, refusals: 0 }
      await fc.asyncModelRun(() => ({ model: { balances: new Map(), posted: new Map() }, real }), commands)
      totals.posts += real.posts
      totals.repeats += real.repeats
      totals.refusals += real.refusals
    }),
    { numRuns: sequences },
  )
  t.diagnostic(JSON.stringify({ sequences, ...totals }))
  assert.ok(totals.posts > 300 && totals.repeats > 20 && totals.refusals > 20)
  assert.deepEqual(await ledgerFaults(harness), [])
})

void test('the audit sees a planted fault', async () => {
  await harness.owner.query(
    "update ledger_accounts set balance = balance - 1 where account = 'world:a' and unit = 'credit'",
  )
  assert.deepEqual(await ledgerFaults(harness), [
    'a balance is not the sum of its lines',
    'the accounts of an agent do not sum to zero',
  ])
})

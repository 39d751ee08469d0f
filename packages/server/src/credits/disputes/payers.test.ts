import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { accounts, purchaseLines, reversalLines } from '../rules.ts'
import { disputedSpansOf, payersOf, planOf, type Lot, type CreditPosting, type Span } from './payers.ts'

const numbersOf = (spans: readonly Span[]): number[] =>
  spans.flatMap(({ from, to }) => Array.from({ length: to - from }, (_, index) => from + index))

/** An agent's accounts, moved by the lines that are posted, and the postings that the ledger then has. */
const makeAccounts = () => {
  let [balance, debt, spent] = [0n, 0n, 0]
  const reversed = new Map<string, number>()
  const postings: CreditPosting[] = []
  const apply = (
    posting: Pick<CreditPosting, 'kind' | 'lot' | 'credits'>,
    lines: readonly { readonly account: string; readonly amount: bigint }[],
  ) => {
    const lineAmount = (account: string) => lines.find((line) => line.account === account)?.amount ?? 0n
    const change = lineAmount(accounts.balance)
    balance += change
    debt += lineAmount(accounts.debt)
    postings.push({
      ...posting,
      balance: change === 0n ? undefined : Number(balance),
      balanceChange: Number(change),
      at: new Date(postings.length * 1_000),
    })
  }
  return {
    postings,
    read: () => ({ balance: Number(balance), owed: Number(-debt), spent }),
    add: (lot: string, credits: number) =>
      apply({ kind: 'added', lot, credits }, purchaseLines(BigInt(credits), debt)),
    spend: (count: number) => {
      const paid = debt < 0n ? 0 : Math.min(count, Number(balance))
      balance -= BigInt(paid)
      spent += paid
    },
    /** Brings the reversed credits of a lot to this number. */
    reverseTo: (lot: string, credits: number) => {
      const change = credits - (reversed.get(lot) ?? 0)
      reversed.set(lot, credits)
      if (change > 0)
        apply({ kind: 'reversed', lot, credits: change }, reversalLines(BigInt(change), balance))
      if (change < 0) apply({ kind: 'restored', lot, credits: -change }, purchaseLines(BigInt(-change), debt))
    },
  }
}
type AgentLedger = ReturnType<typeof makeAccounts>
const lotOf = (book: AgentLedger, name: string): Lot => {
  const lot = payersOf(book.postings).lots.get(name)
  assert.ok(lot)
  return lot
}

test('credits pay in the order in which they were added, and a reversal takes those that were not spent first', () => {
  const book = makeAccounts()
  book.add('first', 10)
  book.spend(4)
  book.add('second', 10)
  book.spend(8)
  book.reverseTo('second', 9)
  assert.deepEqual(numbersOf(lotOf(book, 'second').unpaid), [11])
  assert.deepEqual(numbersOf(lotOf(book, 'first').paid), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  book.reverseTo('first', 10)
  assert.deepEqual(numbersOf(lotOf(book, 'first').unpaid), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
})

test('of the credits that a pack lost, the open part of its disputes has the first and refunds have the last', () => {
  const book = makeAccounts()
  book.add('pack', 10)
  book.spend(10)
  book.reverseTo('pack', 6)
  const lot = lotOf(book, 'pack')
  const { suspended, revoked } = disputedSpansOf({ lot, open: 2, lost: 3 })
  assert.deepEqual(
    [numbersOf(suspended), numbersOf(revoked)],
    [
      [4, 5],
      [6, 7, 8],
    ],
  )
  const plan = planOf([{ lot, open: 2, lost: 3 }], payersOf(book.postings).spentAt)
  assert.deepEqual(
    plan.map(({ from, to, state }) => [from, to, state]),
    [
      [6, 9, 'revoked'],
      [4, 6, 'suspended'],
      [9, 10, 'issued'],
    ],
  )
})

const step = fc.oneof(
  fc.record({ kind: fc.constant('add' as const), credits: fc.integer({ min: 1, max: 20 }) }),
  fc.record({ kind: fc.constant('spend' as const), count: fc.integer({ min: 1, max: 20 }) }),
  fc.record({ kind: fc.constant('reverse' as const), lot: fc.nat(), part: fc.integer({ min: 0, max: 4 }) }),
)

test('after any postings each spent credit has one payer or is owed, and what is left is the balance', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 2, maxLength: 40 }), (steps) => {
      const book = makeAccounts()
      const sizes: number[] = []
      for (const one of steps) {
        if (one.kind === 'add') book.add(`lot ${sizes.push(one.credits) - 1}`, one.credits)
        if (one.kind === 'spend') book.spend(one.count)
        const index = one.kind === 'reverse' && sizes.length > 0 ? one.lot % sizes.length : -1
        if (one.kind === 'reverse' && index >= 0)
          book.reverseTo(`lot ${index}`, Math.floor(((sizes[index] ?? 0) * one.part) / 4))
      }
      // A grant at the end, so that the ledger has all that was spent.
      book.add('last', 1)
      const { balance, owed, spent } = book.read()
      const { lots } = payersOf(book.postings)
      const paid = [...lots.values()].flatMap((lot) => numbersOf(lot.paid))
      assert.equal(new Set(paid).size, paid.length, 'no credit has two payers')
      assert.equal(paid.length, spent - owed)
      assert.ok(paid.every((number) => number >= 0 && number < spent))
      assert.equal(
        [...lots.values()].reduce((sum, { rest }) => sum + rest, 0),
        balance,
      )
    }),
    { numRuns: 300 },
  )
})

test('a dispute that is won leaves each pack with what it paid for before', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 5 }),
      fc.integer({ min: 0, max: 60 }),
      fc.nat(),
      (sizes, count, chosen) => {
        const book = makeAccounts()
        for (const [index, credits] of sizes.entries()) book.add(`lot ${index}`, credits)
        book.spend(count)
        book.add('last', 1)
        const paidNow = () =>
          [...payersOf(book.postings).lots.values()].map(({ paid, rest }) => [numbersOf(paid), rest])
        const before = paidNow()
        const lot = chosen % sizes.length
        book.reverseTo(`lot ${lot}`, sizes[lot] ?? 0)
        book.reverseTo(`lot ${lot}`, 0)
        assert.deepEqual(paidNow(), before)
      },
    ),
    { numRuns: 200 },
  )
})

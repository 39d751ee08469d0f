import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import {
  costOf1000Acts,
  costOf1000Humans,
  priceOf,
  rootKinds,
  type ForgingInputs,
  type ForgingRoot,
  type PricedKind,
} from '../src/index.ts'
import { published, randomInputs } from './price-inputs.ts'

/** Half of the cases are about the published inputs, half about any. */
const anyInputs = fc.oneof(fc.constant(published), randomInputs)
const limits = [1, 10, 200, Infinity] as const
const kinds = Object.keys(published.humanSeconds) as PricedKind[]

/** Some roots of these inputs, up to four as in a credential. */
const picked = ({ roots }: ForgingInputs, indexes: readonly number[]): ForgingRoot[] => {
  const all = Object.values(roots)
  return [...new Set(indexes.map((index) => index % all.length))].flatMap((index) => all[index] ?? [])
}
const indexes = fc.array(fc.nat(1_000), { minLength: 1, maxLength: 4 })
/** Sums of doubles in another order differ in their last bits. */
const isAtLeast = (dear: number, cheap: number): boolean => dear >= cheap - 1e-9 * Math.max(1, cheap)

type Change = (inputs: ForgingInputs) => ForgingInputs
const scaledRoots =
  (factor: number, of: (index: number) => boolean): Change =>
  (inputs) => ({
    ...inputs,
    roots: Object.fromEntries(
      Object.entries(inputs.roots).map(([name, root]) => [
        name,
        {
          ...root,
          ways: root.ways.map((way, index) => (of(index) ? { ...way, usd: way.usd * factor } : way)),
        },
      ]),
    ),
  })

test('no price falls when a way, a wage or the search gets dearer: 3,000 cases', () => {
  const factor = fc.double({ min: 1, max: 10, noNaN: true })
  fc.assert(
    fc.property(
      anyInputs,
      indexes,
      fc.constantFrom(...kinds),
      fc.constantFrom(...limits),
      fc.constantFrom('ways', 'one way', 'wagePerHour', 'ownerWagePerHour', 'searchUsd'),
      factor,
      (inputs, some, kind, limit, what, by) => {
        const change: Change =
          what === 'ways'
            ? scaledRoots(by, () => true)
            : what === 'one way'
              ? scaledRoots(by, (index) => index === 0)
              : (given) => ({ ...given, [what]: given[what] * by })
        const dear = change(inputs)
        const [before, after] = [picked(inputs, some), picked(dear, some)]
        assert.ok(
          isAtLeast(costOf1000Acts(dear, kind, after, limit), costOf1000Acts(inputs, kind, before, limit)),
        )
        assert.ok(isAtLeast(costOf1000Humans(dear, kind, after), costOf1000Humans(inputs, kind, before)))
      },
    ),
    { numRuns: 3_000 },
  )
})

test('no price falls when a root is added: 3,000 cases', () => {
  fc.assert(
    fc.property(
      anyInputs,
      fc.array(fc.nat(1_000), { minLength: 1, maxLength: 3 }),
      fc.nat(1_000),
      fc.constantFrom(...kinds),
      fc.constantFrom(...limits),
      (inputs, some, one, kind, limit) => {
        const [fewer, more] = [picked(inputs, some), picked(inputs, [...some, one])]
        assert.ok(
          isAtLeast(costOf1000Acts(inputs, kind, more, limit), costOf1000Acts(inputs, kind, fewer, limit)),
        )
        assert.ok(isAtLeast(costOf1000Humans(inputs, kind, more), costOf1000Humans(inputs, kind, fewer)))
      },
    ),
    { numRuns: 3_000 },
  )
})

test('a lower limit of acts for each human never lowers a price: 2,000 cases', () => {
  fc.assert(
    fc.property(
      anyInputs,
      indexes,
      fc.constantFrom(...kinds),
      fc.integer({ min: 1, max: 200 }),
      fc.integer({ min: 1, max: 20 }),
      (inputs, some, kind, limit, factor) => {
        const roots = picked(inputs, some)
        const tight = costOf1000Acts(inputs, kind, roots, limit)
        assert.ok(isAtLeast(tight, costOf1000Acts(inputs, kind, roots, limit * factor)))
        assert.ok(isAtLeast(tight, costOf1000Acts(inputs, kind, roots)))
      },
    ),
    { numRuns: 2_000 },
  )
})

test('1,000 people never cost less than 1,000 acts without a limit: 2,000 cases', () => {
  fc.assert(
    fc.property(anyInputs, indexes, fc.constantFrom(...kinds), (inputs, some, kind) => {
      const roots = picked(inputs, some)
      // What a person confirms in each act is not in the price of people.
      const hours = (1_000 * inputs.confirmSeconds) / 3_600
      const confirmations =
        hours *
        Math.max(inputs.wagePerHour, inputs.ownerWagePerHour) *
        roots.filter(({ counted, confirmed }) => counted && confirmed).length
      assert.ok(
        isAtLeast(costOf1000Humans(inputs, kind, roots) + confirmations, costOf1000Acts(inputs, kind, roots)),
      )
    }),
    { numRuns: 2_000 },
  )
})

test('what is claimed of later versions, and who is listed, never raises a price: 1,000 cases', () => {
  const claimed = fc.record({
    kind: fc.constantFrom(...rootKinds, 'moon', 'world_id_fresh', 'toString'),
    class: fc.constantFrom('address', 'number', 'bank', 'document', 'biometric:world', 'employer', 'moon'),
    counted: fc.boolean(),
    fresh: fc.boolean(),
    issuer: fc.constantFrom('https://a.example', 'https://b.example'),
  })
  const classes = ['F0', 'F1', 'F2', 'F3', 'F4']
  const rank = (price: unknown): number =>
    typeof price === 'object' && price !== null && 'class' in price
      ? classes.indexOf(String(price.class))
      : -1
  fc.assert(
    fc.property(fc.array(claimed, { minLength: 1, maxLength: 4 }), (roots) => {
      const price = priceOf({ inputs: published }, { kind: 'view', roots })
      const known = roots.filter((root) => {
        const entry = Object.hasOwn(published.roots, root.kind) ? published.roots[root.kind] : undefined
        return entry && !entry.confirmed && entry.class === root.class && entry.counted === root.counted
      })
      const cleaned = priceOf({ inputs: published }, { kind: 'view', roots: known })
      assert.deepEqual(price, cleaned)
      assert.ok(price && rank(price.humans) <= rank({ class: 'F4' }))
      if (!known.some((root) => published.roots[root.kind]?.counted))
        assert.equal(price.humans, 'not_counted')
    }),
    { numRuns: 1_000 },
  )
})

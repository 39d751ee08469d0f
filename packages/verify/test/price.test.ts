import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import {
  assurances,
  costPer1000,
  credentialKinds,
  findForgingEntry,
  forgingClasses,
  forgingClassOf,
  forgingEntries,
  solverFamily,
  rootKinds,
  roundDownToPowerOfTen,
  type ForgingFamily,
  type ForgingInputs,
} from '../src/index.ts'
import { forgingInputs } from './issuer.ts'

const positive = fc.double({ min: 1e-6, max: 1e6, noNaN: true })
const family: fc.Arbitrary<ForgingFamily> = fc.record({
  name: fc.string({ minLength: 1, maxLength: 12 }),
  kind: fc.constantFrom(...credentialKinds, '*' as const),
  root: fc.constantFrom(...rootKinds),
  assurance: fc.constantFrom(...assurances),
  successRate: fc.double({ min: 0, max: 1, noNaN: true }),
  wallSeconds: positive,
  cpuSeconds: positive,
  bytes: fc.nat(10_000_000),
  humanSeconds: fc.double({ min: 0, max: 600, noNaN: true }),
  rootsSpent: fc.array(
    fc.record({ kind: fc.constantFrom(...rootKinds), acts: fc.integer({ min: 1, max: 3 }) }),
    {
      maxLength: 3,
    },
  ),
  fixed: fc.array(
    fc.record({
      item: fc.constantFrom('authenticator', 'phone'),
      quantity: fc.integer({ min: 1, max: 3 }),
      lifeActs: fc.integer({ min: 1, max: 100_000 }),
    }),
    { maxLength: 2 },
  ),
})
const inputs: fc.Arbitrary<ForgingInputs> = fc
  .record({
    wagePerHour: positive,
    corePerHour: positive,
    phone: positive,
    authenticator: positive,
    address: positive,
    gigabyte: positive,
    hiredSeconds: fc.double({ min: 1, max: 600, noNaN: true }),
    families: fc.array(family, { maxLength: 8 }),
  })
  .map(({ phone, authenticator, address, gigabyte, ...rest }) => ({
    ...forgingInputs,
    ...rest,
    items: { ...forgingInputs.items, phone, authenticator },
    networks: [
      { name: 'traffic', usdPerAddressDay: 0, usdPerGigabyte: gigabyte },
      { name: 'address', usdPerAddressDay: address, usdPerGigabyte: 0 },
    ],
  }))

test('the cost of a family is the sum of its parts over its success rate', () => {
  const [script, farm] = forgingInputs.families
  assert.ok(script && farm)
  // 200 kB at 1 USD a gigabyte are cheaper than a hundredth of an address at 0.12 USD; 20 ms of a core at 0.01 USD an hour.
  const traffic = 0.0002 + (0.02 * 0.01) / 3_600
  assert.ok(Math.abs(costPer1000(forgingInputs, script) - 1_000 * traffic) < 1e-9)
  // With a stronger root an address serves ten times as many acts: 0.12 / 1,000, besides 200 kB at 0.001 USD.
  const rented = 0.12 / 1_000 + 0.0002 * 0.001 + (0.02 * 0.01) / 3_600
  const authenticator = 36 / (60 * 30)
  assert.ok(Math.abs(costPer1000(forgingInputs, farm) - (1_000 * (rented + authenticator)) / 0.5) < 1e-9)
  // 20 s at 3.6 USD an hour are 20 USD for 1,000; the authenticator comes on top, because a hired person has none.
  assert.ok(Math.abs(costPer1000(forgingInputs, solverFamily(forgingInputs, 'network')) - 20) < 1e-9)
  assert.ok(Math.abs(costPer1000(forgingInputs, solverFamily(forgingInputs, 'authenticator')) - 40) < 1e-9)
  // Where all authenticators together have 60 acts on an address, a rented address is dearer than the traffic.
  const { authenticator: root } = forgingInputs.roots
  const narrow = { ...forgingInputs.roots, authenticator: { ...root, actsPerAddressDay: 60 } }
  const onlyRented = { ...forgingInputs, roots: narrow, networks: forgingInputs.networks.slice(1) }
  const perAct = 0.12 / 60 + 0.0002 * 0.001 + (0.02 * 0.01) / 3_600 + authenticator
  assert.ok(Math.abs(costPer1000(onlyRented, farm) - (1_000 * perAct) / 0.5) < 1e-9)
  assert.ok(
    Math.abs(
      costPer1000({ ...forgingInputs, roots: narrow }, farm) - (1_000 * (traffic + authenticator)) / 0.5,
    ) < 1e-9,
  )
  // A root that is among the fixed items is not paid twice.
  const owned = { ...farm, fixed: [{ item: 'authenticator', quantity: 1, lifeActs: 3_600 }] }
  assert.ok(Math.abs(costPer1000(forgingInputs, owned) - (1_000 * (rented + 0.01)) / 0.5) < 1e-9)
})

test('an entry names the cheapest family; kinds without one take the least over all kinds', () => {
  const entries = forgingEntries(forgingInputs)
  const low = { assurance: 'low', root: { kind: 'network' } }
  assert.deepEqual(findForgingEntry({ entries }, { kind: 'view', ...low }), {
    kind: 'view',
    root: 'network',
    assurance: 'low',
    costPer1000: 0.1,
    class: 'F0',
    family: 'script',
  })
  assert.equal(findForgingEntry({ entries }, { kind: 'presence', ...low })?.kind, '*')
  assert.equal(findForgingEntry({ entries }, { kind: 'presence', ...low })?.costPer1000, 0.1)
  const strong = { kind: 'view', assurance: 'substantial', root: { kind: 'authenticator' } }
  assert.deepEqual(
    [findForgingEntry({ entries }, strong)?.costPer1000, findForgingEntry({ entries }, strong)?.family],
    [10, 'solver'],
  )
  assert.equal(findForgingEntry({ entries }, { ...low, kind: 'view', assurance: 'high' }), undefined)
  assert.equal(findForgingEntry({ entries }, { kind: 'view', assurance: 'low' }), undefined)
})

test('a family that never succeeds has no entry of its own, so that its kind keeps the least price', () => {
  const [, farm] = forgingInputs.families
  assert.ok(farm)
  const never: ForgingFamily = { ...farm, name: 'never', kind: 'personhood', successRate: 0 }
  const given = { ...forgingInputs, families: [...forgingInputs.families, never] }
  assert.deepEqual(forgingEntries(given), forgingEntries(forgingInputs))
})

test('rounding goes down to a power of ten, and never changes the class', () => {
  fc.assert(
    fc.property(fc.double({ min: 1e-9, max: 1e9, noNaN: true }), (cost) => {
      const rounded = roundDownToPowerOfTen(cost)
      assert.ok(rounded <= cost && cost < rounded * 10.000001)
      assert.equal(forgingClassOf(rounded), forgingClassOf(cost))
    }),
  )
  for (const [cost, rounded, name] of [
    [0, 0, 'F0'],
    [0.999, 0.1, 'F0'],
    [1, 1, 'F1'],
    [9.99, 1, 'F1'],
    [10, 10, 'F2'],
    [99.9, 10, 'F2'],
    [100, 100, 'F3'],
    [999, 100, 'F3'],
    [1_000, 1_000, 'F4'],
    [123_456, 100_000, 'F4'],
  ] as const)
    assert.deepEqual([roundDownToPowerOfTen(cost), forgingClassOf(cost)], [rounded, name])
})

test('no entry is above the price of a hired person', () => {
  fc.assert(
    fc.property(inputs, (given) => {
      const entries = forgingEntries(given)
      assert.ok(entries.length >= rootKinds.length)
      for (const entry of entries)
        assert.ok(entry.costPer1000 <= costPer1000(given, solverFamily(given, entry.root)))
    }),
  )
})

const priceOf = (given: ForgingInputs) =>
  new Map(forgingEntries(given).map((entry) => [`${entry.kind} ${entry.root} ${entry.assurance}`, entry]))

test('another family never raises a price, and a higher market price never lowers one', () => {
  const priceNames = ['wagePerHour', 'corePerHour', 'hiredSeconds'] as const
  fc.assert(
    fc.property(inputs, family, fc.constantFrom(...priceNames), (given, added, name) => {
      const before = priceOf(given)
      const withFamily = forgingEntries({ ...given, families: [...given.families, added] })
      const dearer = priceOf({ ...given, [name]: given[name] * 3 })
      for (const [key, entry] of before) {
        const [kind, root, assurance] = key.split(' ') as [string, string, string]
        const now = findForgingEntry({ entries: withFamily }, { kind, assurance, root: { kind: root } })
        assert.ok(now && now.costPer1000 <= entry.costPer1000, key)
        const then = dearer.get(key)
        assert.ok(then && then.costPer1000 >= entry.costPer1000, key)
        assert.ok(forgingClasses.indexOf(then.class) >= forgingClasses.indexOf(entry.class), key)
      }
    }),
  )
})

test('the published inputs, sent as JSON, give the same entries again', () => {
  fc.assert(
    fc.property(inputs, (given) => {
      assert.deepEqual(forgingEntries(JSON.parse(JSON.stringify(given))), forgingEntries(given))
    }),
  )
})

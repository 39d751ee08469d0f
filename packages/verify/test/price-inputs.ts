import { readFileSync } from 'node:fs'
import * as fc from 'fast-check'
import { rootClasses, type ForgingInputs, type ForgingRoot, type ForgingWay } from '../src/index.ts'
import { forgingInputs } from './issuer.ts'

/** The inputs of the table that this version publishes. */
export const published: ForgingInputs = JSON.parse(
  readFileSync(new URL('../../server/src/credentials/forging/prices.json', import.meta.url), 'utf8'),
).inputs

const positive = fc.double({ min: 1e-6, max: 1e4, noNaN: true })
const way: fc.Arbitrary<ForgingWay> = fc.record({
  by: fc.constantFrom('buy' as const, 'hire' as const),
  usd: fc.oneof(fc.constant(0), positive),
  subjects: fc.constantFrom(1, 2, 100),
  lifeDays: fc.integer({ min: 1, max: 365 }),
})
/** A unit can act once for each of its subjects: 100 acts a day at least, for at most 100 subjects. */
const root: fc.Arbitrary<ForgingRoot> = fc.record({
  class: fc.constantFrom(...rootClasses),
  level: fc.constantFrom('low' as const, 'substantial' as const, 'high' as const),
  counted: fc.boolean(),
  confirmed: fc.boolean(),
  actsPerDay: fc.constantFrom(100, 200, 10_000),
  ways: fc.array(way, { maxLength: 4 }),
})

/** Inputs of no market: any roots, ways, wages and search. */
export const randomInputs: fc.Arbitrary<ForgingInputs> = fc
  .record({
    wagePerHour: positive,
    ownerWagePerHour: positive,
    searchUsd: positive,
    corePerHour: positive,
    confirmSeconds: fc.double({ min: 0, max: 60, noNaN: true }),
    roots: fc.array(root, { minLength: 4, maxLength: 8 }),
  })
  .map(({ roots, ...rest }) => ({
    ...forgingInputs,
    ...rest,
    roots: Object.fromEntries(roots.map((each, index) => [`root_${index}`, each])),
  }))

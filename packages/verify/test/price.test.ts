import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import {
  attentionCost,
  costOf1000Acts,
  costOf1000Humans,
  forgingClassOf,
  forgingEntries,
  priceOf,
  reachesForging,
  roundDownToPowerOfTen,
  scriptCost,
  type ForgingFamily,
  type ForgingInputs,
  type ForgingRoot,
  type PricedKind,
} from '../src/index.ts'
import { forgingInputs, organization, rootsOf } from './issuer.ts'
import { published, randomInputs } from './price-inputs.ts'

const isNear = (found: number, expected: number): void =>
  assert.ok(Math.abs(found - expected) < 1e-9 * Math.max(1, expected), `${found}, expected ${expected}`)
const rootOf = (inputs: ForgingInputs, name: string): ForgingRoot => {
  const root = inputs.roots[name]
  if (!root) throw new Error(`no root ${name}`)
  return root
}
const kindsOf = (inputs: ForgingInputs) => Object.keys(inputs.humanSeconds) as PricedKind[]

test('an act without a root costs what the cheapest script or a hired person takes for the attention', () => {
  const [script, farm] = forgingInputs.families
  assert.ok(script && farm)
  // 200 kB at 1 USD a gigabyte are cheaper than a hundredth of an address at 0.12 USD; 20 ms of a core at 0.01 USD an hour.
  const traffic = 0.0002 + (0.02 * 0.01) / 3_600
  isNear(scriptCost(forgingInputs, script), traffic)
  // Half a phone for 10,000 attempts, of which every second fails.
  isNear(scriptCost(forgingInputs, farm), (traffic + 50 / 10_000) / 0.5)
  assert.deepEqual(attentionCost(forgingInputs, 'view'), {
    usd: scriptCost(forgingInputs, script),
    by: 'script',
  })
  // 20 s at 3.6 USD an hour; no script was played for work.
  isNear(attentionCost(forgingInputs, 'work').usd, 0.02)
  assert.equal(attentionCost(forgingInputs, 'work').by, 'hired person')
  const never: ForgingFamily = { ...script, name: 'never', bytes: 1, successRate: 0 }
  const given = { ...forgingInputs, families: [...forgingInputs.families, never] }
  assert.deepEqual(forgingEntries(given), forgingEntries(forgingInputs), 'what never succeeds has no price')
})

test('a root costs its cheapest way, for acts by its life and for people by its subjects', () => {
  const attention = 1_000 * attentionCost(forgingInputs, 'view').usd
  const acts = (name: string, perDay?: number) =>
    costOf1000Acts(forgingInputs, 'view', [rootOf(forgingInputs, name)], perDay) - attention
  const humans = (name: string) =>
    costOf1000Humans(forgingInputs, 'view', [rootOf(forgingInputs, name)]) - attention
  isNear(acts('sms'), (1_000 * 0.5) / (200 * 30))
  isNear(acts('sms', 10), (1_000 * 0.5) / (10 * 30))
  isNear(acts('sms', 5_000), (1_000 * 0.5) / (200 * 30))
  isNear(humans('sms'), 500)
  // Its owner is hired: rent and search.
  isNear(acts('world_id', 1), (1_000 * 2.02) / 365)
  isNear(humans('world_id'), 2_020)
  // Two seconds at the owner's wage for each act.
  isNear(acts('world_id_fresh', 1), (1_000 * 2.02) / 365 + (2 * 7.2) / 3.6)
  isNear(humans('world_id_fresh'), 2_020)
  // Whoever counts nobody is limited by nothing, and adds one act to each person.
  isNear(acts('authenticator', 1), (1_000 * 36) / (60 * 30))
  isNear(humans('authenticator'), (1_000 * 36) / (60 * 30))
  isNear(acts('network'), 0)
})

test('a person who is hired is found once for all roots that they bring', () => {
  const attention = 1_000 * attentionCost(forgingInputs, 'view').usd
  const pair = ['world_id', 'payout_account'].map((name) => rootOf(forgingInputs, name))
  isNear(costOf1000Humans(forgingInputs, 'view', pair) - attention, 1_000 * (2 + 3 + 0.02))
})

test('an entry has the price of one root in both goods; what an issuer vouches for has none', () => {
  const entries = forgingEntries(forgingInputs)
  assert.equal(entries.length, 6 * 8)
  assert.deepEqual(
    entries.find(({ kind, root }) => kind === 'view' && root === 'world_id'),
    {
      kind: 'view',
      root: 'world_id',
      level: 'high',
      actsB: { usd: 0.1, class: 'F0' },
      acts10: { usd: 0.1, class: 'F0' },
      acts1: { usd: 1, class: 'F1' },
      humans: { usd: 1_000, class: 'F4' },
    },
  )
  for (const { actsB, acts10, acts1, humans } of entries.filter(({ root }) => root === 'organization'))
    assert.deepEqual([actsB, acts10, acts1, humans], ['named', 'named', 'named', 'named'])
})

const view = (...kinds: readonly string[]) => ({ kind: 'view', roots: rootsOf(...kinds) })
const table = { inputs: forgingInputs }

test('a credential is priced by the roots that the table knows as the credential describes them', () => {
  const plain = priceOf(table, view('network'))
  assert.deepEqual(plain, {
    acts: { usd: 0.1, class: 'F0' },
    humans: 'not_counted',
    vouchedBy: undefined,
  })
  const [proof] = rootsOf('world_id')
  assert.ok(proof)
  const priced = (root: object) => priceOf(table, { kind: 'view', roots: [{ ...proof, ...root }] })
  assert.equal(typeof priced({})?.humans, 'object')
  for (const [name, root] of Object.entries({
    'a kind of later': { kind: 'moon' },
    'a word of the language': { kind: 'constructor' },
    'a class of later': { class: 'biometric:moon' },
    'the class of another root': { class: 'document' },
    'one that counts nobody': { counted: false },
    'the name of a variant': { kind: 'world_id_fresh' },
  }))
    assert.deepEqual(priced(root), plain, name)
  assert.equal(priceOf(table, { kind: 'view' }), undefined, 'no roots')
  assert.equal(priceOf(table, { ...view('network'), kind: 'dream' }), undefined, 'a kind of later')
  assert.equal(priceOf(table, { ...view('network'), kind: 'approval' }), undefined, 'no market price')
})

test('a fresh proof that a person confirms in each act is priced by the variant, and one that is not by the kind', () => {
  const [proof] = rootsOf('world_id')
  assert.ok(proof)
  const actsOf = (fresh: boolean) => priceOf(table, { kind: 'view', roots: [{ ...proof, fresh }] })?.acts
  assert.deepEqual(actsOf(true), { usd: 1, class: 'F1' })
  assert.deepEqual(actsOf(false), { usd: 0.1, class: 'F0' })
  const { world_id_fresh: _, ...others } = forgingInputs.roots
  const without = { inputs: { ...forgingInputs, roots: others } }
  assert.deepEqual(priceOf(without, { kind: 'view', roots: [proof] })?.acts, { usd: 0.1, class: 'F0' })
})

test('a limit raises a price only where the reader relies on the agent, and several agents give their sum', () => {
  const [proof] = rootsOf('world_id').map((root) => ({ ...root, fresh: false }))
  assert.ok(proof)
  const claims = { kind: 'view', agent: 'agt_a', roots: [proof], limit: { perHumanDay: 1 } }
  const acts = (given: object, pinnedAgents?: readonly string[]) =>
    priceOf(table, { ...claims, ...given }, pinnedAgents ? { pinnedAgents } : {})?.acts
  const [cheap, dear] = [
    { usd: 0.1, class: 'F0' },
    { usd: 1, class: 'F1' },
  ]
  assert.deepEqual(acts({}), cheap)
  assert.deepEqual(acts({}, ['agt_b']), cheap)
  assert.deepEqual(acts({}, ['agt_a']), dear)
  assert.deepEqual(acts({}, ['agt_a', 'agt_a']), dear)
  assert.deepEqual(acts({ limit: undefined }, ['agt_a']), cheap)
  assert.deepEqual(acts({ agent: undefined }, ['agt_a']), cheap)
  assert.deepEqual(acts({}, ['agt_a', ...Array.from({ length: 40 }, (_, n) => `agt_${n}`)]), cheap)
  const uncounted = { roots: rootsOf('authenticator') }
  assert.deepEqual(acts(uncounted, ['agt_a']), acts({ ...uncounted, limit: undefined }), 'nothing is counted')
})

test('an issuer that vouches has no price; beside other roots these are priced, and the reader learns who vouches', () => {
  assert.deepEqual(priceOf(table, view('organization')), {
    acts: 'named',
    humans: 'named',
    vouchedBy: undefined,
  })
  const both = view('world_id', 'organization')
  const { vouchedBy, ...prices } = priceOf(table, both, { trusted: [organization] }) ?? {}
  assert.equal(vouchedBy, organization)
  assert.deepEqual({ ...prices, vouchedBy: undefined }, priceOf(table, view('world_id')))
  assert.equal(priceOf(table, both, { trusted: [`${organization}/`] })?.vouchedBy, undefined)
  const device = priceOf(table, view('authenticator', 'organization'))
  assert.deepEqual([device?.acts, device?.humans], [{ usd: 10, class: 'F2' }, 'named'])
  assert.equal(reachesForging('named', 'F0'), false)
  assert.equal(reachesForging('not_counted', 'F0'), false)
  assert.equal(reachesForging(undefined, 'F0'), false)
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

test('what a script gets for nothing is F0 for every root and kind, whatever the other ways cost', () => {
  for (const [name, root] of Object.entries(published.roots).filter(([, { ways }]) => ways.length > 0)) {
    const free = { ...root, ways: [...root.ways, { by: 'buy', usd: 0, subjects: 1, lifeDays: 1 } as const] }
    for (const kind of kindsOf(published)) {
      const attention = 1_000 * attentionCost(published, kind).usd
      assert.equal(forgingClassOf(costOf1000Humans(published, kind, [free]) - attention), 'F0', name)
      assert.equal(forgingClassOf(costOf1000Acts(published, kind, [free], 1) - attention), 'F0', name)
    }
  }
})

test('a root for a million is F4 where nobody can be hired with it, and the price of hiring where somebody can', () => {
  const root = rootOf(published, 'world_id')
  const ways = root.ways.map((way) => (way.by === 'buy' ? { ...way, usd: 1e6 } : way))
  const peopleOf = (given: ForgingRoot['ways']) =>
    forgingClassOf(costOf1000Humans(published, 'view', [{ ...root, ways: given }]))
  assert.equal(peopleOf(ways), 'F2')
  assert.equal(peopleOf(ways.filter(({ by }) => by === 'buy')), 'F4')
})

const bought = (name: string): ForgingRoot => {
  const root = rootOf(published, name)
  return { ...root, ways: root.ways.filter(({ by }) => by === 'buy') }
}

test('independent roots that are bought add exactly, and of one class the dearest counts', () => {
  const attention = 1_000 * attentionCost(published, 'view').usd
  const people = (...names: string[]) => costOf1000Humans(published, 'view', names.map(bought)) - attention
  isNear(people('sms', 'world_id'), people('sms') + people('world_id'))
  isNear(people('sms', 'world_id', 'vendor'), people('sms') + people('world_id') + people('vendor'))
  isNear(people('card', 'payout_account'), Math.max(people('card'), people('payout_account')))
})

test('the price of people by what is known moves with the search and the rent', () => {
  const root = rootOf(published, 'world_id')
  for (const [searchUsd, rent, expected] of [
    [0.005, 0, 'F1'],
    [0.0099, 0, 'F1'],
    [0.022, 0, 'F2'],
    [0.1, 0, 'F3'],
    [0.022, 1, 'F4'],
    [0.022, 30, 'F4'],
  ] as const) {
    const ways = root.ways.map((way) => (way.by === 'hire' ? { ...way, usd: rent } : way))
    const people = costOf1000Humans({ ...published, searchUsd }, 'personhood', [{ ...root, ways }])
    assert.equal(forgingClassOf(people), expected, `${searchUsd} ${rent}`)
  }
})

test('the published inputs, sent as JSON, give the same entries again', () => {
  fc.assert(
    fc.property(randomInputs, (given) => {
      assert.deepEqual(forgingEntries(JSON.parse(JSON.stringify(given))), forgingEntries(given))
    }),
  )
})

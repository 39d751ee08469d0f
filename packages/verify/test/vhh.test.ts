import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { merkleRoot } from '../src/vhh/merkle.ts'
import { inputsRootOf, methods, readInputs, sortedInputs, weightsOf, type IndexRow } from '../src/vhh.ts'

const compute = methods['vhh-1']
assert.ok(compute)

test('the Merkle root is that of RFC 6962, by the vectors of Certificate Transparency', async () => {
  const leaves = ['', '\u0000', '\u0010', ' !', '01', '@ABC', 'PQRSTUVW', '`abcdefghijklmno']
  const roots = {
    0: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    1: '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
    2: 'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
    3: 'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
    8: '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
  }
  for (const [count, root] of Object.entries(roots))
    assert.equal(await merkleRoot(leaves.slice(0, Number(count))), root)
})

const pseudonym = (n: number) => `p${String(n).padStart(15, '0')}`
const row = fc
  .record({
    cluster: fc.integer({ min: 0, max: 30 }).map(pseudonym),
    units: fc.integer({ min: 1, max: 50 }),
    seconds: fc.integer({ min: 10, max: 200_000 }),
    usdMicro: fc.integer({ min: 1, max: 5_000_000_000 }),
  })
  .map((value): IndexRow => value)
const rows = fc.array(row, { minLength: 1, maxLength: 120 })
const workers = Array.from({ length: 40 }, (_, n) => pseudonym(n))

test('no cluster has more weight than 5 % of all seconds, and the others keep their own', () => {
  fc.assert(
    fc.property(rows, (inputs) => {
      const weights = weightsOf(inputs)
      const total = BigInt(inputs.reduce((sum, { seconds }) => sum + seconds, 0))
      const sums = new Map<string, { seconds: bigint; weight: bigint }>()
      for (const [index, { cluster, seconds }] of inputs.entries()) {
        const sum = sums.get(cluster) ?? { seconds: 0n, weight: 0n }
        sums.set(cluster, {
          seconds: sum.seconds + BigInt(seconds),
          weight: sum.weight + (weights[index] ?? 0n),
        })
      }
      for (const { seconds, weight } of sums.values()) {
        assert.ok(weight * 20n <= total * 1_000_000n)
        if (seconds * 20n <= total) assert.equal(weight, seconds * 1_000_000n)
      }
    }),
  )
})

test('the order of rows changes nothing, and the value lies between the lowest and the highest price', () => {
  fc.assert(
    fc.property(rows, fc.infiniteStream(fc.nat()), (inputs, random) => {
      const shuffled = inputs
        .map((value) => ({ value, at: random.next().value ?? 0 }))
        .toSorted((a, b) => a.at - b.at)
        .map(({ value }) => value)
      const one = compute({ rows: inputs, workers })
      assert.deepEqual(compute({ rows: shuffled, workers }), one)
      if (one.usdCents === null) return
      const cents = inputs.map(({ usdMicro, seconds }) => (usdMicro * 3_600) / seconds / 10_000)
      assert.ok(
        one.usdCents >= Math.floor(Math.min(...cents)) && one.usdCents <= Math.ceil(Math.max(...cents)),
      )
    }),
  )
})

const market = (clusters: number, seconds: number) =>
  Array.from({ length: clusters }, (_, n) => ({
    cluster: pseudonym(n),
    units: 1,
    seconds,
    usdMicro: 9_000_000,
  }))

test('there is a value exactly from 100 hours, 10 clusters and 30 workers on', () => {
  const statusOf = (clusters: number, seconds: number, people: number) => {
    const { status, usdCents, tooFew } = compute({
      rows: market(clusters, seconds),
      workers: workers.slice(0, people),
    })
    assert.equal(usdCents === null, status === 'insufficient_data')
    return tooFew
  }
  assert.deepEqual(statusOf(10, 36_000, 30), [])
  assert.deepEqual(statusOf(9, 40_000, 30), ['clusters'])
  assert.deepEqual(statusOf(10, 36_000, 29), ['workers'])
  assert.deepEqual(statusOf(10, 35_999, 30), ['hours'])
  assert.deepEqual(statusOf(0, 0, 0), ['hours', 'clusters', 'workers'])
  assert.equal(compute({ rows: market(10, 36_000), workers: workers.slice(0, 30) }).usdCents, 90)
})

test('every change of the inputs changes their root, whatever the order in which they come', async () => {
  await fc.assert(
    fc.asyncProperty(
      rows,
      fc.nat(),
      fc.constantFrom('units', 'seconds', 'usdMicro'),
      async (inputs, at, field) => {
        const document = { code: 'VHH', epoch: '2026-10', method: 'vhh-1', rows: inputs, workers }
        const root = await inputsRootOf(sortedInputs(document))
        assert.equal(await inputsRootOf(sortedInputs({ ...document, rows: inputs.toReversed() })), root)
        const changed = inputs.map((each, index) =>
          index === at % inputs.length ? { ...each, [field]: each[field as 'units'] + 1 } : each,
        )
        assert.notEqual(await inputsRootOf(sortedInputs({ ...document, rows: changed })), root)
        for (const edit of [
          { code: 'VHH_x' },
          { epoch: '2026-11' },
          { method: 'vhh-2' },
          { workers: workers.slice(1) },
        ])
          assert.notEqual(await inputsRootOf(sortedInputs({ ...document, ...edit })), root)
      },
    ),
    { numRuns: 20 },
  )
})

test('inputs of unknown origin are read only in their exact form', () => {
  const good = { code: 'VHH', epoch: '2026-10', method: 'vhh-1', rows: [], workers: [pseudonym(1)] }
  assert.deepEqual(readInputs(good), good)
  const badRow = { cluster: pseudonym(1), units: 1, seconds: 1, usdMicro: 1 }
  for (const bad of [
    null,
    [],
    { ...good, rows: undefined },
    { ...good, workers: ['short'] },
    { ...good, workers: [pseudonym(1), pseudonym(1)] },
    ...[{ seconds: 0 }, { seconds: 1.5 }, { usdMicro: -1 }, { units: '1' }, { cluster: 'a\tb' }].map(
      (edit) => ({
        ...good,
        rows: [{ ...badRow, ...edit }],
      }),
    ),
  ])
    assert.equal(typeof readInputs(bad), 'string', JSON.stringify(bad))
})

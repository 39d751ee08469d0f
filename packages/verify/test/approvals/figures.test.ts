import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chanceOfFewer, findBelowTeam, shareOf } from '../../src/approvals/figures.ts'

/** mulberry32: the same numbers for the same seed. */
const randomOf = (seed: number) => {
  let state = seed
  return (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
const teamOf = (catchRates: readonly number[], each: number, random: () => number) =>
  catchRates.map((rate, index) => ({
    id: `p${index}`,
    caught: { n: Array.from({ length: each }, random).filter((value) => value < rate).length, of: each },
  }))

test('intervals are those of Wilson, and a share of nothing has none', () => {
  // Newcombe 1998, table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29, all by method 3.
  for (const [n, of, low, high] of [
    [81, 263, 0.2553, 0.3662],
    [15, 148, 0.0624, 0.1605],
    [0, 20, 0, 0.1611],
    [1, 29, 0.0061, 0.1718],
  ] as const)
    assert.deepEqual([shareOf(n, of).low, shareOf(n, of).high], [low, high], `${n} of ${of}`)
  assert.deepEqual(shareOf(0, 0), { n: 0, of: 0, share: null, low: null, high: null })
  assert.equal(shareOf(12, 12).high, 1)
})

test("the chance is that of Fisher's exact test", () => {
  // The lady who tastes tea: 1 of 4 against 3 of 4 is 17 of 70.
  assert.ok(Math.abs(chanceOfFewer({ n: 1, of: 4 }, { n: 3, of: 4 }) - 17 / 70) < 1e-12)
  assert.ok(Math.abs(chanceOfFewer({ n: 4, of: 4 }, { n: 0, of: 4 }) - 1) < 1e-12)
})

test('3 of 8 who approve everything are named, and nobody else, whatever the numbers drawn', () => {
  let exact = 0
  let wronglyNamed = 0
  for (let seed = 1; seed <= 500; seed++) {
    const named = findBelowTeam(teamOf([0.05, 0.05, 0.05, 0.9, 0.9, 0.9, 0.9, 0.9], 12, randomOf(seed)))
    const wrong = [...named].filter((id) => !['p0', 'p1', 'p2'].includes(id))
    wronglyNamed += wrong.length
    if (named.size === 3 && wrong.length === 0) exact += 1
  }
  assert.ok(exact >= 490, `${exact} of 500 teams named exactly the 3`)
  assert.ok(wronglyNamed <= 5, `${wronglyNamed} attentive people named in 500 teams`)
})

test('of 1,000 teams of 8 attentive people at most 1 in 100 has anybody named', () => {
  for (const rate of [0.5, 0.7, 0.9, 0.97])
    for (const each of [10, 40]) {
      const random = randomOf(Math.round(rate * 1_000) + each)
      const teams = Array.from({ length: 1_000 }, () =>
        findBelowTeam(
          teamOf(
            Array.from({ length: 8 }, () => rate),
            each,
            random,
          ),
        ),
      )
      const withName = teams.filter(({ size }) => size > 0).length
      assert.ok(withName <= 10, `rate ${rate}, ${each} each: ${withName} of 1,000 teams`)
    }
})

const good = (id: string) => ({ id, caught: { n: 20, of: 20 } })

test('nobody is named alone', () => {
  assert.deepEqual([...findBelowTeam([{ id: 'a', caught: { n: 0, of: 10 } }, good('b'), good('c')])], ['a'])
  assert.deepEqual([...findBelowTeam([{ id: 'a', caught: { n: 0, of: 40 } }])], [])
})

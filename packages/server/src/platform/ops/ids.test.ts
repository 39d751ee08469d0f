import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { base32Alphabet, idPrefixes, isId, type IdPrefix } from '@pohf/protocol'
import { makeIds } from './ids.ts'

const prefixes = Object.keys(idPrefixes) as IdPrefix[]
const at = (ms: number) => ({ now: () => new Date(ms) })
const year2500 = Date.UTC(2500, 0)

test('an id of every prefix has its own form and no other', () => {
  const ids = makeIds('b7', at(Date.UTC(2026, 6)))
  assert.ok(prefixes.length >= 15)
  for (const prefix of prefixes) {
    const id = ids.make(prefix)
    assert.ok(id.startsWith(`${prefix}b7`), id)
    for (const other of prefixes) assert.equal(isId(other, id), other === prefix, `${id} as ${other}`)
  }
})

test('an id that differs in form by anything is not an id', () => {
  const id = makeIds('aa', at(Date.UTC(2026, 6))).make('agt_')
  assert.ok(isId('agt_', id))
  const broken = [
    '',
    'agt_',
    id.slice(0, -1),
    `${id}0`,
    `${id}\n`,
    ` ${id}`,
    id.toUpperCase(),
    id.replace('agt_', 'agt-'),
  ]
  // Left out of Crockford's alphabet for being read as 1, 1, 0 and v.
  for (const letter of ['i', 'l', 'o', 'u', '%', 'é']) broken.push(id.slice(0, -1) + letter)
  for (const text of broken) assert.equal(isId('agt_', text), false, JSON.stringify(text))
})

test('ids sort by the time they were made, within each prefix', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...prefixes),
      fc.nat(year2500),
      fc.integer({ min: 1, max: 1e9 }),
      (prefix, ms, later) => {
        const early = makeIds('aa', at(ms)).make(prefix)
        const late = makeIds('aa', at(ms + later)).make(prefix)
        assert.ok(early < late, `${early} ${late}`)
      },
    ),
  )
})

test('ids whose guess would reveal something carry at least 128 random bits, the others 80', () => {
  const bitsPerCharacter = Math.log2(base32Alphabet.length)
  for (const prefix of prefixes) {
    const ids = makeIds('aa', at(0))
    const tails = Array.from({ length: 400 }, () => ids.make(prefix).slice(prefix.length + 2 + 10))
    const bits = (tails[0] ?? '').length * bitsPerCharacter
    assert.ok(bits >= (idPrefixes[prefix].long ? 128 : 80), `${prefix} has ${bits}`)
    // Every position really varies: 400 draws show at most 16 of 32 letters with a chance below 1e-100.
    for (let position = 0; position < (tails[0] ?? '').length; position++)
      assert.ok(new Set(tails.map((tail) => tail[position])).size > 16, `${prefix} at ${position}`)
  }
  for (const prefix of ['crd_', 'pur_'] as const) assert.equal(idPrefixes[prefix].long, true)
})

test('10,000 ids and random texts of one millisecond are all different', () => {
  const ids = makeIds('aa', at(0))
  const made = Array.from({ length: 10_000 }, () => ids.make('agt_'))
  assert.equal(new Set(made).size, 10_000)
  const texts = Array.from({ length: 10_000 }, () => ids.random())
  assert.equal(new Set(texts).size, 10_000)
  for (const text of texts.slice(0, 100)) assert.match(text, /^[A-Za-z0-9_-]{43}$/)
})

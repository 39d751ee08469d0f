import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { hashKey, isWellFormedKey, makeKey } from './keys.ts'

const agentPrefixes = ['svc_live_', 'svc_test_']
const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const key = fc
  .tuple(fc.constantFrom(...agentPrefixes), fc.constantFrom('aa', 'z9', '00'))
  .map(([prefix, cell]) => makeKey(prefix, cell))
const changed = (text: string, position: number, character: string) =>
  text.slice(0, position) + character + text.slice(position + 1)

test('every key made is well formed, with its prefix, cell tag and length', () => {
  fc.assert(
    fc.property(key, (text) => {
      assert.ok(isWellFormedKey(agentPrefixes, text))
      assert.match(text, /^svc_(live|test)_[a-z0-9]{2}[0-9A-Za-z]{36}$/)
    }),
  )
})

test('every change of a single character is caught: all places and letters of one key', () => {
  const text = makeKey('svc_live_', 'aa')
  let tried = 0
  for (let position = 0; position < text.length; position++)
    for (const character of `${base62}_-. `) {
      if (text[position] === character) continue
      tried += 1
      assert.equal(isWellFormedKey(agentPrefixes, changed(text, position, character)), false)
    }
  assert.ok(tried > 2_800)
})

test('a changed, swapped, cut or lengthened key is caught, whichever key it is', () => {
  fc.assert(
    fc.property(key, fc.nat(46), fc.constantFrom(...base62.split('')), (text, position, character) => {
      fc.pre(text[position] !== character)
      assert.equal(isWellFormedKey(agentPrefixes, changed(text, position, character)), false)
      const swapped =
        text.slice(0, position) +
        (text[position + 1] ?? '') +
        (text[position] ?? '') +
        text.slice(position + 2)
      assert.equal(isWellFormedKey(agentPrefixes, swapped), swapped === text)
      assert.equal(isWellFormedKey(agentPrefixes, text.slice(0, position)), false)
      assert.equal(isWellFormedKey(agentPrefixes, text + character), false)
    }),
    { numRuns: 2_000 },
  )
})

test('a key is well-formed only for its own prefix', () => {
  const operator = makeKey('svc_op_', 'aa')
  const live = makeKey('svc_live_', 'aa')
  assert.ok(isWellFormedKey(['svc_op_'], operator))
  assert.equal(isWellFormedKey(agentPrefixes, operator), false)
  assert.equal(isWellFormedKey(['svc_op_'], live), false)
  assert.equal(isWellFormedKey(['svc_test_'], live), false)
  assert.equal(isWellFormedKey([], live), false)
  // The checksum covers the prefix: a live key does not become a test key by its name.
  assert.equal(isWellFormedKey(agentPrefixes, live.replace('svc_live_', 'svc_test_')), false)
})

test('text of any other kind is no key and is no fault', () => {
  fc.assert(fc.property(fc.string({ maxLength: 80 }), (text) => !isWellFormedKey(agentPrefixes, text)))
  fc.assert(
    fc.property(
      fc.string({ minLength: 38, maxLength: 38 }),
      (text) => !isWellFormedKey(agentPrefixes, `svc_live_${text}`),
    ),
  )
})

test('10,000 keys are all different, and what is stored of one is its SHA-256', () => {
  const keys = Array.from({ length: 10_000 }, () => makeKey('svc_live_', 'aa'))
  assert.equal(new Set(keys.map((text) => text.slice(11, -6))).size, 10_000)
  const [text = ''] = keys
  assert.deepEqual(hashKey(text), createHash('sha256').update(text).digest())
})

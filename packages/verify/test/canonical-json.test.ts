import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canonicalJson, envelopeHash, type Json } from '../src/approvals.ts'
import { envelopeOf } from './approvals-envelope.ts'

const numberOf = (hex: string): number => Buffer.from(hex, 'hex').readDoubleBE()

// RFC 8785, appendix B.
const numbers = {
  '0000000000000000': '0',
  '8000000000000000': '0',
  '0000000000000001': '5e-324',
  '8000000000000001': '-5e-324',
  '7fefffffffffffff': '1.7976931348623157e+308',
  ffefffffffffffff: '-1.7976931348623157e+308',
  '4340000000000000': '9007199254740992',
  c340000000000000: '-9007199254740992',
  '4430000000000000': '295147905179352830000',
  '44b52d02c7e14af5': '9.999999999999997e+22',
  '44b52d02c7e14af6': '1e+23',
  '44b52d02c7e14af7': '1.0000000000000001e+23',
  '444b1ae4d6e2ef4e': '999999999999999700000',
  '444b1ae4d6e2ef4f': '999999999999999900000',
  '444b1ae4d6e2ef50': '1e+21',
  '3eb0c6f7a0b5ed8c': '9.999999999999997e-7',
  '3eb0c6f7a0b5ed8d': '0.000001',
  '41b3de4355555553': '333333333.3333332',
  '41b3de4355555554': '333333333.33333325',
  '41b3de4355555555': '333333333.3333333',
  '41b3de4355555556': '333333333.3333334',
  '41b3de4355555557': '333333333.33333343',
  becbf647612f3696: '-0.0000033333333333333333',
  '43143ff3c1cb0959': '1424953923781206.2',
}

test('numbers are written as in appendix B of RFC 8785', () => {
  for (const [hex, text] of Object.entries(numbers)) assert.equal(canonicalJson(numberOf(hex)), text, hex)
  for (const hex of ['7fffffffffffffff', '7ff0000000000000', 'fff0000000000000'])
    assert.throws(() => canonicalJson(numberOf(hex)), hex)
})

test('the example of RFC 8785, section 3.2.2, has the bytes of section 3.2.4', () => {
  const input = String.raw`{
    "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
    "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
    "literals": [null, true, false]
  }`
  const bytes =
    '7b226c69746572616c73223a5b6e756c6c2c747275652c66616c73655d2c226e756d62657273223a5b3333333333333333332e333333333333332c31652b33302c342e352c302e3030322c31652d32375d2c22737472696e67223a22e282ac245c75303030665c6e4127425c225c5c5c5c5c222f227d'
  assert.equal(Buffer.from(canonicalJson(JSON.parse(input) as Json), 'utf8').toString('hex'), bytes)
})

test('keys are sorted by UTF-16 code units, as in section 3.2.3 of RFC 8785', () => {
  const input = {
    '\u20ac': 'Euro Sign',
    '\r': 'Carriage Return',
    '\ufb33': 'Hebrew Letter Dalet With Dagesh',
    '1': 'One',
    '\u{1f600}': 'Emoji: Grinning Face',
    '\u0080': 'Control',
    '\u00f6': 'Latin Small Letter O With Diaeresis',
  }
  const sorted = Object.values(JSON.parse(canonicalJson(input)) as Record<string, string>)
  // A parser puts the key that looks like an index first; the text has it second.
  assert.match(canonicalJson(input), /^\{"\\r":"Carriage Return","1":"One","\u0080":/)
  assert.deepEqual(
    sorted.filter((name) => name !== 'One'),
    [
      'Carriage Return',
      'Control',
      'Latin Small Letter O With Diaeresis',
      'Euro Sign',
      'Emoji: Grinning Face',
      'Hebrew Letter Dalet With Dagesh',
    ],
  )
})

test('a lone surrogate has no canonical form, and a key named __proto__ is a key like others', () => {
  assert.throws(() => canonicalJson('\ud800'))
  assert.throws(() => canonicalJson({ '\udc00': 1 }))
  assert.equal(
    canonicalJson(JSON.parse('{"b":1,"__proto__":{"a":2}}') as Json),
    '{"__proto__":{"a":2},"b":1}',
  )
})

test('the hash of an envelope is that of its values, not of the order in which they were written', async () => {
  const [one, other] = [
    envelopeOf({ a: 1, b: { c: '2', d: [] } }),
    envelopeOf({ b: { d: [], c: '2' }, a: 1 }),
  ]
  assert.equal(await envelopeHash(one), await envelopeHash(other))
  assert.match(await envelopeHash(one), /^[\w-]{43}$/)
  assert.notEqual(await envelopeHash(one), await envelopeHash(envelopeOf({ a: '1', b: { c: '2', d: [] } })))
  assert.notEqual(await envelopeHash(one), await envelopeHash({ ...one, salt: 'BAAAAAAAAAAAAAAAAAAAAA' }))
})

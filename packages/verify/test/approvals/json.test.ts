import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import {
  actionDepthMax,
  canonicalJson,
  decisionChallenge,
  envelopeHash,
  jsonFault,
  jsonTextFault,
  type DecisionInput,
  type Json,
} from '../../src/approvals.ts'
import { makeEnvelope } from './approval.ts'

const texts: readonly (readonly [string, string, string | undefined])[] = [
  ['two equal keys', '{"a":1,"a":2}', 'a'],
  ['a key that is written with an escape', String.raw`{"a":1,"\u0061":2}`, 'a'],
  ['an escaped quote in both', String.raw`{"\"":1,"\u0022":2}`, '"'],
  ['an escaped solidus', String.raw`{"a/b":1,"a\/b":2}`, 'a/b'],
  ['a surrogate pair as escapes', String.raw`{"😀":1,"\ud83d\ude00":2}`, '😀'],
  ['the empty key', '{"":1,"":2}', ''],
  ['__proto__', '{"__proto__":1,"__proto__":2}', '__proto__'],
  ['inside of a list', '[{"a":1},[{"b":[1,2,{"c":1,"c":1}]}]]', 'c'],
  ['after an inner object', '{"a":{"b":1},"a":2}', 'a'],
  ['after an inner list', '{"a":["b","b"],"a":2}', 'a'],
  ['with spaces and lines between', '{ "a" : 1 ,\n\t"a" : 2 }', 'a'],
  ['after a text with braces', '{"t":"}{][,\\"","a":1,"a":2}', 'a'],
  ['after a text that ends in a backslash', String.raw`{"t":"\\","a":1,"a":2}`, 'a'],
  ['the same key at two levels', '{"a":{"a":1}}', undefined],
  ['the same key in two items', '[{"a":1},{"a":1}]', undefined],
  ['a value that is like the key', '{"a":"a","b":"a"}', undefined],
  ['equal texts in a list', '{"a":["a","a"]}', undefined],
  ['keys that differ in case', '{"a":1,"A":2}', undefined],
  ['a text that looks like JSON', String.raw`{"a":"{\"b\":1,\"b\":2}"}`, undefined],
  ['a precomposed letter and one with a mark', '{"\u00e9":1,"e\u0301":2}', undefined],
]
for (const [name, text, expected] of texts) {
  test(`jsonTextFault: ${name}`, () => {
    JSON.parse(text)
    assert.equal(
      jsonTextFault(text)?.message,
      expected === undefined ? undefined : `has the key ${JSON.stringify(expected)} twice`,
    )
  })
}

/** Writes a text as it is, or with escapes. */
const written = (text: string, odd: boolean): string =>
  `"${odd ? text.replaceAll(/[a-z{},:[]/g, (letter) => `\\u00${letter.charCodeAt(0).toString(16)}`) : text}"`

test('jsonTextFault finds exactly the keys that a parser would drop', () => {
  const keys = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'ab', '{', '}', ',', '[', ':'), fc.boolean()), {
    maxLength: 6,
  })
  fc.assert(
    fc.property(keys, fc.boolean(), (list, nested) => {
      const inner = `{${list.map(([key, odd]) => `${written(key, odd)}:"${key}"`).join(',')}}`
      const text = nested ? `{"x":[1,${inner}],"y":"}"}` : inner
      const parsed = JSON.parse(inner) as object
      assert.equal(jsonTextFault(text) === undefined, Object.keys(parsed).length === list.length)
    }),
    { numRuns: 2_000 },
  )
})

const numbers: readonly (readonly [string, boolean])[] = [
  ['9007199254740990.6', true],
  ['0.99999999999999999', true],
  ['9007199254740993', true],
  ['-9007199254740993', true],
  ['123456789012345678', true],
  ['0.10000000000000001', true],
  ['1e400', true],
  ['-1e400', true],
  ['1E-400', true],
  ['4.9e-324', true],
  [`1${'0'.repeat(30)}1`, true],
  ['0', false],
  ['-0', false],
  ['0e999999999999', false],
  ['1.0', false],
  ['1e2', false],
  ['100E-2', false],
  ['0.1', false],
  ['0.30000000000000004', false],
  ['-9007199254740991', false],
  ['9007199254740992', false],
  ['100000000000000000000', false],
  ['1.7976931348623157e308', false],
  ['5e-324', false],
]
for (const [number, altered] of numbers) {
  test(`jsonTextFault: the number ${number} ${altered ? 'is altered' : 'is read as it is'}`, () => {
    for (const text of [number, `[${number}]`, `{"a" : ${number} , "b":1}`, `{"a":{"b":[1,${number}\n]}}`])
      assert.equal(jsonTextFault(text)?.code, altered ? 'number_altered' : undefined, text)
    assert.equal(jsonTextFault(JSON.stringify({ a: number, [number]: `[${number}]` })), undefined)
  })
}

test('jsonTextFault: what JSON.stringify writes of a number is never altered', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      assert.equal(jsonTextFault(JSON.stringify([value])), undefined)
    }),
    { numRuns: 2_000 },
  )
})

test('jsonTextFault: a number as long as a body takes no time by the square of its length', () => {
  for (const number of [`1.${'0'.repeat(260_000)}1`, `0.${'10'.repeat(130_000)}1`]) {
    const before = process.cpuUsage()
    assert.equal(jsonTextFault(`[${number}]`)?.code, 'number_altered')
    const { user, system } = process.cpuUsage(before)
    // By the square of it, it would take a minute; so it takes some milliseconds.
    assert.ok(user + system < 5_000_000, `${user + system} µs of the processor`)
  }
})

class Money {
  amount = '1'
}
const nested = (levels: number): unknown => {
  let value: unknown = 'x'
  for (let level = 0; level < levels; level += 1) value = [value]
  return value
}
const cyclic: Record<string, unknown> = {}
cyclic['self'] = cyclic

const faults: readonly (readonly [string, unknown, string | undefined, string])[] = [
  ['1e400, which is read as infinite', JSON.parse('{"a":1e400}'), 'number', '/a'],
  ['9007199254740993, which is read as another number', JSON.parse('{"a":9007199254740993}'), 'number', '/a'],
  ['9007199254740992', { a: 2 ** 53 }, 'number', '/a'],
  ['a fraction', { a: 1.5 }, 'number', '/a'],
  ['minus zero', JSON.parse('{"a":-0}'), 'number', '/a'],
  ['not a number', { a: Number.NaN }, 'number', '/a'],
  ['a lone surrogate in a value', JSON.parse(String.raw`{"a":"\ud800"}`), 'surrogate', '/a'],
  ['a lone surrogate in a key', JSON.parse(String.raw`{"\udc00":1}`), 'surrogate', '/\udc00'],
  ['NUL in a value', JSON.parse(String.raw`{"a":"x\u0000y"}`), 'nul', '/a'],
  ['NUL in a key', JSON.parse(String.raw`{"\u0000":1}`), 'nul', '/\u0000'],
  ['a mark on a digit', { a: [{ b: '9\u03369' }] }, 'value_not_permitted', '/a/0/b'],
  ['a mark on a digit of a key', { '9\u0336': 1 }, 'value_not_permitted', '/9\u0336'],
  ['undefined', { a: undefined }, 'type', '/a'],
  ['a function', { a: () => 1 }, 'type', '/a'],
  ['a big integer', { a: 1n }, 'type', '/a'],
  ['a symbol', { a: Symbol('a') }, 'type', '/a'],
  ['a date', { a: new Date() }, 'type', '/a'],
  ['an instance of a class', { a: new Money() }, 'type', '/a'],
  ['a map', { a: new Map() }, 'type', '/a'],
  ['a boxed text', { a: Object('x') as unknown }, 'type', '/a'],
  // oxlint-disable-next-line no-sparse-arrays
  ['a list with a gap', { a: [1, , 2] }, 'type', '/a/1'],
  ['a level too many', nested(actionDepthMax + 1), 'depth', '/0'.repeat(actionDepthMax)],
  ['a cycle', cyclic, 'depth', '/self'.repeat(actionDepthMax)],
  ['501 values', { a: Array.from({ length: 500 }, () => 1) }, 'size', '/a'],
  ['a long list', { a: Object.assign([], { length: 100_000_000 }) }, 'size', '/a'],
  ['a pointer with ~ and /', { 'a/b~c': 0.5 }, 'number', '/a~1b~0c'],
  ['the deepest that is allowed', nested(actionDepthMax), undefined, ''],
  ['the largest whole numbers', { a: [Number.MAX_SAFE_INTEGER, -Number.MAX_SAFE_INTEGER, 0] }, undefined, ''],
  ['an object without a prototype', Object.assign(Object.create(null) as object, { a: 1 }), undefined, ''],
  ['a key __proto__', JSON.parse('{"__proto__":{"a":1}}'), undefined, ''],
  ['every simple value', { a: [null, true, false, '', 'x', 0, {}, []] }, undefined, ''],
]
for (const [name, value, code, path] of faults) {
  test(`jsonFault: ${name}`, () => {
    const fault = jsonFault(value)
    assert.equal(fault?.code, code)
    if (code !== undefined && code !== 'size') assert.equal(fault?.path, path)
  })
}

test('text without a fault reads back from its canonical form as the same value', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
      fc.pre(jsonFault(value) === undefined)
      const text = canonicalJson(value as Json)
      assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(value)))
      assert.equal(jsonTextFault(text), undefined)
    }),
    { numRuns: 2_000 },
  )
})

test('the canonical form is that of RFC 8785: its example of sorting', () => {
  const value = {
    '\u20ac': 'Euro Sign',
    '\r': 'Carriage Return',
    '\ufb33': 'Hebrew Letter Dalet With Dagesh',
    '1': 'One',
    '\ud83d\ude00': 'Emoji: Grinning Face',
    '\u0080': 'Control',
    '\u00f6': 'Latin Small Letter O With Diaeresis',
  }
  assert.equal(
    canonicalJson(value),
    '{"\\r":"Carriage Return","1":"One","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis","\u20ac":"Euro Sign","\ud83d\ude00":"Emoji: Grinning Face","\ufb33":"Hebrew Letter Dalet With Dagesh"}',
  )
})

test('an envelope has the hash that other software computes', async () => {
  const envelope = makeEnvelope({
    decideBy: '2026-11-18T09:00:00.000Z',
    consumeBy: '2026-11-18T10:00:00.000Z',
  })
  // From python3: base64url(sha256(json.dumps(envelope, sort_keys=True, separators=(',', ':'))))
  assert.equal(await envelopeHash(envelope), 'EVH1PcZG-1G26Kv7qhDuUbhN8wW74m9SYHcTVCiWaBM')
})

const input: DecisionInput = {
  envelopeHash: 'e'.repeat(43),
  viewHash: 'v'.repeat(43),
  decision: 'approve',
  approver: 'apv_anna',
  nonce: 'n-1',
  telemetryLink: 'link',
}

test('the challenge of a decision is the hash of the parts with their lengths', async () => {
  const parts = [
    'pohf-approval-decision-1',
    input.envelopeHash,
    input.viewHash,
    'approve',
    'apv_anna',
    'n-1',
    'link',
  ]
  const bytes = Buffer.concat(
    parts.flatMap((part) => {
      const length = Buffer.alloc(4)
      length.writeUInt32BE(Buffer.byteLength(part))
      return [length, Buffer.from(part)]
    }),
  )
  const expected = Buffer.from(await crypto.subtle.digest('SHA-256', bytes)).toString('base64url')
  assert.equal(await decisionChallenge(input), expected)
})

test('no part can take characters from its neighbour: every change gives another challenge', async () => {
  const others: readonly Partial<DecisionInput>[] = [
    {},
    { decision: 'deny' },
    { envelopeHash: `${input.envelopeHash}v`, viewHash: input.viewHash.slice(1) },
    { approver: 'apv_annan', nonce: '-1' },
    { approver: 'apv_ann', nonce: 'an-1' },
    { nonce: 'n-1l', telemetryLink: 'ink' },
    { nonce: 'n-1link', telemetryLink: '' },
    { telemetryLink: '' },
  ]
  const challenges = await Promise.all(others.map((more) => decisionChallenge({ ...input, ...more })))
  assert.equal(new Set(challenges).size, others.length)
})

import * as fc from 'fast-check'

export type Json = Record<string, unknown>
/** What goes over the wire as a body, and a word on what it is. */
export type FuzzBody = {
  readonly text: string | undefined
  readonly type: string | undefined
  readonly note: string
}

const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])
const record = (value: unknown): Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {}
const number = (value: unknown, fallback: number): number => (typeof value === 'number' ? value : fallback)

// Names that every object inherits: a look-up by a caller's word must not find them.
const inherited = ['toString', 'constructor', '__proto__', 'hasOwnProperty', 'valueOf']
const known = [
  ...inherited,
  'ses_test_pass',
  'ses_test_fraud',
  'mem_test_human',
  'wf_test_ok',
  'wf_test_out_of_stock',
  'VHH_writing',
  'agt_none',
  'starter',
  '2027-03',
]
const plainText = (min: number, max: number): fc.Arbitrary<string> =>
  fc.oneof(
    fc.constantFrom(
      ...known.filter((word) => word.length >= min && word.length <= max),
      'x'.repeat(Math.max(1, min)),
    ),
    fc.string({ unit: 'grapheme', minLength: min, maxLength: Math.min(max, 40) }),
  )

const byFormat: Record<string, fc.Arbitrary<string>> = {
  email: fc.emailAddress(),
  uri: fc.constantFrom('http://127.0.0.1:9/hook', 'https://example.com/hook'),
  'date-time': fc
    .date({ min: new Date('2020-01-01'), max: new Date('2030-01-01'), noInvalidDate: true })
    .map((date) => date.toISOString()),
}

const stringOf = (schema: Json): fc.Arbitrary<string> => {
  const format = byFormat[String(schema['format'])]
  if (format) return format
  if (typeof schema['pattern'] === 'string') {
    try {
      return fc.oneof(
        { weight: 4, arbitrary: fc.stringMatching(new RegExp(schema['pattern'])) },
        { weight: 1, arbitrary: plainText(1, 60) },
      )
    } catch {
      return plainText(1, 60)
    }
  }
  return plainText(number(schema['minLength'], 0), number(schema['maxLength'], 100))
}

const objectOf = (schema: Json, depth: number): fc.Arbitrary<unknown> => {
  const properties = record(schema['properties'])
  const required = new Set(list(schema['required']))
  const arbitraries = Object.entries(properties).map(([name, inner]) => {
    const value = valid(record(inner), depth + 1)
    return (required.has(name) ? value : fc.option(value, { nil: undefined })).map(
      (made) => [name, made] as const,
    )
  })
  return fc
    .tuple(...arbitraries)
    .map((entries) => Object.fromEntries(entries.filter(([, value]) => value !== undefined)))
}

/** Values that the schema allows, as far as it says what it allows. */
const valid = (schema: Json, depth = 0): fc.Arbitrary<unknown> => {
  if (schema['const'] !== undefined) return fc.constant(schema['const'])
  if (Array.isArray(schema['enum'])) return fc.constantFrom(...list(schema['enum']))
  if (Array.isArray(schema['anyOf']))
    return fc.oneof(...list(schema['anyOf']).map((option) => valid(record(option), depth)))
  switch (schema['type']) {
    case 'string':
      return stringOf(schema)
    case 'integer':
      return fc.integer({
        min: number(schema['minimum'], -1_000),
        max: Math.min(number(schema['maximum'], 1_000_000), 2 ** 31 - 1),
      })
    case 'number':
      return fc.double({
        min: number(schema['minimum'], -1e6),
        max: number(schema['maximum'], 1e6),
        noNaN: true,
        noDefaultInfinity: true,
      })
    case 'boolean':
      return fc.boolean()
    case 'null':
      return fc.constant(null)
    case 'array':
      return fc.array(valid(record(schema['items']), depth + 1), {
        minLength: number(schema['minItems'], 0),
        maxLength: Math.min(number(schema['maxItems'], 5), 5),
      })
    case 'object':
      return objectOf(schema, depth)
    default:
      return depth > 3 ? fc.constant(null) : fc.jsonValue({ maxDepth: 2 })
  }
}

const oddValue: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    0,
    -1,
    1e308,
    '',
    ' ',
    '5',
    [],
    {},
    [[]],
    'nul \u0000 here',
    '\ud800',
    '😀'.repeat(50),
    "'; drop table agents; --",
    '<script>',
    '../../etc/passwd',
  ),
  fc.string({ minLength: 300, maxLength: 5_000 }),
  fc.jsonValue({ maxDepth: 3 }),
  fc.double(),
)

/** One field of a good body made odd, left out, or added. */
const nearlyValid = (schema: Json): fc.Arbitrary<unknown> =>
  fc
    .tuple(valid(schema), fc.constantFrom('replace', 'remove', 'add'), fc.nat(), oddValue)
    .map(([body, change, at, odd]) => {
      const entries = Object.entries(record(body))
      if (change === 'add' || entries.length === 0) return { ...record(body), [`extra${at % 9}`]: odd }
      const victim = entries[at % entries.length]?.[0] ?? ''
      return Object.fromEntries(
        entries.flatMap(([name, value]) =>
          name !== victim ? [[name, value]] : change === 'remove' ? [] : [[name, odd]],
        ),
      )
    })

const hostileTexts: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    '{',
    '[]',
    'null',
    '"text"',
    '42',
    '{"__proto__":{"admin":true}}',
    '{"constructor":{"prototype":{}}}',
    '['.repeat(2_000),
    '{"a":'.repeat(500),
    '\u0000',
    '﻿{}',
    '{"a":1}{"a":2}',
  ),
  fc.string({ maxLength: 200 }),
  fc.nat({ max: 20 }).map((kilobytes) => JSON.stringify({ sessionId: 'x'.repeat(kilobytes * 20_000) })),
)
const types = fc.constantFrom(
  'application/json',
  'application/json; charset=utf-8',
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'nonsense',
  '',
)

/** Bodies: mostly good, many nearly good, some from hell. */
export const bodyArbitrary = (schema: Json | undefined): fc.Arbitrary<FuzzBody> => {
  const shape = schema ?? {}
  const json =
    (note: string) =>
    (value: unknown): FuzzBody => ({ text: JSON.stringify(value) ?? '', type: 'application/json', note })
  return fc.oneof(
    { weight: 5, arbitrary: valid(shape).map(json('valid')) },
    { weight: 3, arbitrary: nearlyValid(shape).map(json('near')) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(hostileTexts, types)
        .map(([text, type]) => ({ text, type: type === '' ? undefined : type, note: 'hostile' })),
    },
    { weight: 1, arbitrary: fc.constant({ text: undefined, type: undefined, note: 'empty' }) },
  )
}

/** A path or query parameter as text; undefined leaves it out. */
export const parameterArbitrary = (schema: Json): fc.Arbitrary<string | undefined> =>
  fc.oneof(
    {
      weight: 5,
      arbitrary: valid(schema).map((value) => (typeof value === 'string' ? value : JSON.stringify(value))),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom('', '0', '-1', '1e9', 'nul\u0000', '%', '../..', 'a'.repeat(300), '😀'),
    },
    { weight: 2, arbitrary: fc.constant(undefined) },
  )

import type { Random } from './random.ts'

type Mutation = (bytes: Buffer, random: Random, others: readonly Buffer[]) => Buffer

/** Heads of CBOR and DER that announce too much, another type, or no end. */
const heads = [
  '1bffffffffffffffff',
  '5bffffffffffffffff',
  '9bffffffffffffffff',
  'bbffffffffffffffff',
  '5affffffff',
  '9affffffff',
  'baffffffff',
  '5f',
  '7f',
  '9f',
  'bf',
  'ff',
  'f6',
  'f97e00',
  'fb7ff0000000000000',
  'c074',
  'd9d9f7',
  '3080',
  '3084ffffffff',
  '30847fffffff',
  '0480',
  '0500',
  '0101ff',
  '0000',
  'a300',
  'a030',
].map((hex) => Buffer.from(hex, 'hex'))
/** Bytes that repeated make a nested value: arrays, tags, maps and sequences. */
const nests = ['81', 'c1', 'a161', '3080', '9f', 'd818', '5b', '7b2261223a', '22'].map((hex) =>
  Buffer.from(hex, 'hex'),
)
const lengths = [0, 1, 0x1f, 0x20, 0x7f, 0x80, 0x81, 0x82, 0x84, 0xfe, 0xff]

const splice = (bytes: Buffer, start: number, end: number, between: Buffer): Buffer =>
  Buffer.concat([bytes.subarray(0, start), between, bytes.subarray(end)])
const spanOf = (bytes: Buffer, random: Random): readonly [number, number] => {
  const start = random.below(bytes.length + 1)
  return [start, Math.min(bytes.length, start + random.below(random.chance(3) ? bytes.length + 1 : 9))]
}
const setByte = (bytes: Buffer, at: number, value: number): Buffer => {
  const copy = Buffer.from(bytes)
  if (copy.length > 0) copy[at] = value & 0xff
  return copy
}

const byteMutations: readonly Mutation[] = [
  (bytes, random) => {
    const at = random.below(bytes.length)
    return setByte(bytes, at, (bytes[at] ?? 0) ^ (1 << random.below(8)))
  },
  (bytes, random) => setByte(bytes, random.below(bytes.length), random.below(256)),
  (bytes, random) => setByte(bytes, random.below(bytes.length), random.pick(lengths)),
  (bytes, random) => {
    const at = random.below(bytes.length)
    return setByte(bytes, at, (bytes[at] ?? 0) + (random.chance(2) ? 1 : -1))
  },
  (bytes, random) => bytes.subarray(0, random.below(bytes.length + 1)),
  (bytes, random) => bytes.subarray(random.below(bytes.length + 1)),
  (bytes, random) => {
    const [start, end] = spanOf(bytes, random)
    return splice(bytes, start, end, Buffer.alloc(0))
  },
  (bytes, random) => {
    const [start, end] = spanOf(bytes, random)
    return splice(bytes, end, end, bytes.subarray(start, end))
  },
  (bytes, random) => {
    const [start, end] = spanOf(bytes, random)
    const to = random.below(bytes.length + 1)
    return splice(bytes, to, to, bytes.subarray(start, end))
  },
  (bytes, random) => {
    const at = random.below(bytes.length + 1)
    return splice(bytes, at, random.chance(2) ? at : at + 1, random.pick(heads))
  },
  (bytes, random) => {
    const at = random.below(bytes.length + 1)
    // Deep nesting is dear: one in eight is deep enough to exhaust a stack.
    const depth = random.chance(8) ? 4_000 + random.below(16_000) : 1 + random.below(40)
    return splice(bytes, at, at, Buffer.alloc(depth * 2, random.pick(nests)))
  },
  (bytes, random, others) => {
    const other = random.pick([bytes, ...others])
    const [start, end] = spanOf(other, random)
    const at = random.below(bytes.length + 1)
    return splice(bytes, at, Math.min(bytes.length, at + (end - start)), other.subarray(start, end))
  },
  (bytes, random, others) => {
    const other = random.pick([bytes, ...others])
    return Buffer.concat([
      bytes.subarray(0, random.below(bytes.length + 1)),
      other.subarray(random.below(other.length + 1)),
    ])
  },
  (bytes, random) => Buffer.concat([bytes, Buffer.alloc(1 + random.below(4), random.below(256))]),
]

const mutateBytes: Mutation = (bytes, random, others) => {
  let changed = bytes
  for (let rounds = random.chance(3) ? 1 + random.below(4) : 1; rounds > 0; rounds -= 1)
    changed = random.pick(byteMutations)(changed, random, others)
  return changed
}

const oddValues: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1e308,
  2 ** 53,
  0.1,
  '',
  '0',
  '__proto__',
  [],
  {},
  [[]],
  '\ud800',
  'x'.repeat(5_000),
]
/** Changes one value somewhere in a JSON value. */
const changeValue = (value: unknown, random: Random, depth = 0): unknown => {
  if (typeof value !== 'object' || value === null || depth > 8 || random.chance(6))
    return random.pick(oddValues)
  if (Array.isArray(value)) {
    const at = random.below(value.length)
    if (random.chance(5)) return random.chance(2) ? [...value, value[at]] : value.toSpliced(at, 1)
    return value.with(at, changeValue(value[at], random, depth + 1))
  }
  const entries = Object.entries(value)
  const at = random.below(entries.length)
  const [name, inner] = entries[at] ?? ['x', null]
  if (random.chance(6)) return Object.fromEntries(entries.toSpliced(at, 1))
  if (random.chance(6)) return { ...value, [random.pick(['__proto__', 'constructor', 'x', name])]: inner }
  return Object.fromEntries(entries.with(at, [name, changeValue(inner, random, depth + 1)]))
}
const mutateJson: Mutation = (bytes, random, others) => {
  try {
    const text = JSON.stringify(changeValue(JSON.parse(bytes.toString('utf8')), random))
    // A name twice: parsers take the last, or the first.
    const doubled = random.chance(6) ? text.replace(/^\{("[^"]*":[^,{}[\]]*)/, `{$1,$1`) : text
    const spaced = random.chance(8) ? doubled.replaceAll(',', ', ') : doubled
    return Buffer.from(spaced ?? 'null')
  } catch {
    return mutateBytes(bytes, random, others)
  }
}

const base64Form = /[A-Za-z0-9_+/-]{4,}={0,2}/g
/** Changes what one base64 part of a text holds, or the way in which it is written. */
const mutatePart: Mutation = (bytes, random, others) => {
  const text = bytes.toString('latin1')
  const parts = [...text.matchAll(base64Form)]
  if (parts.length === 0) return mutateBytes(bytes, random, others)
  const { 0: part, index } = random.pick(parts)
  const put = (changed: string): Buffer =>
    Buffer.from(text.slice(0, index) + changed + text.slice(index + part.length), 'latin1')
  const form = /[-_]/.test(part) || !part.endsWith('=') ? 'base64url' : 'base64'
  const content = Buffer.from(part, form)
  if (random.chance(8)) return put(content.toString(form === 'base64' ? 'base64url' : 'base64'))
  if (random.chance(12)) return put(`${part.slice(0, 2)} ${part.slice(2)}`)
  if (random.chance(12)) return put(part + random.pick(['=', '==', '\n', 'A', '.', '~']))
  const mutate = random.chance(2) ? mutateJson : mutateBytes
  return put(mutate(content, random, others).toString(form))
}

export type Form = 'bytes' | 'text' | 'json'
const mutationsOf: Readonly<Record<Form, readonly Mutation[]>> = {
  bytes: [mutateBytes],
  text: [mutateBytes, mutatePart, mutatePart],
  json: [mutateBytes, mutateJson, mutateJson],
}

/** A changed copy; never the same bytes. */
export const mutate = (bytes: Buffer, form: Form, random: Random, others: readonly Buffer[]): Buffer => {
  for (let tries = 0; tries < 20; tries += 1) {
    const changed = random.pick(mutationsOf[form])(bytes, random, others)
    if (!changed.equals(bytes)) return changed
  }
  return Buffer.concat([bytes, Buffer.from([0])])
}

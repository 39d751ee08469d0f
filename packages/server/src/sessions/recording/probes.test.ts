import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inflateSync } from 'node:zlib'
import { renderPointProbe, probeLanguageOf, renderProbe, expectedAnswerOf } from './probes.ts'

const [width, height] = [320, 200]
const seeds = Array.from({ length: 40 }, (_, n) => `seed ${n}`)

/** Pixels as numbers of the palette: 0 is paper, 15 is ink. */
const pixelsOf = (png: Buffer): Uint8Array => {
  const parts = new Map<string, Buffer>()
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at))
    parts.set(png.toString('latin1', at + 4, at + 8), png.subarray(at + 8, at + 8 + png.readUInt32BE(at)))
  const head = parts.get('IHDR')
  assert.deepEqual([head?.readUInt32BE(0), head?.readUInt32BE(4)], [width, height])
  const rows = inflateSync(parts.get('IDAT') ?? Buffer.alloc(0))
  const rowBytes = width / 2
  const pixels = new Uint8Array(width * height)
  let above = new Uint8Array(rowBytes)
  for (let y = 0; y < height; y++) {
    const [filter = 0, ...bytes] = rows.subarray(y * (rowBytes + 1), (y + 1) * (rowBytes + 1))
    assert.ok(filter === 0 || filter === 2)
    above = Uint8Array.from(bytes, (byte, x) => (filter === 2 ? byte + (above[x] ?? 0) : byte))
    for (const [x, byte] of above.entries()) pixels.set([byte >> 4, byte & 15], y * width + 2 * x)
  }
  return pixels
}

/** Looks outwards from a point in 72 directions: the share that meets ink within a number of pixels. */
const shareOfInk = (pixels: Uint8Array, x: number, y: number): number => {
  const directions = Array.from({ length: 72 }, (_, n) => (n * Math.PI) / 36)
  const met = directions.filter((angle) =>
    Array.from({ length: 27 }, (_, step) => {
      const at = Math.round(y + Math.sin(angle) * step) * width + Math.round(x + Math.cos(angle) * step)
      return (pixels[at] ?? 0) >= 8
    }).some(Boolean),
  )
  return met.length / directions.length
}

/** Where whole rings and the ring with a gap are, found by looking at the pixels alone. */
const detectRings = (pixels: Uint8Array): { x: number; y: number; share: number }[] =>
  Array.from({ length: 15 }, (_, cell) => ({ x: (cell % 5) * 64 + 32, y: Math.floor(cell / 5) * 66.7 + 33 }))
    .map(({ x, y }) => ({ x, y, share: shareOfInk(pixels, x, y) }))
    .filter(({ share }) => share > 0.3)

test('one ring of seven has a gap, at the position of the right answer', () => {
  for (const seed of seeds) {
    const truth = expectedAnswerOf({ kind: 'point', seed })
    assert.ok(truth.kind === 'point')
    const rings = detectRings(pixelsOf(renderPointProbe(seed)))
    assert.equal(rings.length, 7, seed)
    const open = rings.filter(({ share }) => share < 0.9)
    assert.equal(open.length, 1, `${seed}: ${rings.map(({ share }) => share.toFixed(2)).join(' ')}`)
    const distance = Math.hypot((open[0]?.x ?? 0) - truth.x, (open[0]?.y ?? 0) - truth.y)
    assert.ok(distance < 12, `${seed}: ${distance}`)
  }
})

test('a target is large enough for a thumb, inside the picture, and within the limits', () => {
  for (const seed of seeds) {
    const truth = expectedAnswerOf({ kind: 'point', seed })
    assert.ok(truth.kind === 'point')
    assert.ok(truth.radius >= 22 && truth.radius <= 30)
    assert.ok(truth.x >= 22 && truth.x <= width - 22 && truth.y >= 22 && truth.y <= height - 22)
    assert.deepEqual([truth.fromMs, truth.toMs], [250, 2_500])
    const probe = renderProbe({ kind: 'point', seed })
    assert.ok(probe.kind === 'point' && probe.image.length < 12_288)
    assert.equal(probe.id, truth.id)
  }
})

test('pixels differ each time, everywhere; the same seed gives the same bytes', () => {
  const [one = '', two = ''] = seeds
  assert.deepEqual(renderPointProbe(one), renderPointProbe(one))
  const [a, b] = [pixelsOf(renderPointProbe(one)), pixelsOf(renderPointProbe(two))]
  const differ = a.filter((level, at) => level !== b[at]).length / a.length
  assert.ok(differ > 0.5, `${differ} of the pixels differ`)
  const places = new Set(seeds.map((seed) => JSON.stringify(expectedAnswerOf({ kind: 'point', seed }))))
  assert.equal(places.size, seeds.length)
})

test('targets lie in every part of the picture', () => {
  const cells = new Map<number, number>()
  for (let n = 0; n < 1_500; n++) {
    const truth = expectedAnswerOf({ kind: 'point', seed: `spread ${n}` })
    assert.ok(truth.kind === 'point')
    const cell = Math.floor(truth.x / 64) + 5 * Math.floor(truth.y / 66.7)
    cells.set(cell, (cells.get(cell) ?? 0) + 1)
  }
  assert.equal(cells.size, 15)
  // 100 each are expected; 60 is four standard deviations away.
  for (const count of cells.values()) assert.ok(count > 60 && count < 140, String(count))
})

test('a word probe names one of its four words', () => {
  const choices = new Set<number>()
  for (const seed of seeds) {
    const [probe, truth] = [renderProbe({ kind: 'choose', seed }), expectedAnswerOf({ kind: 'choose', seed })]
    assert.ok(probe.kind === 'choose' && truth.kind === 'choose')
    assert.equal(new Set(probe.choices).size, 4)
    const named = probe.choices.filter((word) => probe.say.includes(`“${word}”`))
    assert.deepEqual(named, [probe.choices[truth.choice]])
    choices.add(truth.choice)
  }
  assert.equal(choices.size, 4)
})

test('a word probe in German has the same right answer, in German', () => {
  const vocabulary = new Set<string>()
  for (let n = 0; n < 300; n++) {
    const probe = { kind: 'choose', seed: `german ${n}` } as const
    const [german, english] = [
      renderProbe(probe, probeLanguageOf('de-AT')),
      renderProbe(probe, probeLanguageOf('fr')),
    ]
    const truth = expectedAnswerOf(probe)
    assert.ok(german.kind === 'choose' && english.kind === 'choose' && truth.kind === 'choose')
    assert.equal(german.say, `Wählen Sie das Wort „${german.choices[truth.choice]}“.`)
    assert.equal(new Set(german.choices).size, 4)
    assert.ok(english.say.includes(`“${english.choices[truth.choice]}”`))
    for (const word of german.choices) vocabulary.add(word)
  }
  assert.equal(vocabulary.size, 40)
  assert.ok(!vocabulary.has(''))
})

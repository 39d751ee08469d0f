import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inflateSync } from 'node:zlib'
import * as fc from 'fast-check'
import type { ReadRecord } from '@pohf/protocol/probes'
import type { TelemetryEvent } from '@pohf/protocol/telemetry'
import { renderPointProbe, probeLanguageOf, renderProbe, expectedAnswerOf } from './probes.ts'
import { advanceSchedule, nextChunkDelayMs, newSchedule, type Schedule } from './schedule.ts'

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

/** What a page would send at this time for a probe that was asked by the receipt before. */
const recordAt = (
  at: number,
  asked: string | null,
  events: readonly TelemetryEvent[],
  since = 0,
): ReadRecord => ({
  chunk: { seq: 1, receipt: '', t0: since, t1: at, environment: null, events, last: null },
  receivedAt: at,
  after: {
    at: since,
    token: '',
    probe: asked === null ? null : expectedAnswerOf({ kind: 'point', seed: asked }),
  },
})

test('for any randomness: one probe at a time, two seconds apart, at least three, at most six', () => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: 0, max: 0.999_999, noNaN: true }), { minLength: 80, maxLength: 80 }),
      fc.array(fc.constantFrom('hit', 'wrong', 'silent'), { minLength: 80, maxLength: 80 }),
      (draws, answers) => {
        let schedule: Schedule = newSchedule(0, draws[0] ?? 0)
        let now = 0
        let given: { seed: string; at: number } | null = null
        const askedAt: number[] = []
        for (let step = 1; step < 80; step++) {
          const before = now
          const wait = nextChunkDelayMs(schedule, now)
          assert.ok(wait >= 200 && wait <= 2_500)
          now += wait
          const answer = answers[askedAt.length] ?? 'silent'
          const truth = given && expectedAnswerOf({ kind: 'point', seed: given.seed })
          const events: TelemetryEvent[] = []
          if (truth?.kind === 'point') {
            events.push({ type: 'shown', t: before + 20, probe: truth.id })
            if (answer !== 'silent') {
              const x = answer === 'hit' ? truth.x : truth.x + 60
              events.push({
                type: 'point',
                t: before + 700,
                probe: truth.id,
                how: 'm',
                trusted: true,
                x,
                y: truth.y,
              })
            }
          }
          const wasOpen: boolean = schedule.open !== null
          const followed: ReturnType<typeof advanceSchedule> = advanceSchedule(
            schedule,
            recordAt(now, given?.seed ?? null, events, before),
            { draw: draws[step] ?? 0, seed: `s${step}` },
          )
          if (followed.opened) {
            assert.ok(!wasOpen || followed.schedule.done === schedule.done + 1, 'two are open at once')
            askedAt.push(now)
          }
          given = followed.opened ? { seed: followed.opened.seed, at: now } : null
          schedule = followed.schedule
        }
        for (const [index, at] of askedAt.entries())
          assert.ok(index === 0 || at - (askedAt[index - 1] ?? 0) >= 1_900, 'too close')
        assert.equal(schedule.done, schedule.of)
        assert.equal(askedAt.length, schedule.of)
        const hits = answers.slice(1, 4).filter((answer) => answer === 'hit').length
        assert.equal(schedule.of, hits >= 2 ? 3 : 6)
      },
    ),
    { numRuns: 200 },
  )
})

const share = (list: readonly number[], over: number) =>
  list.filter((wait) => wait > over).length / list.length

test('the delay of the next probe is exponential, so it is memoryless', () => {
  const waits = Array.from({ length: 4_000 }, (_, n) => newSchedule(0, (n + 0.5) / 4_000).dueAt - 1_000)
  const mean = waits.reduce((sum, wait) => sum + wait, 0) / waits.length
  assert.ok(mean > 1_900 && mean < 2_100, `${mean}`)
  // Of those that wait two seconds, as many wait two more as waited the first two.
  const longer = waits.filter((wait) => wait > 2_000)
  assert.ok(Math.abs(share(waits, 2_000) - share(longer, 4_000)) < 0.02)
})

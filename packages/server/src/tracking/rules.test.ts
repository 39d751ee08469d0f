import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import type { MetricsRow } from '@pohf/protocol'
import { csvPieces } from './csv.ts'
import { beaconsByToken, cleanText, rateOf, readCursor, windowStart, writeCursor } from './rules.ts'

/** Any text, lone surrogates and NUL included. */
const anyText = fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units))

/** A reader of RFC 4180, written from the RFC and not from the writer. */
const readCsv = (text: string): string[][] => {
  const rows: string[][] = []
  let row: string[] = []
  let at = 0
  while (at < text.length) {
    let cell = ''
    if (text[at] === '"') {
      for (at += 1; at < text.length; at++) {
        if (text[at] !== '"') cell += text[at]
        else if (text[at + 1] === '"') cell += text[at++]
        else break
      }
      at += 1
    } else while (at < text.length && text[at] !== ',' && text[at] !== '\r') cell += text[at++]
    row.push(cell)
    if (text[at] === ',') at += 1
    else {
      assert.equal(text.slice(at, at + 2), '\r\n')
      at += 2
      rows.push(row)
      row = []
    }
  }
  return rows
}

const share = fc.option(fc.double({ min: 0, max: 1, noNaN: true }))
const anyRow: fc.Arbitrary<MetricsRow> = fc.record({
  sessionId: fc.oneof(anyText, fc.constantFrom('=1+1', '+1', '-1', '@x', '\t=1', '\r\n=1', '"', ',', "'=1")),
  credentialId: fc.option(fc.string()),
  at: fc.constant('2026-01-02T03:04:05.000Z'),
  focus: share,
  probe: share,
  input: share,
  gaze: share,
  quality: share,
  flags: fc.array(fc.string({ minLength: 1 })),
})

/** The rows as one text, as if they came in two pieces. */
const writeCsv = async (rows: readonly MetricsRow[]): Promise<string> => {
  const pages = async function* () {
    yield rows.slice(0, 2)
    yield rows.slice(2)
  }
  let text = ''
  for await (const piece of csvPieces(pages())) text += piece
  return text
}

test('whatever the rows hold, a reader gets the same cells back and none starts a formula', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyRow, { maxLength: 5 }), async (rows) => {
      const [head, ...lines] = readCsv(await writeCsv(rows))
      assert.equal(head?.length, 9)
      assert.equal(lines.length, rows.length)
      for (const [n, line] of lines.entries()) {
        const row = rows[n]
        assert.ok(row)
        assert.equal(line.length, 9)
        for (const place of [0, 1, 8]) assert.doesNotMatch(line[place] ?? '', /^[=+\-@\t\r\n]/)
        assert.ok(line[0] === row.sessionId || line[0] === `'${row.sessionId}`)
        assert.equal(line[7], row.quality === null ? '' : String(row.quality))
      }
    }),
    { numRuns: 500 },
  )
})

test('a rate lies between 0 and 1, is 0 without views and grows with its part', () => {
  const count = fc.nat({ max: 1_000_000 })
  fc.assert(
    fc.property(count, count, count, (part, more, views) => {
      const rate = rateOf(part, views)
      assert.ok(rate >= 0 && rate <= 1)
      assert.ok(rateOf(part + more, views) >= rate)
      if (views === 0) assert.equal(rate, 0)
      if (part <= views && views > 0) assert.equal(rate, part / views)
    }),
  )
})

test('sanitized text is well-formed, has no NUL and is never longer than its limit', () => {
  fc.assert(
    fc.property(anyText, fc.nat({ max: 20 }), (text, max) => {
      const clean = cleanText(text, max)
      assert.ok(clean.isWellFormed() && !clean.includes('\u0000') && clean.length <= max)
      assert.equal(cleanText(clean, max), clean)
    }),
  )
})

test('any JSON whatever becomes at most 100 beacons that can be stored', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.jsonValue(), fc.array(fc.record({ vt: fc.string(), props: fc.jsonValue() }))),
      (body) => {
        const beacons = [...beaconsByToken(body).values()].flat()
        assert.ok(beacons.length <= 100)
        for (const beacon of beacons) {
          assert.ok(beacon.type.length >= 1 && beacon.type.length <= 64)
          assert.ok(Object.keys(beacon.props ?? {}).length <= 20)
        }
      },
    ),
  )
})

test('a cursor reads back as its position, and other text as none', () => {
  fc.assert(
    fc.property(fc.nat(), fc.string({ unit: 'binary', maxLength: 128 }), (at, text) => {
      const sessionId = cleanText(text, 128)
      const cursor = writeCursor({ at: new Date(at), sessionId })
      assert.ok(cursor.length <= 1_000)
      assert.deepEqual(readCursor(cursor), { at: new Date(at), sessionId })
    }),
  )
  for (const text of ['', 'null', '[]', '[1.5,"a"]', '[1,2]', '[1,"a",3]', '["1","a"]', '{"a":1}'])
    assert.equal(readCursor(Buffer.from(text).toString('base64url')), undefined, text)
})

test('a window starts between 1970 and now, by default the given days ago', () => {
  const now = new Date('2026-03-04T00:00:00Z')
  assert.equal(windowStart(undefined, now, 7).toISOString(), '2026-02-25T00:00:00.000Z')
  assert.equal(windowStart(new Date(8.64e15), now, 7).getTime(), now.getTime())
  assert.equal(windowStart(new Date(-1), now, 7).getTime(), 0)
})

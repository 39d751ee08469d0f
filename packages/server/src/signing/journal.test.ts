import assert from 'node:assert/strict'
import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import * as fc from 'fast-check'
import { openJournal, readJournal, readJournalPage, type JournalEntry, type JournalSpan } from './journal.ts'
import { compareWithJournal, payloadHash } from './rules.ts'

const makeFolder = () => {
  const folder = mkdtempSync(join(tmpdir(), 'pohf-journal-'))
  after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
const line = (n: number, at = n): JournalEntry => ({
  at,
  kid: 'k'.repeat(43),
  id: `crd_${n}`,
  hash: 'h'.repeat(43),
})

test('a partial line of a writer that crashed is dropped; complete lines stay, wherever it is cut', () => {
  fc.assert(
    fc.property(fc.nat(5), fc.string({ maxLength: 200 }), (whole, torn) => {
      const folder = mkdtempSync(join(tmpdir(), 'pohf-journal-'))
      try {
        const journal = openJournal(folder, '2026-01')
        const lines = Array.from({ length: whole }, (_, n) => line(n))
        if (whole > 0) journal.append(lines)
        journal.close()
        appendFileSync(join(folder, '2026-01.log'), torn.replaceAll('\n', ''))
        assert.deepEqual(readJournal(folder), lines)
        const again = openJournal(folder, '2026-01')
        again.append([line(99)])
        again.close()
        assert.deepEqual(readJournal(folder), [...lines, line(99)])
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    }),
    { numRuns: 60 },
  )
})

test('the journal is for the signer alone and is only added to', () => {
  const folder = makeFolder()
  const journal = openJournal(folder, '2026-01')
  journal.append([line(1)])
  const before = readFileSync(join(folder, '2026-01.log'), 'utf8')
  journal.append([line(2), line(3)])
  journal.close()
  assert.ok(readFileSync(join(folder, '2026-01.log'), 'utf8').startsWith(before))
  assert.equal(statSync(join(folder, '2026-01.log')).mode & 0o777, 0o600)
})

const readAll = (folder: string, span: JournalSpan) => {
  const entries: JournalEntry[] = []
  let pages = 0
  for (let cursor: JournalSpan['cursor']; ;) {
    const page = readJournalPage(folder, { ...span, cursor })
    pages++
    entries.push(...page.entries)
    if (!page.next) return { entries, pages }
    cursor = page.next
  }
}

test('any span of time is read whole, over pages and months', () => {
  const folder = makeFolder()
  const months = ['2026-01', '2026-02', '2026-03']
  const all = months.flatMap((month) => {
    const start = Date.parse(`${month}-01T00:00:00Z`)
    const lines = Array.from({ length: 8_000 }, (_, n) => line(n, start + n * 300_000))
    const journal = openJournal(folder, month)
    journal.append(lines)
    journal.close()
    return lines
  })
  const times = fc.integer({ min: Date.UTC(2025, 11, 20), max: Date.UTC(2026, 3, 5) })
  assert.ok(readAll(folder, { from: 0, to: Date.UTC(2027, 0) }).pages > 3)
  fc.assert(
    fc.property(times, times, (from, to) => {
      const expected = all.filter((entry) => entry.at >= from && entry.at < to)
      assert.deepEqual(readAll(folder, { from, to }).entries, expected)
    }),
    { numRuns: 40 },
  )
})

test('a journal that does not exist yet has no lines', () => {
  assert.deepEqual(readAll(join(makeFolder(), 'none'), { from: 0, to: 1 }).entries, [])
})

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

test('the comparison tells a missing line, another payload and another key', () => {
  const jwt = `${encode({ kid: 'k1' })}.${encode({ jti: 'crd_1', a: 1 })}.sig`
  const good = { id: 'crd_1', kid: 'k1', hash: payloadHash({ a: 1, jti: 'crd_1' }) }
  const compare = (...lines: (typeof good)[]) =>
    compareWithJournal(
      [{ credentialId: 'crd_1', jwt }],
      Map.groupBy(lines, ({ id }) => id),
    ).map(({ fault }) => fault)
  assert.deepEqual(compare(good), [])
  assert.deepEqual(compare({ ...good, id: 'crd_2' }), ['not_journaled'])
  assert.deepEqual(compare({ ...good, hash: payloadHash({ a: 2 }) }), ['another_payload'])
  assert.deepEqual(compare({ ...good, kid: 'k2' }), ['another_key'])
  assert.deepEqual(compare({ ...good, kid: 'k2' }, good), [])
})

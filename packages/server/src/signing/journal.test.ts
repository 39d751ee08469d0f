import assert from 'node:assert/strict'
import {
  appendFileSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import * as fc from 'fast-check'
import { openJournal, openMonthlyJournal, readJournal, readJournalPage, readRecordPage } from './journal.ts'
import type { JournalEntry, JournalRecord, JournalSpan } from './journal.ts'
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
const credential = (n: number, at = n): JournalRecord => ({
  kind: 'credential',
  ...line(n, at),
  batch: n + 1,
  agent: 'agt_1',
  list: 'aa-test-1',
  index: n,
  expiresAt: at + 1,
  key: 'a'.repeat(22),
  charged: true,
})
/** A line as the first version wrote it. */
const plainLine = ({ at, kid, id, hash }: JournalEntry) => `${at}\t${kid}\t${id}\t${hash}\n`
const openAt = (folder: string, time = Date.UTC(2026, 0, 5)) =>
  openMonthlyJournal(folder, { now: () => new Date(time) }, openJournal)

test('a partial line of a writer that crashed is dropped; complete lines stay, wherever it is cut', () => {
  fc.assert(
    fc.property(fc.nat(5), fc.string({ maxLength: 200 }), (whole, torn) => {
      const folder = mkdtempSync(join(tmpdir(), 'pohf-journal-'))
      try {
        const journal = openAt(folder)
        const numbers = Array.from({ length: whole }, (_, n) => n)
        if (whole > 0) journal.append(numbers.map((n) => credential(n)))
        journal.close()
        appendFileSync(join(folder, '2026-01.log'), torn.replaceAll('\n', ''))
        assert.deepEqual(
          readJournal(folder),
          numbers.map((n) => line(n)),
        )
        const again = openAt(folder)
        again.append([credential(99)])
        again.close()
        assert.deepEqual(readJournal(folder), [...numbers.map((n) => line(n)), line(99)])
        assert.equal(readRecordPage(folder, { from: 0, to: Date.UTC(2027, 0) }).records.length, whole + 1)
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    }),
    { numRuns: 60 },
  )
})

test('a clock that was set back continues the newest file, so no number is used twice after a restart', () => {
  const folder = makeFolder()
  const later = openAt(folder, Date.UTC(2026, 5, 1))
  later.append([credential(0)])
  later.close()
  const back = openAt(folder)
  back.append([credential(1)])
  back.close()
  assert.deepEqual(readdirSync(folder), ['2026-06.log'])
  const { batch, sequence } = openAt(folder).state()
  assert.deepEqual([batch, sequence], [2, 2])
})

test('a clock that was months ahead for one signature hides no later signature from a comparison', () => {
  const folder = makeFolder()
  const [march, january] = [Date.UTC(2026, 2, 1), Date.UTC(2026, 0, 5)]
  const inMarch = openAt(folder, march)
  inMarch.append([credential(0, march)])
  inMarch.close()
  const inJanuary = openAt(folder, january)
  inJanuary.append([credential(1, january)])
  inJanuary.close()
  const inApril = openAt(folder, Date.UTC(2026, 3, 1))
  inApril.append([credential(2, Date.UTC(2026, 3, 1))])
  inApril.close()
  const span = { from: Date.UTC(2026, 0), to: Date.UTC(2026, 1) }
  assert.deepEqual(readAll(folder, span).entries, [line(1, january)])
})

test('a file that ends with a line longer than any record is not cut', () => {
  const folder = makeFolder()
  const journal = openAt(folder)
  journal.append([credential(0)])
  journal.close()
  const path = join(folder, '2026-01.log')
  appendFileSync(path, 'x'.repeat(20_000))
  const { size } = statSync(path)
  assert.throws(() => openAt(folder).append([credential(1)]), /no signer wrote/)
  assert.equal(statSync(path).size, size)
})

test('the journal is for the signer alone and is only added to', () => {
  const folder = makeFolder()
  const journal = openAt(folder)
  journal.append([credential(1)])
  const before = readFileSync(join(folder, '2026-01.log'), 'utf8')
  journal.append([credential(2), credential(3)])
  journal.close()
  assert.ok(readFileSync(join(folder, '2026-01.log'), 'utf8').startsWith(before))
  assert.equal(statSync(join(folder, '2026-01.log')).mode & 0o777, 0o600)
})

test('the chain continues over months and restarts, and a changed or missing line breaks it', () => {
  const folder = makeFolder()
  for (const month of [0, 1, 2]) {
    const journal = openAt(folder, Date.UTC(2026, month, 5))
    journal.append([
      credential(month * 2, Date.UTC(2026, month, 5)),
      credential(month * 2 + 1, Date.UTC(2026, month, 5)),
    ])
    journal.close()
  }
  const state = openAt(folder).state()
  // Two credentials a month, and from the second month on a record of the state.
  assert.deepEqual([state.sequence, state.batch], [8, 6])
  const all = { from: 0, to: Date.UTC(2027, 0) }
  const path = join(folder, '2026-02.log')
  const text = readFileSync(path, 'utf8')
  const cursor = { file: '2026-02.log', offset: 0 }
  assert.equal(readRecordPage(folder, { ...all, cursor }).records.length, 3)
  writeFileSync(path, text.replace('"index":3', '"index":4'))
  assert.throws(
    () => readRecordPage(folder, { ...all, cursor }),
    /hash chain of the journal is broken at record 5/,
  )
})

test('an acknowledgement survives a restart, and so do the head and the last batch', () => {
  const folder = makeFolder()
  const journal = openAt(folder)
  journal.append([credential(0), credential(1), { kind: 'acknowledged', at: 2, batches: [1, 2] }])
  const before = journal.state()
  journal.close()
  assert.deepEqual(openAt(folder).state(), before)
  assert.deepEqual([before.batch, before.acknowledged], [2, [1, 2]])
})

test('a write that failed leaves no gap and no number that is used twice', () => {
  const folder = makeFolder()
  let fails = false
  const journal = openMonthlyJournal(folder, { now: () => new Date(Date.UTC(2026, 0, 5)) }, (...where) => {
    const file = openJournal(...where)
    return {
      ...file,
      append: (lines) => {
        file.append(fails ? lines.slice(0, -20) : lines)
        if (fails) throw new Error('no space left')
      },
    }
  })
  journal.append([credential(1)])
  fails = true
  assert.throws(() => journal.append([credential(2), credential(3)]), /no space left/)
  fails = false
  journal.append([credential(4)])
  const { records } = readRecordPage(folder, { from: 0, to: Date.UTC(2027, 0) })
  assert.deepEqual(
    records.map(({ sequence }) => sequence),
    [1, 2, 3],
  )
})

test('a journal of the first version is read, and goes on in the present one', () => {
  const folder = makeFolder()
  writeFileSync(join(folder, '2026-01.log'), [line(1), line(2)].map(plainLine).join(''))
  const journal = openAt(folder)
  assert.deepEqual([journal.state().sequence, journal.state().batch], [0, 0])
  journal.append([credential(3)])
  journal.close()
  assert.deepEqual(readJournal(folder), [line(1), line(2), line(3)])
  const page = readRecordPage(folder, { from: 0, to: Date.UTC(2027, 0) })
  assert.deepEqual([page.plain.length, page.records.length], [2, 1])
})

test('a month begins with the state of the journal, so that the months before it need not be there', () => {
  const folder = makeFolder()
  const peer = { signer: 'sgn_00000000000000ff', sequence: 7, chain: 'c'.repeat(43), acknowledged: 3 }
  const first = openAt(folder)
  first.append([credential(0), credential(1), credential(2), { kind: 'peer', at: 2, head: peer }])
  first.append([{ kind: 'acknowledged', at: 3, batches: [1, 2] }])
  const { own } = first.state()
  first.close()
  const later = openAt(folder, Date.UTC(2026, 1, 5))
  later.append([{ kind: 'peer', at: 4, head: { ...peer, sequence: 8 } }])
  const before = later.state()
  later.close()
  assert.deepEqual([before.batch, before.acknowledged, before.unacknowledged], [3, [1, 2], [3]])
  assert.deepEqual([before.peers, before.own], [[{ ...peer, sequence: 8 }], own])
  rmSync(join(folder, '2026-01.log'))
  assert.deepEqual(openAt(folder, Date.UTC(2026, 1, 5)).state(), before)
})

test('however long the journal is, opening it reads back to the last record of its state', () => {
  const folder = makeFolder()
  const journal = openAt(folder)
  const peer = { signer: 'sgn_00000000000000ff', sequence: 7, chain: 'c'.repeat(43) }
  journal.append([credential(0), { kind: 'peer', at: 0, head: peer }])
  for (let n = 1; n <= 25_000; n += 1_000)
    journal.append(Array.from({ length: 1_000 }, (_, i) => credential(n + i)))
  const before = journal.state()
  journal.close()
  assert.ok(before.sinceState < 11_000, `${before.sinceState} records since the last state`)
  const after = openAt(folder).state()
  assert.deepEqual([after.peers, after.batch, after.sinceState], [[peer], 25_001, before.sinceState])
})

test('a record of the state fits a line, with as many signers as a manifest holds', () => {
  const folder = makeFolder()
  const large = 4_503_599_627_370_000
  const journal = openAt(folder)
  const peers = Array.from({ length: 64 }, (_, n) => ({
    signer: `sgn_${n.toString(16).padStart(16, '0')}`,
    sequence: large,
    chain: 'c'.repeat(43),
    acknowledged: large,
  }))
  journal.append(peers.map((head): JournalRecord => ({ kind: 'peer', at: 1, head })))
  journal.append([{ kind: 'advanced', at: 1, batch: large, position: 0 }])
  journal.append(Array.from({ length: 600 }, (_, n) => credential(large + n)))
  journal.append(
    Array.from({ length: 300 }, (_, n) => ({ kind: 'acknowledged', at: 2, batches: [large + n + 1] })),
  )
  journal.close()
  const next = openAt(folder, Date.UTC(2026, 1, 5))
  next.append([credential(large + 601)])
  next.close()
  const [line = ''] = readFileSync(join(folder, '2026-02.log'), 'utf8').split('\n')
  assert.ok(line.startsWith('{"kind":"state"') && line.length < 16_384, `${line.length} bytes`)
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

test('any span of time is read whole, over pages, months and both versions', () => {
  const folder = makeFolder()
  const months = ['2026-01', '2026-02', '2026-03']
  const all = months.flatMap((month, number) => {
    const start = Date.parse(`${month}-01T00:00:00Z`)
    const times = Array.from({ length: 6_000 }, (_, n) => start + n * 400_000)
    if (number === 0)
      writeFileSync(join(folder, `${month}.log`), times.map((at, n) => plainLine(line(n, at))).join(''))
    else {
      const journal = openAt(folder, start)
      journal.append(times.map((at, n) => credential(n, at)))
      journal.close()
    }
    return times.map((at, n) => line(n, at))
  })
  const times = fc.integer({ min: Date.UTC(2025, 11, 20), max: Date.UTC(2026, 3, 5) })
  assert.ok(readAll(folder, { from: 0, to: Date.UTC(2027, 0) }).pages > 3)
  fc.assert(
    fc.property(times, times, (from, to) => {
      const expected = all.filter((entry) => entry.at >= from && entry.at < to)
      assert.deepEqual(readAll(folder, { from, to }).entries, expected)
    }),
    { numRuns: 20 },
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

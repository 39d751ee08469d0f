import assert from 'node:assert/strict'
import { test } from 'node:test'
import { probeOutcomes } from '@pohf/protocol/probes'
import { readChunk } from '@pohf/protocol/telemetry'
import { startHarness } from '../../../test/fixtures/harness.ts'
import {
  answerProbes,
  openRecorder,
  probeAnswerEvents,
  readProbeAnswer,
} from '../../../test/fixtures/people/recorder.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { readRecords, type DecryptedSession } from './open-records.ts'
import { expectedAnswerOf } from './probes.ts'

const harness = await startHarness()
const { agentId } = await harness.register('test')
const open = () => openRecorder({ send: harness.call, site: agentId })

const decryptedOf = async (sessionId: string): Promise<DecryptedSession> => {
  const opened = await inTransaction(harness.ctx, agentId, (tx) =>
    readRecords(tx, harness.ctx, { agentId, mode: 'test', sessionId }),
  )
  assert.ok(opened)
  return opened
}

/** The types of a PNG's chunks, in order. */
const partsOf = (dataUrl: string): string[] => {
  const bytes = Buffer.from(dataUrl.replace('data:image/png;base64,', ''), 'base64')
  const names: string[] = []
  for (let at = 8; at < bytes.length; at += 12 + bytes.readUInt32BE(at))
    names.push(bytes.toString('latin1', at + 4, at + 8))
  return names
}

test('two hits are enough, and misses lead to more probes, each with the receipt that settles the last', async () => {
  for (const [answers, expected] of [
    [
      [true, true],
      ['hit', 'hit'],
    ],
    [
      [true, false, undefined, true, true, true],
      ['hit', 'wrong', 'unanswered', 'hit', 'hit', 'hit'],
    ],
  ] as const) {
    const recorder = await open()
    const ended = await answerProbes({ harness, recorder, answers: (n) => answers[n] })
    const hits = expected.filter((result) => result === 'hit').length
    assert.deepEqual(ended.progress, { done: expected.length, of: expected.length, hits })
    assert.equal((await recorder.finish()).status, 200)
    const opened = await decryptedOf(recorder.sessionId)
    const read = opened.records.map((record) => {
      const chunk = readChunk(record.chunk)
      assert.ok(chunk)
      return { chunk, receivedAt: record.receivedAt, after: record.after }
    })
    const outcomes = probeOutcomes(read)
    assert.deepEqual(
      outcomes.map(({ result }) => result),
      expected,
    )
    // The receipt before the first chunk has a probe, and so has every receipt after an answer but the last.
    const asked = read.flatMap(({ after }, index) => (after.probe === null ? [] : [index]))
    const answeredAt = read.flatMap(({ chunk }, index) =>
      chunk.events.some(({ type }) => type === 'point') ? [index + 1] : [],
    )
    assert.equal(asked[0], 0)
    for (const next of answeredAt.slice(0, -1)) assert.ok(asked.includes(next), `${asked.join()} ${next}`)
  }
})

test('a page that asks for words gets words from the first receipt on', async () => {
  const recorder = await openRecorder({ send: harness.call, site: agentId, words: true })
  assert.equal(recorder.created.json.receipt.probe.kind, 'choose')
  const ended = await answerProbes({ harness, recorder })
  assert.deepEqual(ended.progress, { done: 2, of: 2, hits: 2 })
})

test('word probes come only on request, and the open probe is then withdrawn', async () => {
  const recorder = await open()
  const kinds: string[] = []
  let asked = false
  for (let step = 0; step < 60; step++) {
    const { receipt, clock } = recorder.now()
    if (receipt.progress.done === receipt.progress.of) break
    const truth = await readProbeAnswer(harness.owner, recorder.sessionId)
    if (truth) kinds.push(truth.kind)
    await harness.advance(receipt.nextMs)
    const seen = step === 0 ? [['f', 0, 1, 1, 100]] : []
    const acts =
      truth?.kind === 'choose' ? probeAnswerEvents(truth, true) : truth && !asked ? [['x', 40]] : []
    const events = [...seen, ...acts]
    asked ||= truth !== undefined
    const next = await recorder.chunk({ t1: clock + receipt.nextMs, events })
    if (next.probe?.kind === 'choose') {
      assert.equal(next.probe.windowMs, 6_000)
      assert.equal(new Set(next.probe.choices).size, 4)
      assert.ok(next.probe.choices.some((word) => (next.probe as { say: string }).say.includes(word)))
    }
  }
  assert.deepEqual(kinds, ['point', 'choose', 'choose'])
  assert.deepEqual(recorder.now().receipt.progress, { done: 2, of: 2, hits: 2 })
})

test('the right answer of a probe is in no response, log line, event or row but its own', async () => {
  const recorder = await open()
  const texts: string[] = [recorder.created.text]
  const seeds: string[] = []
  for (let step = 0; step < 60 && recorder.now().receipt.progress.done < 2; step++) {
    const { receipt, clock } = recorder.now()
    const { rows } = await harness.owner.query<{ seed: string | null }>(
      "select state #>> '{given,probe,seed}' as seed from session_recorders where session_id = $1",
      [recorder.sessionId],
    )
    if (rows[0]?.seed) seeds.push(rows[0].seed)
    const truth = await readProbeAnswer(harness.owner, recorder.sessionId)
    await harness.advance(receipt.nextMs)
    const made = await recorder.make({
      t1: clock + receipt.nextMs,
      events: [
        ...(step === 0 ? [['f', 0, 1, 1, 100]] : []),
        ...(truth ? probeAnswerEvents(truth, true) : []),
      ],
    })
    const { probe } = receipt
    const answer = await recorder.post(made)
    texts.push(answer.text)
    recorder.take(made, answer)
    if (!probe) continue
    // These fields and these PNG chunks, and nothing else.
    assert.deepEqual(Object.keys(probe).toSorted(), ['height', 'id', 'image', 'kind', 'width', 'windowMs'])
    assert.ok(probe.kind === 'point' && probe.image.length < 12_288, 'a probe is small')
    assert.deepEqual(partsOf(probe.image), ['IHDR', 'PLTE', 'IDAT', 'IEND'])
  }
  assert.equal(seeds.length, 2)
  const ended = await recorder.finish()
  texts.push(ended.text)
  await harness.runJobs()
  const { rows: published } = await harness.owner.query(
    'select data::text as text from events union all select payload::text from outbox',
  )
  const { rows: stored } = await harness.owner.query(
    "select encode(ciphertext, 'escape') as text from session_chunks where session_id = $1",
    [recorder.sessionId],
  )
  const everything = [...texts, ...harness.lines, ...published.map(({ text }) => text as string)].join('\n')
  for (const seed of seeds) {
    assert.ok(!everything.includes(seed), 'a seed leaked')
    for (const { text } of stored) assert.ok(!(text as string).includes(seed))
  }
  assert.ok(!/"radius"|"choice"|"fromMs"/.test(everything), 'a truth leaked')
  // The same search finds a planted answer.
  assert.ok(/"radius"/.test(JSON.stringify(expectedAnswerOf({ kind: 'point', seed: seeds[0] ?? '' }))))
})

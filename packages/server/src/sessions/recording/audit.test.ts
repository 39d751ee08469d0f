import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkChunks, openChunk, type SealedChunk, type TelemetryReason } from '@pohf/verify'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { openRecorder } from '../../../test/fixtures/people/recorder.ts'
import { sha256, thumbprintOf } from './chain.ts'
import { leafOf, recordKey, sealRecord } from './records.ts'
import { proofOf, rootOf } from './tree.ts'

const harness = await startHarness()
const { apiKey, agentId } = await harness.register('test')

const recordSession = async (chunks: number) => {
  const recorder = await openRecorder({
    send: harness.call,
    site: agentId,
    kind: 'work',
    workflowId: 'wf_1',
    challenge: 'shop 7',
  })
  for (let n = 1; n < chunks; n++) await recorder.chunk({ events: [['s', 0, n]] })
  await recorder.finish()
  const path = `/api/agents/sessions/${recorder.sessionId}/chunks?limit=100`
  const { json } = await harness.call('GET', path, { key: apiKey })
  const { sessionId, telemetry, opening } = json
  return {
    sessionId: sessionId as string,
    telemetry,
    opening,
    chunks: json.chunks as SealedChunk[],
    jkt: thumbprintOf(recorder.key.jwk),
  }
}
type AuditInput = Awaited<ReturnType<typeof recordSession>>

test('an auditor decrypts one chunk and verifies that it is the committed one', async () => {
  for (const n of [1, 2, 3, 7, 8]) {
    const { telemetry, chunks } = await recordSession(n)
    assert.equal(chunks.length, n)
    for (const chunk of chunks) {
      const opened = await openChunk(telemetry, chunk)
      assert.ok(opened.ok, JSON.stringify(opened))
      assert.equal(JSON.parse(opened.record.chunk).seq, chunk.seq)
    }
  }
})

test('all chunks are verified with chain, signatures and end; a prefix as far as it goes', async () => {
  const all = await recordSession(5)
  const checked = await checkChunks(all)
  assert.ok(checked.ok && checked.complete && checked.records.length === 5, JSON.stringify(checked))
  const some = await checkChunks({ ...all, chunks: all.chunks.slice(0, 3) })
  assert.ok(some.ok && !some.complete && some.records.length === 3)
})

const flip = (text: string, at: number): string =>
  `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`
const replaceChunk = (all: AuditInput, index: number, change: Partial<SealedChunk>): AuditInput => ({
  ...all,
  chunks: all.chunks.map((chunk, at) => (at === index ? { ...chunk, ...change } : chunk)),
})
const at = (all: AuditInput, index: number): SealedChunk => {
  const chunk = all.chunks[index]
  assert.ok(chunk)
  return chunk
}

const tamperings: readonly [string, TelemetryReason, (all: AuditInput, other: AuditInput) => AuditInput][] = [
  [
    'a byte of a record is changed',
    'not_included',
    (all) => replaceChunk(all, 2, { ciphertext: flip(at(all, 2).ciphertext, 40) }),
  ],
  ['the key of another record', 'cannot_decrypt', (all) => replaceChunk(all, 2, { key: at(all, 1).key })],
  [
    'a proof without its end',
    'not_included',
    (all) => replaceChunk(all, 2, { proof: at(all, 2).proof.slice(1) }),
  ],
  ['two chunks change places', 'not_included', (all) => replaceChunk(all, 2, { ...at(all, 1), seq: 3 })],
  ['a chunk of another session', 'not_included', (all, other) => replaceChunk(all, 2, at(other, 2))],
  ['a chunk is left out', 'out_of_order', (all) => ({ ...all, chunks: all.chunks.toSpliced(2, 1) })],
  ['the first is left out', 'out_of_order', (all) => ({ ...all, chunks: all.chunks.slice(1) })],
  ['another session id', 'broken_chain', (all, other) => ({ ...all, sessionId: other.sessionId })],
  [
    'another challenge',
    'broken_chain',
    (all) => ({ ...all, opening: { ...all.opening, challenge: 'shop 8' } }),
  ],
  [
    'another workflow',
    'broken_chain',
    (all) => ({ ...all, opening: { ...all.opening, workflowId: 'wf_2' } }),
  ],
  [
    'another nonce',
    'broken_chain',
    (all, other) => ({ ...all, opening: { ...all.opening, nonce: other.opening.nonce } }),
  ],
  [
    'another key',
    'wrong_key',
    (all, other) => ({ ...all, opening: { ...all.opening, key: other.opening.key } }),
  ],
  [
    'another last link',
    'wrong_end',
    (all, other) => ({ ...all, telemetry: { ...all.telemetry, link: other.telemetry.link } }),
  ],
  [
    'another root',
    'not_included',
    (all, other) => ({ ...all, telemetry: { ...all.telemetry, root: other.telemetry.root } }),
  ],
  ['fewer chunks than were', 'not_included', (all) => ({ ...all, telemetry: { ...all.telemetry, n: 4 } })],
  ['another alg', 'unknown_alg', (all) => ({ ...all, telemetry: { ...all.telemetry, alg: 'md5' } })],
  ['no base64url', 'malformed', (all) => replaceChunk(all, 0, { key: '!' })],
  ['number 0', 'out_of_order', (all) => replaceChunk(all, 0, { seq: 0 })],
]
test('every tampering is found by the auditor, each with its reason', async () => {
  const [all, other] = [await recordSession(5), await recordSession(5)]
  for (const [name, reason, lie] of tamperings) {
    const checked = await checkChunks(lie(all, other))
    assert.ok(!checked.ok, `${name}: believed`)
    assert.equal(checked.reason, reason, name)
  }
  // Without the key that the credential names, the other key is still not the one that signed.
  const { jkt: _, ...without } = all
  const swapped = await checkChunks({ ...without, opening: { ...all.opening, key: other.opening.key } })
  assert.ok(!swapped.ok && swapped.reason === 'broken_chain')
})

test('proofs are valid for trees of every small size, and for no other leaf', async () => {
  const recording = await recordSession(1)
  const [only] = recording.chunks
  assert.ok(only)
  const ciphertext = Buffer.from(only.ciphertext, 'base64url')
  for (let n = 1; n <= 20; n++) {
    // The record says that it is number 1: it was moved from another recording.
    const leaves = [leafOf(ciphertext), ...Array.from({ length: n - 1 }, (_, index) => sha256(String(index)))]
    const claim = { ...recording.telemetry, n, root: rootOf(leaves).toString('base64url') }
    const proof = proofOf(leaves, 0).map((hash) => hash.toString('base64url'))
    const opened = await openChunk(claim, { ...only, proof })
    assert.ok(opened.ok, `${n}`)
    for (let seq = 2; seq <= n; seq++) {
      const elsewhere = await openChunk(claim, { ...only, seq, proof })
      assert.ok(!elsewhere.ok && elsewhere.reason === 'not_included', `${n} ${seq}`)
      const strange = proofOf(leaves, seq - 1).map((hash) => hash.toString('base64url'))
      const stranger = await openChunk(claim, { ...only, seq, proof: strange })
      assert.ok(!stranger.ok && stranger.reason === 'not_included', `${n} ${seq}`)
    }
  }
})

/** A recording of one chunk with a correct commitment, whatever the chunk says. */
const openCarelessServer = async (over: Record<string, unknown>) => {
  const recorder = await openRecorder({ send: harness.call, site: agentId })
  const made = await recorder.makeLast({ t1: 100, overrides: over })
  const { receipt } = recorder.now()
  const ciphertext = sealRecord(recordKey(Buffer.alloc(32), recorder.sessionId, 1), {
    v: 1,
    seq: 1,
    chunk: made.chunk,
    signature: made.signature,
    receivedAt: receipt.at + 100,
    after: { at: receipt.at, token: receipt.token, probe: null },
  })
  const key = recordKey(Buffer.alloc(32), recorder.sessionId, 1).toString('base64url')
  return checkChunks({
    sessionId: recorder.sessionId,
    telemetry: {
      alg: 'sha256-chain-v1',
      link: made.link.toString('base64url'),
      root: leafOf(ciphertext).toString('base64url'),
      n: 1,
    },
    opening: {
      nonce: recorder.nonce,
      key: recorder.key.jwk,
      site: agentId,
      kind: 'view',
      workflowId: null,
      challenge: null,
    },
    chunks: [{ seq: 1, ciphertext: ciphertext.toString('base64url'), key, proof: [] }],
  })
}

const reasonOf = async (over: Record<string, unknown>) => {
  const checked = await openCarelessServer(over)
  return checked.ok ? 'believed' : checked.reason
}

test('a server that accepted an invalid chunk is found by its own records', async () => {
  assert.equal(await reasonOf({}), 'believed')
  assert.equal(await reasonOf({ receipt: 'A'.repeat(22) }), 'wrong_receipt')
  assert.equal(await reasonOf({ t0: 50 }), 'wrong_clock')
  assert.equal(await reasonOf({ last: { n: 2, ms: 100 } }), 'wrong_end')
  assert.equal(await reasonOf({ last: { n: 1, ms: 900 } }), 'wrong_end')
  assert.equal(await reasonOf({ last: undefined }), 'wrong_end')
})

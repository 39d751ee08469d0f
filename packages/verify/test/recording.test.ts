import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readRecording } from '../src/index.ts'

const page = (from: number, count: number) => ({
  sessionId: 'ses_1',
  telemetry: { alg: 'sha256-chain-v1', link: 'l', root: 'r', n: 5 },
  opening: {
    nonce: 'n',
    key: { kty: 'EC', crv: 'P-256', x: 'x', y: 'y' },
    site: 'agt_1',
    kind: 'view',
    workflowId: null,
    challenge: null,
  },
  chunks: Array.from({ length: count }, (_, index) => ({
    seq: from + index,
    ciphertext: 'c',
    key: 'k',
    proof: ['p'],
  })),
  nextFrom: null,
})

test('one page, or several in order, are one recording', () => {
  assert.equal(readRecording(page(1, 5))?.chunks.length, 5)
  assert.deepEqual(
    readRecording([page(1, 3), page(4, 2)])?.chunks.map(({ seq }) => seq),
    [1, 2, 3, 4, 5],
  )
})

test('a file that is no recording, or pages of two sessions, are not read', () => {
  const good = page(1, 1)
  for (const bad of [
    undefined,
    null,
    [],
    'x',
    {},
    { ...good, chunks: 'x' },
    { ...good, chunks: [{ seq: 1 }] },
    { ...good, chunks: [{ ...good.chunks[0], proof: [1] }] },
    { ...good, opening: { ...good.opening, key: null } },
    { ...good, telemetry: { ...good.telemetry, n: '5' } },
    [good, { ...page(2, 1), sessionId: 'ses_2' }],
    [good, null],
  ])
    assert.equal(readRecording(bad), undefined, JSON.stringify(bad))
})

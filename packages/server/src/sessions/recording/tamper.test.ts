import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inTransaction } from '../../platform/db/db.ts'
import { startHarness, type TestResponse } from '../../../test/fixtures/harness.ts'
import {
  browserEnvironment,
  makeSessionKey,
  openRecorder,
  type SignedChunk,
  type Recorder,
} from '../../../test/fixtures/people/recorder.ts'
import { makeChunkVerifier, packKey, signedRules, type ChunkRule, type ChunkContext } from './chain.ts'
import { readRecords } from '../index.ts'

const harness = await startHarness()
const { apiKey, agentId } = await harness.register('test')
const key = await makeSessionKey()
const open = () => openRecorder({ send: harness.call, site: agentId, key })

/** A session with two honest chunks. */
const openWithFirstChunk = async (): Promise<Recorder> => {
  const recorder = await open()
  await recorder.chunk({ t1: 100, events: [['s', 5, 10]] })
  await recorder.chunk({ t1: 200, events: [['s', 5, 20]] })
  return recorder
}

const ruleOf = (answer: TestResponse): string => {
  assert.equal(answer.status, 409, answer.text)
  assert.equal(answer.json.error, 'telemetry_refused')
  assert.equal(answer.json.details.length, 1)
  return String(answer.json.details[0].code)
}

const flagsOf = async (sessionId: string) => {
  const opened = await inTransaction(harness.ctx, agentId, (tx) =>
    readRecords(tx, harness.ctx, { agentId, mode: 'test', sessionId }),
  )
  assert.ok(opened)
  return opened.flags
}

/** Signed like `make` does it, but with the text as it is given. */
const resignChunk = async (
  recorder: Recorder,
  made: SignedChunk,
  chunk: string,
  by = key,
): Promise<SignedChunk> => ({
  ...made,
  chunk,
  ...(await recorder.sign(chunk, made.seq, recorder.now().link, by)),
})

type Case = {
  readonly name: string
  readonly rule: ChunkRule
  /** What the session is flagged with when it is finished honestly afterwards; none where the key holder did not do it. */
  readonly flags: readonly string[]
  readonly attack: (recorder: Recorder) => Promise<TestResponse>
}

const cases: readonly Case[] = [
  {
    name: 'edit: one byte of a signed chunk is changed',
    rule: 'signature',
    flags: [],
    attack: async (recorder) => {
      const made = await recorder.make({ t1: 300, events: [['s', 5, 30]] })
      return recorder.post({ ...made, chunk: made.chunk.replace('["s",5,30]', '["s",5,31]') })
    },
  },
  {
    name: 'edit: a blank is put in where JSON allows it',
    rule: 'signature',
    flags: [],
    attack: async (recorder) => {
      const made = await recorder.make({ t1: 300 })
      return recorder.post({ ...made, chunk: `${made.chunk} ` })
    },
  },
  {
    name: 'drop: the third chunk is left out',
    rule: 'sequence',
    flags: [],
    attack: async (recorder) => {
      const { seq, link, receipt } = recorder.now()
      const third = await recorder.make({ t1: 300 })
      const chunk = JSON.stringify({ v: 1, seq: seq + 2, receipt: receipt.token, t0: 300, t1: 400, ev: [] })
      assert.notEqual(third.link, link)
      return recorder.post({ chunk, ...(await recorder.sign(chunk, seq + 2, third.link)) })
    },
  },
  {
    name: 'drop: the fourth takes the number of the third, chained to it',
    rule: 'signature',
    flags: [],
    attack: async (recorder) => {
      const third = await recorder.make({ t1: 300, events: [['s', 5, 30]] })
      const { seq, receipt } = recorder.now()
      const chunk = JSON.stringify({ v: 1, seq: seq + 1, receipt: receipt.token, t0: 200, t1: 400, ev: [] })
      return recorder.post({ chunk, ...(await recorder.sign(chunk, seq + 1, third.link)) })
    },
  },
  {
    name: 'swap: the text says third, the signature is over the fourth',
    rule: 'signature',
    flags: [],
    attack: async (recorder) => {
      const made = await recorder.make({ t1: 300 })
      return recorder.post({
        chunk: made.chunk,
        ...(await recorder.sign(made.chunk, made.seq + 1, recorder.now().link)),
      })
    },
  },
  {
    name: 'replay: the first chunk again',
    rule: 'sequence',
    flags: [],
    attack: async (recorder) => {
      const fresh = await open()
      const first = await fresh.make({ t1: 100 })
      fresh.take(first, await fresh.post(first))
      await fresh.chunk({ t1: 200 })
      assert.equal(ruleOf(await fresh.post(first)), 'sequence')
      const chunk = first.chunk.replace(/"receipt":"[^"]+"/, `"receipt":"${recorder.now().receipt.token}"`)
      return recorder.post({ chunk, ...(await recorder.sign(chunk, 1, recorder.now().link)) })
    },
  },
  {
    name: 'splice: the third chunk of another session of the same key',
    rule: 'signature',
    flags: [],
    attack: async (recorder) => {
      const elsewhere = await openWithFirstChunk()
      const made = await elsewhere.make({ t1: 300 })
      assert.equal((await elsewhere.post(made)).status, 200)
      return recorder.post(made)
    },
  },
  {
    name: 'splice: its receipt put right, still chained to the other session',
    rule: 'signature',
    flags: [],
    attack: async (recorder) => {
      const elsewhere = await openWithFirstChunk()
      const made = await elsewhere.make({ t1: 300, overrides: { receipt: recorder.now().receipt.token } })
      return recorder.post(made)
    },
  },
  {
    name: 'pre-compute: made before the receipt was known',
    rule: 'receipt',
    flags: ['chain_broken'],
    attack: async (recorder) =>
      recorder.post(await recorder.make({ t1: 300, overrides: { receipt: 'A'.repeat(22) } })),
  },
  {
    name: 'pre-compute: names the receipt before the last',
    rule: 'receipt',
    flags: ['chain_broken'],
    attack: async (recorder) =>
      recorder.post(
        await recorder.make({
          t1: 300,
          overrides: { receipt: recorder.created.json.receipt.token as string },
        }),
      ),
  },
  {
    name: 'clock: a minute passes in the page while a moment passes here',
    rule: 'clock',
    flags: ['clock_skew'],
    attack: async (recorder) => recorder.post(await recorder.make({ t1: 60_000 })),
  },
  {
    name: 'clock: a second is left out between two chunks',
    rule: 'clock',
    flags: ['clock_skew'],
    attack: async (recorder) => recorder.post(await recorder.make({ t1: 1_300, overrides: { t0: 1_200 } })),
  },
  {
    name: 'clock: time runs back',
    rule: 'clock',
    flags: ['clock_skew'],
    attack: async (recorder) => recorder.post(await recorder.make({ t1: 190, overrides: { t0: 150 } })),
  },
  {
    name: 'key swap: another key signs',
    rule: 'signature',
    flags: [],
    attack: async (recorder) => {
      const made = await recorder.make({ t1: 300 })
      return recorder.post(await resignChunk(recorder, made, made.chunk, await makeSessionKey()))
    },
  },
  {
    name: 'fork: a second chunk of the number that was taken',
    rule: 'fork',
    flags: ['chain_broken'],
    attack: async (recorder) => {
      const one = await recorder.make({ t1: 300, events: [['s', 5, 30]] })
      const two = await recorder.make({ t1: 300, events: [['s', 5, 31]] })
      recorder.take(one, await recorder.post(one))
      return recorder.post(two)
    },
  },
  {
    name: 'fork: the same by a stranger changes nothing',
    rule: 'signature',
    flags: [],
    attack: async (recorder) => {
      const one = await recorder.make({ t1: 300, events: [['s', 5, 30]] })
      const two = await resignChunk(recorder, one, one.chunk.replace('30]', '31]'), await makeSessionKey())
      recorder.take(one, await recorder.post(one))
      return recorder.post(two)
    },
  },
  {
    name: 'wrong end: fewer chunks than came',
    rule: 'end',
    flags: ['chain_broken'],
    attack: async (recorder) =>
      recorder.post(await recorder.makeLast({ t1: 300, overrides: { last: { n: 2, ms: 300 } } }), 'finish'),
  },
  {
    name: 'wrong end: a longer time than passed',
    rule: 'end',
    flags: ['chain_broken'],
    attack: async (recorder) =>
      recorder.post(
        await recorder.makeLast({ t1: 300, overrides: { last: { n: 3, ms: 90_000 } } }),
        'finish',
      ),
  },
  {
    name: 'wrong end: finish without an end',
    rule: 'end',
    flags: ['chain_broken'],
    attack: async (recorder) => recorder.post(await recorder.make({ t1: 300 }), 'finish'),
  },
  {
    name: 'wrong end: an end handed in as a chunk like others',
    rule: 'end',
    flags: ['chain_broken'],
    attack: async (recorder) => recorder.post(await recorder.makeLast({ t1: 300 })),
  },
  {
    name: 'shape: an event that v1 does not know',
    rule: 'shape',
    flags: [],
    attack: async (recorder) => recorder.post(await recorder.make({ t1: 300, events: [['key', 5, 'a']] })),
  },
  {
    name: 'shape: what the page says of itself, a second time',
    rule: 'shape',
    flags: [],
    attack: async (recorder) =>
      recorder.post(
        await recorder.make({
          t1: 300,
          overrides: { env: browserEnvironment },
        }),
      ),
  },
  {
    name: 'shape: no JSON at all',
    rule: 'shape',
    flags: [],
    attack: async (recorder) => recorder.post({ chunk: 'garbage', signature: 'A'.repeat(86) }),
  },
  {
    name: 'limit: more bytes than characters',
    rule: 'limit',
    flags: [],
    attack: async (recorder) =>
      recorder.post(await recorder.make({ t1: 300, overrides: { pad: 'é'.repeat(40_000) } })),
  },
]

for (const { name, rule, flags, attack } of cases)
  test(`${name}: refused by ${rule}, and ${flags.length > 0 ? 'remembered' : 'nothing is changed'}`, async () => {
    const recorder = await openWithFirstChunk()
    const before = recorder.now()
    assert.equal(ruleOf(await attack(recorder)), rule)
    // After a refusal the honest page continues unaffected.
    const ended = await recorder.finish()
    assert.equal(ended.status, 200, ended.text)
    assert.ok(recorder.now().seq > before.seq)
    assert.deepEqual(await flagsOf(recorder.sessionId), flags)
  })

test('truncate: a session without its last chunk expires and cannot be verified', async () => {
  const recorder = await openWithFirstChunk()
  await harness.advance(15 * 60_000)
  // Also before the worker has run.
  const late = await recorder.post(await recorder.makeLast())
  assert.equal(late.json.error, 'session_expired')
  await harness.runJobs()
  const read = await harness.call('GET', `/api/agents/sessions/${recorder.sessionId}`, { key: apiKey })
  assert.equal(read.json.status, 'expired')
  assert.equal(read.json.telemetry, null)
  const body = { sessionId: recorder.sessionId }
  const verified = await harness.call('POST', '/api/agents/verify', { key: apiKey, body })
  assert.equal(verified.json.error, 'session_expired')
  assert.equal((await recorder.finish()).json.error, 'session_expired')
})

test('a finished session accepts nothing; the same last chunk gets the same response', async () => {
  const recorder = await openWithFirstChunk()
  const last = await recorder.makeLast({ t1: 300 })
  const first = await recorder.post(last, 'finish')
  assert.equal(first.status, 200, first.text)
  const again = await recorder.post(last, 'finish')
  assert.deepEqual(again.json, first.json)
  assert.equal(ruleOf(await recorder.post(last)), 'ended')
  recorder.take(last, first)
  assert.equal(ruleOf(await recorder.post(await recorder.make())), 'ended')
  assert.equal(ruleOf(await recorder.post(await recorder.makeLast(), 'finish')), 'ended')
  assert.deepEqual(await flagsOf(recorder.sessionId), [])
})

test('a session has a byte limit, and a chunk beyond it is refused', async () => {
  const recorder = await openWithFirstChunk()
  await harness.owner.query(
    "update session_recorders set state = jsonb_set(state, '{chain,bytes}', '4194300') where session_id = $1",
    [recorder.sessionId],
  )
  assert.equal(ruleOf(await recorder.post(await recorder.make({ t1: 300 }))), 'limit')
})

test('planted: without a rule, the chunk that it refuses would be accepted', async () => {
  const recorder = await open()
  const situation: ChunkContext = {
    chain: {
      seq: 0,
      link: recorder.now().link.toString('base64url'),
      previousLink: '',
      chunkHash: '',
      t1: 0,
      bytes: 0,
    },
    token: recorder.now().receipt.token,
    publicKey: packKey(key.jwk),
    startedAt: 1_000,
    now: 2_000,
    isClosed: false,
    isEnd: false,
  }
  const bad: readonly [ChunkRule, SignedChunk][] = [
    ['receipt', await recorder.make({ overrides: { receipt: 'B'.repeat(22) } })],
    ['clock', await recorder.make({ t1: 3_101 })],
    ['end', await recorder.makeLast()],
  ]
  for (const [rule, made] of bad) {
    assert.deepEqual(makeChunkVerifier(signedRules)(made, situation), { type: 'refused', rule, signed: true })
    const careless = makeChunkVerifier(signedRules.filter(([name]) => name !== rule))
    assert.equal(
      careless(made, situation).type,
      'accepted',
      `${rule} is checked elsewhere too: this test is blind`,
    )
  }
  // Two seconds and a tenth ahead are allowed, and not a millisecond more.
  assert.equal(makeChunkVerifier(signedRules)(await recorder.make({ t1: 3_100 }), situation).type, 'accepted')
})

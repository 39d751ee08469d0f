import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buildContext } from '../../wiring/index.ts'
import { connectSigner, type Signer } from '../../signing/index.ts'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { makeStatusIndexes } from './indexes.ts'
import { packStatuses, shuffledRange } from './rules.ts'

const harness = await startHarness()
const { ctx, owner } = harness
const signer = connectSigner(ctx)
const small = { entries: 64, blockSize: 8 }

const blockOf = ({ listId, idx }: { listId: string; idx: number }) => `${listId} ${idx >> 3}`

/** Simulates another process: its own pool, its own memory. */
const makeProcess = (name: string) =>
  buildContext({ config: ctx.config, log: ctx.log, clock: ctx.clock, name })

test('4 concurrent processes never assign an index twice, and open the next list when one is full', async () => {
  const processes = ['one', 'two', 'three', 'four'].map(makeProcess)
  try {
    const indexes = processes.map((process) => makeStatusIndexes(process, signer, small))
    const places = await Promise.all(
      indexes.flatMap((own) => Array.from({ length: 100 }, () => own.next('live'))),
    )
    assert.equal(new Set(places.map(({ listId, idx }) => `${listId} ${idx}`)).size, 400)
    assert.ok(places.every(({ idx }) => idx >= 0 && idx < 64))
    // 4 processes take 13 blocks each: 52 of 8, so 7 lists, the last with 4 blocks left.
    const { rows } = await owner.query(
      "select count(distinct list_id)::int as lists, count(*) filter (where taken_at is not null)::int as taken from status_blocks where list_id like '%-live-%'",
    )
    assert.deepEqual(rows[0], { lists: 7, taken: 52 })
    for (const listId of new Set(places.map((place) => place.listId)))
      assert.equal((await harness.call('GET', `/status/${listId}`)).status, 200)
  } finally {
    for (const process of processes) await process.db.end()
  }
})

test('a restarted process continues with a new block', async () => {
  const first = makeStatusIndexes(ctx, signer, small)
  const before = await Promise.all(Array.from({ length: 3 }, () => first.next('test')))
  const second = makeStatusIndexes(ctx, signer, small)
  const after = await Promise.all(Array.from({ length: 8 }, () => second.next('test')))
  assert.equal(new Set(before.map(blockOf)).size, 1)
  assert.equal(new Set(after.map(blockOf)).size, 1)
  assert.notEqual(blockOf(before[0] ?? assert.fail()), blockOf(after[0] ?? assert.fail()))
})

/** The blocks of test lists that some process has claimed. */
const countClaimed = async (): Promise<number> => {
  const text =
    "select count(*)::int as n from status_blocks where taken_at is not null and list_id like '%-test-%'"
  return Number((await owner.query<{ n: number }>(text)).rows[0]?.n)
}

test('a block that was being claimed while a restore dropped all blocks is not used', async () => {
  const takenBefore = await countClaimed()
  const indexes = makeStatusIndexes(ctx, signer, small)
  const pending = indexes.next('test')
  indexes.drop()
  const first = await pending
  assert.equal(blockOf(first), blockOf(await indexes.next('test')))
  assert.equal(await countClaimed(), takenBefore + 2, 'the first block is left unused')
})

test('live and test never share a list', async () => {
  const indexes = makeStatusIndexes(ctx, signer, small)
  assert.match((await indexes.next('live')).uri, /\/status\/[a-z0-9]{2}-live-\d+$/)
  assert.match((await indexes.next('test')).uri, /\/status\/[a-z0-9]{2}-test-\d+$/)
})

test('a list whose first signature failed is finished by the next call, and none of its indexes was assigned before', async () => {
  await owner.query(
    "update status_blocks set taken_at = now() where list_id like '%-test-%' and taken_at is null",
  )
  const broken: Signer = {
    ...signer,
    signTyped: async () => {
      throw new Error('no key')
    },
  }
  const indexes = makeStatusIndexes(ctx, broken, small)
  await assert.rejects(indexes.next('test'), /no key/)
  await assert.rejects(indexes.next('test'), /no key/)
  const unbuilt = await owner.query('select list_id from status_lists where jwt is null')
  assert.equal(unbuilt.rowCount, 1)
  const [listId] = unbuilt.rows.map((row) => String(row.list_id))
  assert.equal((await harness.call('GET', `/status/${listId}`)).status, 404)
  assert.equal((await makeStatusIndexes(ctx, signer, small).next('test')).listId, listId)
  assert.equal((await harness.call('GET', `/status/${listId}`)).status, 200)
})

test('1,024 credentials cost one transaction for their indexes', async () => {
  const indexes = makeStatusIndexes(ctx, signer, { entries: 4_096, blockSize: 1_024 })
  await owner.query(
    "update status_blocks set taken_at = now() where list_id like '%-live-%' and taken_at is null",
  )
  await indexes.next('live')
  const before = ctx.db.statements()
  for (let n = 1; n < 1_024; n++) await indexes.next('live')
  assert.equal(ctx.db.statements(), before)
  await indexes.next('live')
  // begin, lock, take, commit.
  assert.equal(ctx.db.statements() - before, 4)
})

test('all indexes of a block are assigned, in random order', () => {
  let state = 1
  const fraction = () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647
  const order = shuffledRange(2_048, 1_024, fraction)
  const sorted = Array.from({ length: 1_024 }, (_, n) => 2_048 + n)
  assert.deepEqual(
    order.toSorted((a, b) => a - b),
    sorted,
  )
  assert.notDeepEqual(order, sorted)
})

test('two bits for each index, the lowest first', () => {
  const words = Buffer.alloc(12)
  // Index 0 revoked, index 3 suspended, index 5 revoked.
  for (const [n, [idx, value]] of (
    [
      [0, 1],
      [3, 2],
      [5, 1],
    ] as const
  ).entries())
    words.writeUInt32BE(idx * 4 + value, n * 4)
  assert.deepEqual(packStatuses(8, words), Buffer.from([0b10_00_00_01, 0b00_00_01_00]))
})

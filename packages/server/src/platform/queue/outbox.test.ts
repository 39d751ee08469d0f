import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { buildContext } from '../../wiring/index.ts'
import { inTransaction } from '../db/db.ts'
import { drainOutbox, enqueue, publish, type OutboxHandler, type OutboxRow } from './outbox.ts'

const harness = await startHarness()
const { agentId } = await harness.register('test')
/** A second worker: a process of its own would have its own connections, and so has this. */
const other = buildContext({
  config: harness.ctx.config,
  log: harness.ctx.log,
  name: 'pohf-test-2',
  clock: harness.ctx.clock,
})
const drain = (handler: OutboxHandler, ctx = harness.ctx) => drainOutbox(ctx, 'mail', handler)

const add = (count: number) =>
  inTransaction(harness.ctx, 'system', async (tx) => {
    for (let n = 0; n < count; n++) await enqueue(tx, { agentId, topic: 'mail', payload: { n } })
  })
const rowsLeft = async () => {
  const { rows } = await harness.owner.query(
    "select attempts, last_error, extract(epoch from due_at)::float as due, extract(epoch from due_at - pohf_now())::float as wait from outbox where topic = 'mail'",
  )
  return rows as { attempts: number; last_error: string | null; due: number; wait: number }[]
}
const databaseNow = async (): Promise<number> =>
  (await harness.owner.query('select extract(epoch from pohf_now())::float as now')).rows[0].now
const clear = () => harness.owner.query('delete from outbox')
const failing: OutboxHandler = {
  beforeTransaction: async () => {
    throw new Error('the server is away')
  },
}
await clear()

test('a row is done once and gone', async () => {
  await add(3)
  const done: unknown[] = []
  const processed = await drain({ beforeTransaction: async (row) => void done.push(row.payload) })
  assert.equal(processed, 3)
  assert.equal(done.length, 3)
  assert.deepEqual(await rowsLeft(), [])
  assert.equal(await drain({ beforeTransaction: async () => assert.fail() }), 0)
})

test('a row that fails is tried again, after a wait that grows up to half an hour, and never lost', async () => {
  await add(1)
  for (const [index, wait] of [5, 25, 125, 625, 1_800, 1_800, 1_800, 1_800].entries()) {
    const before = await databaseNow()
    assert.equal(await drain(failing), 1)
    const after = await databaseNow()
    const [row] = await rowsLeft()
    assert.equal(row?.attempts, index + 1)
    assert.equal(row.last_error, 'the server is away')
    // The wait begins at a moment of the attempt, which takes a second or more on a busy machine.
    const beganAt = row.due - wait
    assert.ok(beganAt >= before && beganAt <= after, `waits until ${row.due}, tried ${before} to ${after}`)
    assert.equal(await drain({ beforeTransaction: async () => assert.fail('too early') }), 0)
    await harness.advance(row.wait * 1_000 + 100)
  }
  assert.equal(await drain({}), 1)
  assert.deepEqual(await rowsLeft(), [])
})

test('one row that fails holds up no other', async () => {
  await add(5)
  const done: unknown[] = []
  await drain({
    beforeTransaction: async (row) => {
      if ((row.payload as { n: number }).n === 2) throw new Error('only this one')
      done.push(row.payload)
    },
  })
  assert.equal(done.length, 4)
  assert.equal((await rowsLeft()).length, 1)
  await clear()
})

test('as many rows are handled at a time as the handler says, and few more are claimed', async () => {
  await add(20)
  let [now, most] = [0, 0]
  const full = Promise.withResolvers<void>()
  const handler: OutboxHandler = {
    concurrency: 3,
    beforeTransaction: async () => {
      now += 1
      most = Math.max(most, now)
      if (now === 3) full.resolve()
      await full.promise
      now -= 1
    },
  }
  assert.equal(await drain(handler), 12)
  assert.equal(most, 3)
  assert.equal((await rowsLeft()).length, 8)
  await clear()
})

const insert: NonNullable<OutboxHandler['withinTransaction']> = async (tx) => {
  await tx.insertInto('platform_partitioned').values({ table_name: 'within', keep_months: 1 }).execute()
}

test('what a row does within its transaction happens with its removal, or not at all', async () => {
  await add(1)
  const rowCount = async () =>
    (await harness.owner.query("select from platform_partitioned where table_name = 'within'")).rowCount
  await harness.owner.query('grant insert on platform_partitioned to pohf_app')
  await drain({
    withinTransaction: async (tx, row) => {
      await insert(tx, row)
      throw new Error('after the insert')
    },
  })
  assert.equal(await rowCount(), 0)
  assert.equal((await rowsLeft()).length, 1)
  await harness.advance(6_000)
  await drain({ withinTransaction: insert })
  assert.equal(await rowCount(), 1)
  assert.deepEqual(await rowsLeft(), [])
  await harness.owner.query("delete from platform_partitioned where table_name = 'within'")
})

test('work that was queued in a transaction that fails is never done', async () => {
  await assert.rejects(
    inTransaction(harness.ctx, 'system', async (tx) => {
      await enqueue(tx, { agentId, topic: 'mail', payload: {} })
      await publish(tx, {
        agentId,
        mode: 'test',
        type: 'agent.registered',
        subject: agentId,
        data: { agentId },
      })
      throw new Error('rolled back')
    }),
    /rolled back/,
  )
  const { rows } = await harness.owner.query('select from outbox')
  assert.deepEqual(rows, [])
})

test('four workers at once do each of 300 rows exactly once', async () => {
  await add(300)
  const done = new Map<string, number>()
  const handler: OutboxHandler = {
    beforeTransaction: async (row) => void done.set(row.outboxId, (done.get(row.outboxId) ?? 0) + 1),
  }
  const worker = async (ctx: typeof other) => {
    while ((await drain(handler, ctx)) > 0);
  }
  await Promise.all([worker(harness.ctx), worker(other), worker(harness.ctx), worker(other)])
  assert.equal(done.size, 300)
  assert.deepEqual([...new Set(done.values())], [1])
  assert.deepEqual(await rowsLeft(), [])
})

/** A worker that has claimed a row and is stuck with it until it is let go. */
const stuckWorker = async (finish: (row: OutboxRow) => Promise<void> = async () => undefined) => {
  const claimed = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  const effects: string[] = []
  const run = drain({
    beforeTransaction: async (row) => {
      claimed.resolve()
      await release.promise
      await finish(row)
    },
    withinTransaction: async () => void effects.push('stuck'),
  })
  await claimed.promise
  return { effects, letGo: () => (release.resolve(), run) }
}

test('a row of a worker that crashed waits for its lease and goes to another', async () => {
  await add(1)
  const dead = await stuckWorker()
  await harness.advance(50_000)
  assert.equal(await drain({ beforeTransaction: async () => assert.fail('its lease still runs') }, other), 0)
  await harness.advance(11_000)
  const attempts: number[] = []
  assert.equal(await drain({ beforeTransaction: async (row) => void attempts.push(row.attempts) }, other), 1)
  assert.deepEqual(attempts, [2])
  assert.deepEqual(await rowsLeft(), [])
  await dead.letGo()
})

test('a worker that was only slow neither repeats the effect nor takes the row from its successor', async () => {
  await add(1)
  const slow = await stuckWorker()
  await harness.advance(61_000)
  const successor = await stuckWorker()
  await slow.letGo()
  assert.deepEqual(slow.effects, [], 'its effect would be the second')
  assert.equal((await rowsLeft()).length, 1, 'the row is the successor’s')
  await successor.letGo()
  assert.deepEqual(successor.effects, ['stuck'])
  assert.deepEqual(await rowsLeft(), [])
})

test('a slow worker that fails does not put off the row of its successor', async () => {
  await add(1)
  const slow = await stuckWorker(async () => {
    throw new Error('too late')
  })
  await harness.advance(61_000)
  const successor = await stuckWorker()
  const [before] = await rowsLeft()
  await slow.letGo()
  const [after] = await rowsLeft()
  assert.equal(after?.attempts, 2)
  assert.equal(after.last_error, null)
  assert.ok(Math.abs(after.wait - (before?.wait ?? 0)) < 5)
  await successor.letGo()
})

test('a batch that takes longer than its lease leaves the rest to the next claim', async () => {
  await add(3)
  const sent: unknown[] = []
  let byOther = 0
  await drain({
    beforeTransaction: async (row) => {
      sent.push(row.outboxId)
      // The first mail of the batch takes a minute; meanwhile another worker claims all that is due.
      if (sent.length > 1) return
      await harness.advance(61_000)
      byOther = await drain({ beforeTransaction: async (row) => void sent.push(row.outboxId) }, other)
    },
  })
  assert.equal(byOther, 3)
  // Only the one that was under way is sent twice; at least once is the promise.
  assert.equal(sent.length, 4)
  assert.deepEqual(await rowsLeft(), [])
})

test('an event and its work appear together, with the same envelope', async () => {
  await clear()
  const eventId = await inTransaction(harness.ctx, 'system', (tx) =>
    publish(tx, { agentId, mode: 'test', type: 'agent.registered', subject: agentId, data: { agentId } }),
  )
  const { rows: events } = await harness.owner.query('select type, data from events where event_id = $1', [
    eventId,
  ])
  assert.deepEqual(events, [{ type: 'agent.registered', data: { agentId } }])
  const handled: OutboxRow[] = []
  await drainOutbox(harness.ctx, 'event', {
    withinTransaction: async (_tx, rows) => void handled.push(...rows),
  })
  assert.equal(handled.length, 1)
  const [{ payload } = { payload: undefined }] = handled
  const { envelope } = payload as { envelope: Record<string, unknown> }
  assert.deepEqual(Object.keys(envelope).toSorted(), [
    'agentId',
    'apiVersion',
    'data',
    'id',
    'test',
    'timestamp',
    'type',
  ])
  assert.equal(envelope['id'], eventId)
  assert.equal(envelope['test'], true)
  await other.db.end()
})

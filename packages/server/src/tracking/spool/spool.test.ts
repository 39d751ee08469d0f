import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addView, type History } from '../../../test/fixtures/attention/history.ts'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { openClickHouse } from '../../platform/db/clickhouse.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { schemaStatements } from '../clickhouse/schema.ts'
import { deliverBatch, measureDelivery } from './deliver.ts'
import { insertErasure } from './store.ts'

// Nothing listens there: ClickHouse is away in all of these tests. npm run battery -- attention has one.
const url = 'http://127.0.0.1:9/pohf'
const harness = await startHarness({ CLICKHOUSE_URL: url, CLICKHOUSE_SPOOL_ENTRIES: '1000' })
const clickhouse = openClickHouse(url)

const begin = async (): Promise<History> => ({
  harness,
  agent: await harness.register('live'),
  now: new Date(),
  views: [],
})
const view = {
  age: 1,
  site: 'shop.example' as const,
  workflow: null,
  isOpened: true,
  isScored: true as const,
  quality: 0.95 as const,
  verified: true,
  flags: [],
  probes: 2,
  seconds: 7 as const,
}
const send = (vt: string, type: string) =>
  harness.call('POST', '/api/track/event', { body: { vt, type, path: '/' } })
const batches = async () =>
  (
    await harness.owner.query(
      'select number::int, spool_nos, beacons, conversions, delivered_at from attention_batches order by number',
    )
  ).rows

test('while ClickHouse is away beacons are taken, reports get 503, and the same batch is tried again', async () => {
  const history = await begin()
  const { vt } = await addView(history, view)
  assert.equal((await send(vt, 'load')).json.recorded, 1)
  assert.equal((await send(vt, 'scroll')).json.recorded, 1)
  const body = { vt, name: 'purchase', value: 2, currency: 'EUR' }
  const { agent } = history
  await harness.call('POST', '/api/agents/track/conversion', { key: agent.apiKey, body })
  const { rowCount } = await harness.owner.query('select from track_events')
  assert.equal(rowCount, 0, 'a row is in the spool or in PostgreSQL, never both')
  const report = await harness.call('GET', '/api/agents/metrics/funnel', { key: agent.apiKey })
  assert.deepEqual([report.status, report.json.error], [503, 'overloaded'])
  assert.equal((await harness.call('GET', '/api/agents/metrics', { key: agent.apiKey })).status, 200)
  await assert.rejects(deliverBatch(harness.ctx, clickhouse))
  const [sealed] = await batches()
  assert.deepEqual([sealed.number, sealed.beacons, sealed.conversions, sealed.delivered_at], [1, 2, 1, null])
  assert.equal((await send(vt, 'click')).json.recorded, 1)
  await assert.rejects(deliverBatch(harness.ctx, clickhouse))
  assert.deepEqual(await batches(), [sealed], 'a sealed batch does not take new entries')
})

test('an entry has one line of JSON for each beacon of its view, with its number and the first engagement', async () => {
  const history = await begin()
  const { vt, sessionId } = await addView(history, view)
  const props = { 'a"b': 'line\nend' }
  await harness.call('POST', '/api/track/event', {
    body: [
      { vt, type: 'load', path: '/a' },
      { vt, type: 'scroll', eventId: 'e1', props, ts: '2026-02-03T04:05:06Z' },
      { vt, type: 'scroll', eventId: 'e1' },
    ],
  })
  const { rows } = await harness.owner.query(
    'select rows, with_view, lines from attention_spool where session_id = $1',
    [sessionId],
  )
  assert.deepEqual([rows.length, rows[0].rows, rows[0].with_view], [1, 2, true])
  const none = { client_event_id: null, client_at: null, path: null, props: '' }
  assert.deepEqual(
    rows[0].lines.split('\n').map((line: string) => JSON.parse(line)),
    [
      { ...none, seq: 1, first_engagement: 0, type: 'load', path: '/a' },
      {
        ...none,
        seq: 2,
        first_engagement: 1,
        type: 'scroll',
        client_event_id: 'e1',
        client_at: '2026-02-03T04:05:06.000Z',
        props: JSON.stringify(props),
      },
    ],
  )
})

test('the metrics show what waits', async () => {
  await harness.advance(90_000)
  await measureDelivery(harness.ctx)
  const text = await harness.ctx.metrics.registry.metrics()
  const lag = Number(/^pohf_attention_lag_seconds (\S+)$/m.exec(text)?.[1])
  assert.ok(lag >= 90 && lag < 200, `the lag is ${lag}`)
  assert.match(text, /^pohf_attention_spool_entries [1-9]/m)
})

test('an erasure deletes what waits, and waits for what is sealed', async () => {
  const history = await begin()
  const { agentId } = history.agent
  const { vt, sessionId } = await addView(history, view)
  await send(vt, 'load')
  const count = async () =>
    (await harness.owner.query('select from attention_spool where agent_id = $1', [agentId])).rowCount
  assert.equal(await count(), 1)
  await inTransaction(harness.ctx, 'system', (tx) => insertErasure(tx, { agentId, sessionId }))
  assert.equal(await count(), 0)
  const { rows } = await harness.owner.query('select after_batch::int, done_at from attention_erasures')
  assert.deepEqual(rows, [{ after_batch: 1, done_at: null }])
})

test('a full spool refuses beacons and conversions with 503, and stores nothing of them', async () => {
  const history = await begin()
  const { vt } = await addView(history, view)
  await harness.owner.query(
    `insert into attention_spool (agent_id, mode, session_id, viewed_at, segment, page, kind, with_view, rows, lines)
     select $1, 'live', 'ses_' || n, pohf_now(), 0, 0, 'beacons', false, 1, '{}' from generate_series(1, 1000) n`,
    [history.agent.agentId],
  )
  await harness.advance(2_000)
  const answer = await send(vt, 'load')
  assert.deepEqual([answer.status, answer.headers['retry-after']], [503, '30'])
  const { rowCount } = await harness.owner.query('select from track_views where session_id = $1', [
    history.views[0]?.sessionId,
  ])
  assert.equal(rowCount, 0)
})

test('the tables of a cluster are replicated and distributed by agent; the others name no cluster', () => {
  const cluster = schemaStatements('pohf', 'main').join('\n')
  assert.match(cluster, /beacons_local ON CLUSTER 'main'[\s\S]+ReplicatedReplacingMergeTree/)
  assert.match(cluster, /Distributed\('main', 'pohf', 'beacons_local', sipHash64\(agent_id\)\)/)
  assert.match(cluster, /to_beacon_hours ON CLUSTER 'main'\s+TO pohf\.beacon_hours_local/)
  assert.doesNotMatch(schemaStatements('pohf').join('\n'), /CLUSTER|Replicated|Distributed/)
})

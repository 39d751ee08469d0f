// One case of the engine on ClickHouse, for CI: a beacon and a conversion are stored, delivered twice and counted once.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { addView } from '../../../packages/server/test/fixtures/attention/history.ts'
import { compareStored } from '../../../packages/server/src/tracking/index.ts'
import { openOnClickHouse } from './fixture.ts'

test('a beacon and a conversion arrive in ClickHouse and count once, although the batch is sent twice', async () => {
  const { harness, tables, deliver } = await openOnClickHouse()
  after(() => harness.close())
  const agent = await harness.register('live')
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
  const { vt } = await addView({ harness, agent, now: new Date(), views: [] }, view)
  await harness.call('POST', '/api/track/event', { body: { vt, type: 'scroll', path: '/' } })
  const body = { vt, name: 'purchase', value: 1.5, currency: 'EUR' }
  await harness.call('POST', '/api/agents/track/conversion', { key: agent.apiKey, body })
  // As after an end between the acknowledgement of ClickHouse and the note of it: the batch is open again.
  await harness.owner.query('create table kept as select * from attention_spool')
  await deliver()
  await harness.owner.query('insert into attention_spool select * from kept')
  await harness.owner.query(
    'update attention_batches set delivered_at = null, spool_nos = (select array_agg(spool_no) from kept)',
  )
  await deliver()
  const { json } = await harness.call('GET', '/api/agents/metrics/funnel?site=shop.example', {
    key: agent.apiKey,
  })
  assert.deepEqual(
    [json.views, json.landed, json.engaged, json.conversions, json.value],
    [1, 1, 1, 1, { EUR: 1.5 }],
  )
  assert.equal((await compareStored(harness.ctx, tables.clickhouse, 10)).ok, true)
})

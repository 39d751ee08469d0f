import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startHarness, runJobs } from '../../../test/fixtures/harness.ts'
import * as operators from '../../operators/index.ts'
import * as webhooks from '../../webhooks/index.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { connectSigner } from '../signer-client.ts'
import { rotationJob } from './announce.ts'
import { deleteOldRotations } from './store.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const harness = await startHarness()
const operator = (await operators.create(harness.ctx, 'machine', 'Ada')).operatorKey
const type = 'key.rotation_scheduled'

const makeSubscriber = async (mode: 'live' | 'test', events: string[]) => {
  const agent = await harness.register(mode)
  const { status, text } = await harness.call('POST', '/api/agents/webhooks', {
    key: agent.apiKey,
    body: { url: 'http://127.0.0.1:9/hook', events },
  })
  assert.equal(status, 200, text)
  return agent
}
const [named, every] = [await makeSubscriber('test', [type]), await makeSubscriber('test', ['*'])]
const live = await makeSubscriber('live', [type])
const other = await makeSubscriber('test', ['credential.issued'])

type Told = { readonly kid: string; readonly purpose: string; readonly activateAt: string; readonly at: Date }
const toldOf = async ({ agentId }: { readonly agentId: string }): Promise<Told[]> => {
  const { rows } = await harness.owner.query(
    'select data, at from events where agent_id = $1 and type = $2 order by at, event_id',
    [agentId, type],
  )
  return rows.map(({ data, at }) => ({ ...(data as Told), at: at as Date }))
}
const rotate = async (purpose: string): Promise<string> => {
  const { json, text } = await harness.callOperator('POST', '/operator/keys/rotate', {
    key: operator,
    body: { purpose },
  })
  assert.ok(json.pendingKid, text)
  return json.pendingKid
}
const published = async (): Promise<string[]> =>
  (await harness.call('GET', '/.well-known/jwks.json')).json.keys.map(({ kid }: { kid: string }) => kid)

test('a deployment whose keys are new tells nothing', async () => {
  await harness.runJobs()
  for (const agent of [named, every, live, other]) assert.deepEqual(await toldOf(agent), [])
})

test('a rotation is told once to each subscriber of its mode, a day before the key signs', async () => {
  const kid = await rotate('test')
  await harness.runJobs()
  await harness.runJobs()
  await harness.advance(hourMs)
  await harness.runJobs()
  for (const agent of [named, every]) {
    const [told, ...more] = await toldOf(agent)
    assert.deepEqual(more, [])
    assert.equal(told?.kid, kid)
    assert.equal(told.purpose, 'test')
    const noticeMs = Date.parse(told.activateAt) - told.at.getTime()
    assert.ok(noticeMs > 23.9 * hourMs && noticeMs <= dayMs, `${noticeMs} ms of notice`)
  }
  assert.deepEqual([...(await toldOf(live)), ...(await toldOf(other))], [])
  assert.ok((await published()).includes(kid), 'the successor is published when it is told')
})

test('the key signs from the time that was told, and nothing more is told then', async () => {
  const [told] = await toldOf(named)
  await harness.advance(Date.parse(told?.activateAt ?? '') - harness.ctx.clock.now().getTime() + 60_000)
  const { json } = await harness.callOperator('GET', '/operator/keys', { key: operator })
  const key = json.keys.find((each: { kid: string }) => each.kid === told?.kid)
  assert.equal(key.state, 'active')
  await harness.runJobs()
  assert.equal((await toldOf(named)).length, 1)
})

test('agents of live mode are told of the keys of live credentials; keys that sign no credential are not told', async () => {
  const kid = await rotate('live')
  await rotate('epoch')
  await rotate('status')
  await harness.runJobs()
  assert.deepEqual(
    (await toldOf(live)).map((told) => [told.kid, told.purpose]),
    [[kid, 'live']],
  )
  assert.equal((await toldOf(every)).length, 1)
})

const signer = connectSigner(harness.ctx)
after(() => signer.close())
const makeJob = (limit?: number) =>
  rotationJob({ ctx: harness.ctx, signer, listSubscribers: webhooks.listSubscribers }, limit)

test('workers that stop after any page, or run together, tell each subscriber once', async () => {
  for (let n = 0; n < 3; n += 1) await makeSubscriber('test', [type])
  const kid = await rotate('test')
  const counted = async () => {
    const { rows } = await harness.owner.query(
      `select agent_id, count(*)::int as n from events where type = $1 and data ->> 'kid' = $2 group by agent_id`,
      [type, kid],
    )
    return rows as { agent_id: string; n: number }[]
  }
  await makeJob(1).run()
  await makeJob(1).run()
  assert.ok((await counted()).length <= 2, 'a page has one agent')
  for (let round = 0; round < 6; round += 1) await Promise.all([makeJob(1).run(), makeJob(1).run()])
  await runJobs([makeJob(1)])
  const all = await counted()
  assert.equal(all.length, 5)
  assert.ok(all.every(({ n }) => n === 1))
})

test('keys that rotate by themselves are told too, and old rotations are deleted', async () => {
  const before = (await toldOf(live)).length
  const startAt = harness.ctx.clock.now().getTime()
  while (harness.ctx.clock.now().getTime() < startAt + 32 * dayMs) {
    await harness.advance(6 * hourMs)
    await runJobs([makeJob()])
  }
  const told = (await toldOf(live)).slice(before)
  assert.deepEqual(
    told.map(({ purpose }) => purpose),
    ['live'],
  )
  assert.ok(told.every(({ at, activateAt }) => Date.parse(activateAt) - at.getTime() >= 23.9 * hourMs))
  await harness.advance(31 * dayMs)
  await inTransaction(harness.ctx, 'system', deleteOldRotations)
  const { rows } = await harness.owner.query('select count(*)::int as n from key_rotations')
  assert.deepEqual(rows, [{ n: 0 }])
})

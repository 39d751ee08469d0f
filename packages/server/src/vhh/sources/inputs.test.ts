import assert from 'node:assert/strict'
import { test } from 'node:test'
import { verifyEpoch, type EpochVerification } from '@pohf/verify/vhh'
import { platformAgentId } from '../../agents/index.ts'
import * as operators from '../../operators/index.ts'
import { startHarness } from '../../../test/fixtures/harness.ts'
import {
  insertBuyers,
  insertSettledPurchases,
  insertSettledUnits,
  makeSettledUnits,
  type SettledUnitRow,
} from '../../../test/fixtures/payments/settled-work.ts'

const harness = await startHarness()
const agent = await harness.register('live')
const buyers = await insertBuyers(harness.owner, 14)
const dayMs = 86_400_000

const monthStart = (offset: number): Date => {
  const now = harness.ctx.clock.now()
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + offset))
}
const monthText = (offset: number): string => monthStart(offset).toISOString().slice(0, 7)
/** To 25 hours after the month's end, when it is closed. */
const closeMonth = async (): Promise<void> => {
  await harness.advance(monthStart(1).getTime() + dayMs + 3_600_000 - harness.ctx.clock.now().getTime())
  await harness.runJobs()
}
const readInputs = async (epoch: string) =>
  (await harness.call('GET', `/api/index/vhh/inputs?epoch=${epoch}`)).json
const verify = async (download: {
  epoch: Record<string, unknown>
  inputs: unknown
}): Promise<EpochVerification> => {
  const { json: jwks } = await harness.call('GET', '/.well-known/jwks.json')
  return verifyEpoch({ ...download, issuer: harness.ctx.config.BASE_URL, jwks })
}
const units = (count: number, change: Partial<SettledUnitRow>, from = monthStart(0)): SettledUnitRow[] =>
  makeSettledUnits({ buyers, workers: 40, unitsPerBuyer: count, from, usdPerHour: 18 }).map((unit) => ({
    ...unit,
    ...change,
  }))

const excludedWork: readonly (readonly [string, Partial<SettledUnitRow>])[] = [
  ['test', { mode: 'test' }],
  ['operator_paid', { purpose: 'stock' }],
  ['operator_paid', { platformPays: true }],
  ['related_party', { flags: ['same_network'] }],
  ['related_party', { flags: ['only_through_buyer'] }],
  ['disputed', { disputed: true }],
  ['reversed', { earning: 'taken_back' }],
  ['no_price', { usdCents: 0 }],
  ['not_measured', { seconds: null }],
  ['too_short', { seconds: 9 }],
  ['too_long', { seconds: 4 * 3_600 + 1 }],
]

test('work in test mode, paid by the operator, related, disputed, reversed or not measured never enters', async () => {
  for (const [index, [, change]] of excludedWork.entries())
    await insertSettledUnits(
      harness.owner,
      // At ten times the price: a single unit that got in would be seen.
      units(2, change).map((unit) => ({
        ...unit,
        orderId: `${unit.orderId}x${index}`,
        usdCents: change.usdCents ?? unit.usdCents * 10,
      })),
    )
  const month = monthText(0)
  await closeMonth()
  const { json } = await harness.call('GET', '/api/index/vhh')
  assert.equal(json.epoch, month)
  assert.deepEqual(json.inputs, { hours: 0, clusters: 0, workers: 0, units: 0 })
  const each = buyers.length * 2
  assert.deepEqual(json.excluded, {
    operator_paid: 2 * each,
    related_party: 2 * each,
    disputed: each,
    reversed: each,
    no_price: each,
    not_measured: each,
    too_short: each,
    too_long: each,
  })
})

test('too few inputs give no value, and their rows are not published', async () => {
  // 9 of 14 buyers: a cluster too few.
  await insertSettledUnits(
    harness.owner,
    makeSettledUnits({
      buyers: buyers.slice(0, 9),
      workers: 40,
      unitsPerBuyer: 100,
      from: monthStart(0),
      usdPerHour: 18,
    }),
  )
  const month = monthText(0)
  await closeMonth()
  const { epoch, inputs } = await readInputs(month)
  assert.equal(epoch.status, 'insufficient_data')
  assert.equal(epoch.value, null)
  assert.deepEqual(epoch.tooFew, ['clusters'])
  assert.equal(epoch.carried, null)
  assert.equal(epoch.inputs.clusters, 9)
  assert.equal(inputs, null)
  const { ok, checks } = await verify({ epoch, inputs })
  assert.ok(ok, JSON.stringify(checks))
})

test('the signed value is computed again from the published inputs, bit for bit; any change breaks it', async () => {
  await insertSettledUnits(harness.owner, units(60, {}))
  const month = monthText(0)
  const { json: before } = await harness.call('GET', '/api/index/vhh', { key: agent.apiKey })
  assert.equal(before.monthToDate.value, null)
  // The running month is computed by the worker, once an hour.
  await harness.advance(3_700_000)
  await harness.runJobs()
  const { json: running } = await harness.call('GET', '/api/index/vhh', { key: agent.apiKey })
  assert.equal(running.monthToDate.status, 'running')
  await closeMonth()
  const download = await readInputs(month)
  assert.equal(download.epoch.status, 'final')
  assert.ok(download.epoch.value > 14 && download.epoch.value < 23, String(download.epoch.value))
  assert.equal(running.monthToDate.value, download.epoch.value)
  assert.deepEqual(
    (await verify(download)).checks.map(({ name, passed }) => [name, passed]),
    [
      ['signature', true],
      ['answer', true],
      ['root', true],
      ['counts', true],
      ['value', true],
    ],
  )
  const change = async (edit: (copy: typeof download) => void) => {
    const copy = structuredClone(download)
    edit(copy)
    const { ok, checks } = await verify(copy)
    assert.equal(ok, false)
    return checks.filter(({ passed }) => !passed).map(({ name }) => name)
  }
  assert.deepEqual(await change((copy) => (copy.inputs.rows[0].usdMicro += 1)), ['root'])
  assert.ok((await change((copy) => copy.inputs.rows.pop())).includes('root'))
  assert.ok((await change((copy) => copy.inputs.workers.pop())).includes('root'))
  assert.deepEqual(await change((copy) => (copy.epoch.value += 0.01)), ['answer'])
  assert.deepEqual(await change((copy) => (copy.inputs.epoch = '2020-01')), ['root'])
  assert.deepEqual(await change((copy) => (copy.inputs = null)), ['value'])
  assert.ok((await change((copy) => (copy.epoch.jws = before.jws))).length > 0)
})

test('published inputs name no agent, worker or order, and pseudonyms differ between series and months', async () => {
  const text = JSON.stringify(await readInputs(monthText(-1)))
  for (const word of ['agt_', 'worker-', 'ord_', 'company-', 'network-'])
    assert.ok(!text.includes(word), word)
  const { json } = await harness.call('GET', `/api/index/VHH_judgement/inputs?epoch=${monthText(-1)}`, {
    key: agent.apiKey,
  })
  const clusters = new Set<string>(json.inputs.rows.map(({ cluster }: { cluster: string }) => cluster))
  assert.equal(clusters.size, buyers.length)
  for (const cluster of clusters) assert.ok(!text.includes(cluster))
})

test('agents of one address or network are one cluster', async () => {
  // 4 and 5 share a domain, 6 and 7 a network, 10 to 12 are a chain of both.
  await harness.owner.query(
    `update agents set contact_email = 'other@company-4.example' where agent_id = $1`,
    [buyers[5]?.agentId],
  )
  await harness.owner.query(`update agents set network_tag = 'network-6' where agent_id = $1`, [
    buyers[7]?.agentId,
  ])
  await harness.owner.query(
    `update agents set contact_email = 'a@company-10.example', network_tag = 'network-12' where agent_id = $1`,
    [buyers[11]?.agentId],
  )
  // At a public provider the domain connects nobody.
  await harness.owner.query(
    `update agents set contact_email = agent_id || '@gmail.com' where agent_id = any($1)`,
    [[buyers[0]?.agentId, buyers[1]?.agentId]],
  )
  await insertSettledUnits(harness.owner, units(60, {}))
  const month = monthText(0)
  await closeMonth()
  const { epoch, inputs } = await readInputs(month)
  assert.equal(epoch.inputs.clusters, 14 - 1 - 1 - 2)
  assert.equal(new Set(inputs.rows.map(({ cluster }: { cluster: string }) => cluster)).size, 10)
})

test('a purchase counts by its wallet: one wallet is one cluster, with the agents that used it', async () => {
  const platformAgent = platformAgentId(harness.ctx.config, 'live')
  const stock = units(20, { agentId: platformAgent, purpose: 'stock', usdCents: 100 }).slice(0, 60)
  const insertSale = (from: number, sale: { agentId: string; payer: string }) =>
    insertSettledPurchases(harness.owner, stock.slice(from, from + 20), { ...sale, usdcMicro: 2_000_000 })
  // Without a key, and with the keys of two agents that share a wallet.
  await insertSale(0, { agentId: platformAgent, payer: '0xaaa' })
  await insertSale(20, { agentId: buyers[2]?.agentId ?? '', payer: '0xbbb' })
  await insertSale(40, { agentId: buyers[3]?.agentId ?? '', payer: '0xbbb' })
  const month = monthText(0)
  await closeMonth()
  const { epoch } = await readInputs(month)
  assert.equal(epoch.inputs.units, 60)
  assert.equal(epoch.inputs.clusters, 2)
  assert.deepEqual(epoch.excluded, { operator_paid: 60 })
})

test('a month without data carries the last value, says so, and has none of its own', async () => {
  const last = (await harness.call('GET', '/api/index/vhh')).json.carried
  await closeMonth()
  const { json } = await harness.call('GET', '/api/index/vhh')
  assert.equal(json.value, null)
  assert.equal(json.status, 'insufficient_data')
  assert.deepEqual(json.carried, { value: last.value, epoch: last.epoch })
  const { json: order } = await harness.call('POST', '/api/forwards/order', {
    body: { name: 'A', company: 'B', email: 'a@b.example', hours: 1, month: '2090-01' },
  })
  assert.equal(order.indicative.vhhUsd, last.value)
  assert.match(order.indicative.note, /too little data/)
})

test('a restatement is a new signed revision that names the old one; the old one stays', async () => {
  const operator = await operators.create(harness.ctx, 'machine', 'Ada')
  const month = monthText(-3)
  const first = await readInputs(month)
  await harness.call('POST', '/api/agents/webhooks', {
    key: agent.apiKey,
    body: { url: 'http://127.0.0.1:9/hook', events: ['index.epoch_published'] },
  })
  const refused = await harness.callOperator('POST', '/operator/index/close', {
    key: operator.operatorKey,
    body: { month },
  })
  assert.equal(refused.status, 400)
  const unknown = await harness.callOperator('POST', '/operator/index/close', {
    key: operator.operatorKey,
    body: { month: '2020-01', reason: 'x' },
  })
  assert.equal(unknown.status, 404)
  await harness.owner.query(
    `update order_units set house_pays = true where order_id = $1 and status = 'accepted'`,
    [`ord_${month.replace('-', '')}b0`],
  )
  const { status, text } = await harness.callOperator('POST', '/operator/index/close', {
    key: operator.operatorKey,
    body: { month, reason: 'a buyer was the operator' },
  })
  assert.equal(status, 200, text)
  const second = await readInputs(month)
  assert.equal(second.epoch.revision, 2)
  assert.deepEqual(second.epoch.restates, { revision: 1, reason: 'a buyer was the operator' })
  assert.equal(second.epoch.inputs.clusters, first.epoch.inputs.clusters - 1)
  assert.equal(second.epoch.status, 'insufficient_data')
  const { rows: told } = await harness.owner.query(
    `select data -> 'value' as value from events where type = 'index.epoch_published' and data ->> 'epoch' = $1`,
    [month],
  )
  assert.deepEqual(told, [{ value: null }])
  const { rows } = await harness.owner.query(
    `select jws from vhh_epochs where epoch = $1 and code = 'VHH' order by revision`,
    [month],
  )
  assert.deepEqual(
    rows.map(({ jws }) => jws),
    [first.epoch.jws, second.epoch.jws],
  )
  const { json: explained } = await harness.callOperator('GET', `/operator/index/${month}`, {
    key: operator.operatorKey,
  })
  assert.equal(explained.epoch.revision, 2)
  assert.equal(explained.clusters.length, 9)
  assert.ok(explained.epoch.excluded.operator_paid > 0)
  const { json: audit } = await harness.callOperator('GET', '/operator/audit?limit=20', {
    key: operator.operatorKey,
  })
  assert.ok(JSON.stringify(audit).includes('index.restate'))
})

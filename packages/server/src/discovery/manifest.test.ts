import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { endpoints } from '@pohf/protocol'
import { startHarness } from '../../test/fixtures/harness.ts'
import { manifest } from './manifest.ts'

const smtp = 'smtp://mailer:correct-horse@mail.example:25'
const harness = await startHarness({ CONTACT: 'ops@pohf.example', SMTP_URL: smtp })
const read = () => harness.call('GET', '/api/agents/discovery')
const { ctx } = harness

test('the manifest has exactly the keys of the specification', async () => {
  const { status, json, headers } = await read()
  assert.equal(status, 200)
  assert.equal(headers['access-control-allow-origin'], '*')
  assert.deepEqual(Object.keys(json), [
    'service',
    'summary',
    'provides',
    'credential',
    'settlement',
    'endpoints',
    'how_to_transact',
    'contact',
    'docs',
    'status',
    'updated',
  ])
  assert.deepEqual(Object.keys(json.status), [
    'checked_at',
    'purchasable_tasks_now',
    'inventory_note',
    'free_plan',
    'verify_endpoint',
    'machine_payable_plans',
  ])
  assert.deepEqual(Object.keys(json.settlement), [
    'agent_native',
    'human_in_the_loop',
    'binding_only',
    'chains',
    'rail_agnostic',
  ])
  assert.deepEqual(json.status.free_plan, {
    seals_per_month: 1_000,
    card_required: false,
    condition:
      'Confirm the contact mail address of the agent: 1,000 free verifications a month, no card needed.',
    register: `${ctx.config.BASE_URL}/api/agents/register`,
  })
  assert.equal(json.contact, 'ops@pohf.example')
  assert.deepEqual(json.settlement.binding_only.toSorted(), ['agentpay', 'mpp', 'ousd'])
})

test('the manifest names every operation and no other', async () => {
  const { json } = await read()
  assert.deepEqual(
    json.endpoints,
    Object.fromEntries(
      endpoints.map((row) => [row.publicId, `${row.method} ${ctx.config.BASE_URL}${row.path}`]),
    ),
  )
  assert.equal(Object.keys(json.endpoints).length, endpoints.length)
})

test('the manifest claims no payment method that is not configured', async () => {
  const none = await manifest(ctx, { chains: [], card: false, countPurchasable: async () => 0 })
  assert.equal(none.settlement.agent_native.configured, false)
  assert.equal(none.settlement.human_in_the_loop.configured, false)
  assert.match(none.status.inventory_note, /no payment chain is configured/)
})

test('with chain, card and stock the manifest says so', async () => {
  const settlement = { chains: ['eip155:84532'], card: true, countPurchasable: async () => 3 }
  const full = await manifest(ctx, settlement)
  assert.equal(full.settlement.agent_native.configured, true)
  assert.equal(full.settlement.human_in_the_loop.configured, true)
  assert.deepEqual(full.settlement.chains, ['eip155:84532'])
  assert.equal(full.status.purchasable_tasks_now, 3)
  assert.match(full.status.inventory_note, /^3 tasks can be bought/)
  const empty = await manifest(ctx, { ...settlement, countPurchasable: async () => 0 })
  assert.match(empty.status.inventory_note, /in stock/)
  const withoutDatabase = await manifest(ctx, { ...settlement, countPurchasable: async () => undefined })
  assert.equal(withoutDatabase.status.purchasable_tasks_now, 0)
  assert.match(withoutDatabase.status.inventory_note, /the stock cannot be read/)
})

test('stock and time are those of the moment of asking', async () => {
  let count = 0
  const settlement = { chains: [], card: false, countPurchasable: async () => ++count }
  const first = await manifest(ctx, settlement)
  await harness.advance(60_000)
  const second = await manifest(ctx, settlement)
  assert.equal(first.status.purchasable_tasks_now, 1)
  assert.equal(second.status.purchasable_tasks_now, 2)
  assert.ok(Date.parse(second.status.checked_at) - Date.parse(first.status.checked_at) >= 60_000)
  assert.ok(Date.parse(second.updated) > Date.parse(first.updated))
})

test('a key is taken but not needed; a bad one is 401', async () => {
  const { apiKey } = await harness.register('test')
  assert.equal((await harness.call('GET', '/api/agents/discovery', { key: apiKey })).status, 200)
  assert.equal((await harness.call('GET', '/api/agents/discovery', { key: `${apiKey}x` })).status, 401)
})

/** Every file below a folder, as text. */
const filesBelow = (folder: string): string[] =>
  readdirSync(folder).flatMap((name) => {
    const path = join(folder, name)
    const found = statSync(path)
    if (found.isDirectory()) return filesBelow(path)
    return found.isFile() && found.size > 0 ? [readFileSync(path, 'utf8').trim()] : []
  })

test('nothing that is published shows a secret', async () => {
  const secrets = [
    ctx.config.DATABASE_URL,
    smtp,
    'correct-horse',
    harness.dataDir,
    ...filesBelow(harness.dataDir),
  ]
  assert.ok(secrets.length >= 5 && secrets.every((secret) => secret.length >= 8))
  for (const path of [
    '/api/agents/discovery',
    '/llms.txt',
    '/.well-known/api-catalog',
    '/openapi.json',
    '/mcp/server.json',
    '/mcp/identity/server.json',
    '/',
  ]) {
    const { text, status } = await harness.call('GET', path)
    assert.equal(status, 200)
    for (const secret of secrets) assert.equal(text.includes(secret), false, path)
  }
})

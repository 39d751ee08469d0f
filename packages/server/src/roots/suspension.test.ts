import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/fixtures/harness.ts'
import {
  budgetSettings,
  findCounterFaults,
  makeSeenSessions,
  moveClockTo,
  registerPayingAgent,
} from '../../test/fixtures/networks.ts'
import { assertRefusal } from '../../test/fixtures/refusal.ts'
import * as operators from '../operators/index.ts'
import { inTransaction, readNow } from '../platform/db/db.ts'
import { deviceFacts, makeRoots, type ShownRoot } from './index.ts'
import { modelCounters } from './rules.ts'

const harness = await startHarness({
  ...budgetSettings,
  ROOT_ADDRESS_PER_HOUR: '4',
  ROOT_DEVICE_PER_DAY: '3',
})
const roots = makeRoots(harness.ctx)
const seen = makeSeenSessions(harness, roots)
const operator = await operators.create(harness.ctx, 'machine', 'Ada')
const operate = (path: string, body: object) =>
  harness.callOperator('POST', `/operator/roots/${path}`, { key: operator.operatorKey, body })
const [one, two] = [await registerPayingAgent(harness), await registerPayingAgent(harness)]

const mint = async (agent: typeof one, address: string): Promise<string> => {
  const [sessionId] = await seen(1, agent, address)
  const body = { sessionId }
  const { json, text } = await harness.call('POST', '/api/agents/verify', { key: agent.apiKey, body })
  assert.ok(json.credentialId, text)
  return json.credentialId
}
const stateOf = async (credentialId: string): Promise<string | undefined> => {
  const { rows } = await harness.owner.query<{ state: string }>(
    'select state from credential_states where credential_id = $1 order by seq desc limit 1',
    [credentialId],
  )
  return rows[0]?.state
}
const network = (name: string, credentials: 'suspend' | 'revoke', after?: string) =>
  operate('suspend', { kind: 'network', name, credentials, reason: 'a farm', ...(after ? { after } : {}) })

test('the credentials that rest on a network are suspended or revoked as a set, whichever agents have them', async () => {
  await moveClockTo(harness, 9, 5)
  const farm = [await mint(one, '203.0.113.7'), await mint(two, '203.0.113.7')]
  const beside = await mint(one, '203.0.113.8')
  const elsewhere = await mint(one, '198.51.100.1')
  const first = await network('203.0.113.7', 'suspend')
  assert.equal(first.json.credentials, 2, first.text)
  assert.equal((await network('203.0.113.7', 'suspend', first.json.next)).json.next, null)
  for (const credentialId of farm) assert.equal(await stateOf(credentialId), 'suspended')
  assert.equal(await stateOf(beside), 'issued')

  await harness.advance(86_400_000)
  const wide = await network('203.0.113.0/24', 'revoke')
  assert.equal(wide.json.credentials, 3, 'also on the next day')
  for (const credentialId of [...farm, beside]) assert.equal(await stateOf(credentialId), 'revoked')
  assert.equal(await stateOf(elsewhere), 'issued')

  await harness.advance(86_400_000)
  await harness.runJobs()
  assert.equal((await network('198.51.100.1', 'revoke')).json.credentials, 0, 'its key is destroyed')
  assert.equal(await stateOf(elsewhere), 'issued')
  assertRefusal(await network('203.0.113.0/25', 'revoke'), 400, 'validation_failed')
  const { rows } = await harness.owner.query<{ text: string }>('select a::text as text from operator_audit a')
  assert.ok(rows.some(({ text }) => text.includes('root.suspend')))
  assert.ok(!rows.some(({ text }) => text.includes('203.0.113')), 'the audit log has no address')
})

/** What a mint with this root would get, from sessions of this address. */
const spend = async (root: ShownRoot, address: string, count: number): Promise<string[]> => {
  const sessionIds = await seen(count, one, address)
  const { charges, at } = await inTransaction(harness.ctx, 'system', async (tx) => {
    const now = await readNow(tx)
    const requests = sessionIds.map((sessionId) => ({
      agentId: one.agentId,
      mode: 'live' as const,
      session: { sessionId, at: now },
      roots: [{ ...root, at: now }],
    }))
    return { charges: await roots.listCharges(tx, requests, now), at: now }
  })
  const { rows } = await harness.owner.query<{ results: string[] }>(
    'select roots_spend($1::jsonb[], $2, $3, $4) as results',
    [
      charges.map((charge) => JSON.stringify(charge)),
      charges.map(() => one.agentId),
      at,
      charges.map(() => true),
    ],
  )
  return rows[0]?.results ?? []
}

const device = { level: 'substantial', counted: false, fresh: true, at: new Date(0) } as const
const appKeyOf = (key: string): ShownRoot => ({ ...deviceFacts.app, ...device, key, name: 'app-1' })

test('a stronger root has a budget of its own in a day, and multiplies that of the network by ten', async () => {
  await moveClockTo(harness, 9, 5)
  const address = '203.0.113.90'
  assert.deepEqual(await spend(appKeyOf('first'), address, 4), ['spent', 'spent', 'spent', 'day'])
  // Half of 10 x 4 for one agent: 20, of which 3 are spent.
  const others: string[] = []
  for (let n = 0; n < 6; n++) others.push(...(await spend(appKeyOf(`key ${n}`), address, 3)))
  assert.equal(others.filter((result) => result === 'spent').length, 17)
  assert.equal(others.at(-1), 'hour')
  const [low] = await seen(1, one, address)
  const body = { sessionId: low }
  const { status } = await harness.call('POST', '/api/agents/verify', { key: one.apiKey, body })
  assert.equal(status, 200, 'they take nothing of the budget of others')
})

const keyOf = (key: string, name = 'aaguid-1'): ShownRoot => ({
  ...deviceFacts.authenticator,
  ...device,
  key,
  name,
})
const countSpent = async (root: ShownRoot, address: string, count: number): Promise<number> =>
  (await spend(root, address, count)).filter((result) => result === 'spent').length

test('the keys of one model of authenticators share the budget of a key on each address, and ten times that on a /24', async () => {
  await moveClockTo(harness, 9, 5)
  const address = '198.51.101.90'
  assert.equal(await countSpent(keyOf('first'), address, 2), 2)
  assert.deepEqual(
    await spend(keyOf('second'), address, 2),
    ['spent', 'day'],
    'a new key brings no new budget',
  )
  assert.equal(await countSpent(keyOf('third', 'aaguid-2'), address, 3), 3, 'another model does')
  // Half of 30 for one agent: 15, of which 3 are spent.
  let spent = 0
  for (let n = 1; n <= 6; n++) spent += await countSpent(keyOf(`key ${n}`), `198.51.101.${n}`, 3)
  assert.equal(spent, 12)
  assert.deepEqual(await findCounterFaults(harness), [])
})

test('on the networks of an earlier day, the keys of a model have a tenth', () => {
  const networks = [{ narrow: 'narrow', wide: 'wide', factor: 1 }]
  const daysOf = (old: boolean) =>
    modelCounters(networks, keyOf('key'), { perDay: 60, old }).map(({ day, agentDay }) => [day, agentDay])
  assert.deepEqual(daysOf(false), [
    [60, null],
    [600, 300],
  ])
  assert.deepEqual(daysOf(true), [
    [6, null],
    [60, 30],
  ])
})

const countPlaces = async (): Promise<number | undefined> =>
  (await harness.owner.query<{ n: number }>('select sum(used)::int as n from root_counters')).rows[0]?.n

test('a suspended model gets no credential, and those that rest on it are suspended', async () => {
  await moveClockTo(harness, 9, 5)
  const root = keyOf('a', 'aaguid-2')
  const credentialIds: string[] = []
  for (let n = 0; n < 2; n++) credentialIds.push(await mint(one, `203.0.113.${100 + n}`))
  for (const credentialId of credentialIds)
    await harness.owner.query(
      "insert into root_credentials values ('authenticator', 'aaguid-2', $1, pohf_now())",
      [credentialId],
    )
  const suspended = { kind: 'authenticator', name: 'aaguid-2', reason: 'keys leaked' }
  const { json } = await operate('suspend', { ...suspended, credentials: 'suspend' })
  assert.deepEqual(json, { kind: 'authenticator', name: 'aaguid-2', credentials: 2, next: null })
  for (const credentialId of credentialIds) assert.equal(await stateOf(credentialId), 'suspended')
  const before = await countPlaces()
  assert.deepEqual(await spend(root, '203.0.113.110', 1), ['suspended'])
  assert.equal(await countPlaces(), before, 'a refused mint takes no place')
  assert.equal((await operate('reinstate', suspended)).status, 200)
  assert.deepEqual(await spend(root, '203.0.113.111', 1), ['spent'])
  assertRefusal(await operate('reinstate', suspended), 404, 'not_found')
})

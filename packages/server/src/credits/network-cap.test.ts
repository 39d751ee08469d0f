import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness, type Harness } from '../../test/fixtures/harness.ts'

const limited = { ADDRESS_LIMITS: 'on', TRUSTED_PROXIES: '127.0.0.1' }
const harness = await startHarness({ ...limited, FREE_PLANS_PER_NETWORK: '2' })

const registerFrom = async (deployment: Harness, address: string, domain: string): Promise<string> => {
  const { json } = await deployment.call('POST', '/api/agents/register', {
    headers: { 'x-forwarded-for': address },
    body: { name: 'Test', contactEmail: `dev@${domain}` },
  })
  await deployment.owner.query('update agents set email_confirmed_at = pohf_now() where agent_id = $1', [
    json.agentId,
  ])
  return json.apiKey as string
}
const remainingOf = async (deployment: Harness, key: string): Promise<number> => {
  const { json } = await deployment.call('GET', '/api/agents/credits/balance', { key })
  return json.freeRemaining as number
}
const freeOf = async (address: string, domain: string, deployment = harness): Promise<number> =>
  remainingOf(deployment, await registerFrom(deployment, address, domain))
const countPlans = (remaining: readonly number[]): number => remaining.filter((seals) => seals > 0).length

void test('a network has 2 free plans, whatever the mail domains; other networks have their own', async () => {
  const near: number[] = []
  for (const domain of ['a.example', 'b.example', 'c.example']) near.push(await freeOf('192.0.2.7', domain))
  assert.deepEqual(near, [1000, 1000, 0])
  assert.equal(await freeOf('192.0.2.8', 'd.example'), 1000)
})

void test('an agent refused for its network leaves the place of its mail domain to others', async () => {
  for (let tries = 0; tries < 4; tries++) assert.equal(await freeOf('192.0.2.7', 'full.example'), 0)
  assert.equal(await freeOf('192.0.2.9', 'full.example'), 1000)
})

void test('subdomains of one domain share its places, from however many networks they register', async () => {
  const remaining = await Promise.all(
    Array.from({ length: 8 }, (_, i) => freeOf(`2001:db8:${i + 1}::1`, `s${i}.evil.example`)),
  )
  assert.equal(countPlans(remaining), 3)
})

void test('a /48 and a /24 have ten places, from however many addresses and domains they register', async () => {
  const networks = [
    (i: number) => `2001:470:abcd:${(i + 1).toString(16)}::1`,
    (i: number) => `198.51.100.${i + 1}`,
  ]
  for (const [n, makeAddress] of networks.entries()) {
    const remaining = await Promise.all(
      Array.from({ length: 14 }, (_, i) => freeOf(makeAddress(i), `wide-${n}-${i}.example`)),
    )
    assert.equal(countPlans(remaining), 10)
  }
  assert.equal(await freeOf('2001:470:abce:1::1', 'neighbour.example'), 1000)
})

void test('a month has a limit of new plans; agents keep their plans, and the next month has its own limit', async () => {
  const small = await startHarness({ ...limited, FREE_PLANS_PER_MONTH: '3' })
  const keys = await Promise.all(
    Array.from({ length: 6 }, (_, i) => registerFrom(small, `203.0.${i}.1`, `month-${i}.example`)),
  )
  const readAll = () => Promise.all(keys.map((key) => remainingOf(small, key)))
  assert.equal(countPlans(await readAll()), 3)
  assert.equal(countPlans(await readAll()), 3)
  // The refused agents hold no place.
  const { rows } = await small.owner.query(
    'select kind, count(*)::int as places from free_plan_places group by kind order by kind',
  )
  assert.deepEqual(rows, [
    { kind: 'mail', places: 3 },
    { kind: 'network', places: 3 },
    { kind: 'wide_network', places: 3 },
  ])
  await small.advance(32 * 86_400_000)
  assert.equal(countPlans(await readAll()), 6)
})

void test('a cap of zero gives no plan at all', async () => {
  const none = await startHarness({ ...limited, FREE_PLANS_PER_MONTH: '0' })
  assert.equal(await freeOf('203.0.113.1', 'zero.example', none), 0)
})

void test('no address and no network is stored, only keyed hashes', async () => {
  const { rows } = await harness.owner.query('select row_to_json(a)::text as text from agents a')
  assert.ok(rows.length > 10)
  for (const { text } of rows as { text: string }[]) assert.doesNotMatch(text, /2001:|198\.51|192\.0\.2/)
})

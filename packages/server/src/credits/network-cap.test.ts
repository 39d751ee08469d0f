import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/fixtures/harness.ts'

const harness = await startHarness({
  ADDRESS_LIMITS: 'on',
  TRUSTED_PROXIES: '127.0.0.1',
  FREE_PLANS_PER_NETWORK: '2',
})

const freeOf = async (address: string, domain: string): Promise<number> => {
  const { json } = await harness.call('POST', '/api/agents/register', {
    headers: { 'x-forwarded-for': address },
    body: { name: 'Test', contactEmail: `dev@${domain}` },
  })
  await harness.owner.query('update agents set email_confirmed_at = pohf_now() where agent_id = $1', [
    json.agentId,
  ])
  const balance = await harness.call('GET', '/api/agents/credits/balance', { key: json.apiKey })
  return balance.json.freeRemaining as number
}

void test('a network has so many free plans, whatever the mail domains; other networks have their own', async () => {
  const near: number[] = []
  for (const domain of ['a.example', 'b.example', 'c.example']) near.push(await freeOf('192.0.2.7', domain))
  assert.deepEqual(near, [1000, 1000, 0])
  assert.equal(await freeOf('192.0.2.8', 'd.example'), 1000)
})

void test('an agent refused for its network leaves the place of its mail domain to others', async () => {
  for (let tries = 0; tries < 4; tries++) assert.equal(await freeOf('192.0.2.7', 'full.example'), 0)
  assert.equal(await freeOf('192.0.2.9', 'full.example'), 1000)
})

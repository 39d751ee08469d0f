import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isId, modes } from '@pohf/protocol'
import { ensurePlatformAgents, platformAgentId } from '../../src/agents/index.ts'
import { startHarness } from '../fixtures/harness.ts'

const harness = await startHarness()

test('each mode has one platform agent of a valid form, however often and at once the program starts', async () => {
  await Promise.all(Array.from({ length: 8 }, () => ensurePlatformAgents(harness.ctx)))
  for (const mode of modes) {
    const agentId = platformAgentId(harness.ctx.config, mode)
    assert.ok(isId('agt_', agentId))
    const { rows } = await harness.owner.query('select mode from agents where agent_id = $1', [agentId])
    assert.deepEqual(rows, [{ mode }])
  }
})

test('the platform agent has no key, and no mailed link can make one', async () => {
  await harness.call('POST', '/api/agents/keys/recover', { body: { contactEmail: 'house@localhost' } })
  const { rows } = await harness.owner.query(
    `select agent_id from agents a where name = 'House' and email_confirmed_at is null
       and not exists (select from api_keys k where k.agent_id = a.agent_id)
       and not exists (select from mail_tokens t where t.agent_id = a.agent_id)`,
  )
  assert.equal(rows.length, 2)
})

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startHarness } from '../../test/fixtures/harness.ts'
import { browseFrom, budgetSettings, registerPayingAgent } from '../../test/fixtures/networks.ts'
import { makeAttestedModel } from '../../test/fixtures/people/attested-model.ts'
import { playSession } from '../../test/fixtures/people/play-session.ts'
import { openSecurityKey } from '../../test/fixtures/people/security-key.ts'
import { assertRefusal } from '../../test/fixtures/refusal.ts'
import * as operators from '../operators/index.ts'

const model = await makeAttestedModel()
after(() => model.close())
const harness = await startHarness({
  ...budgetSettings,
  ...model.settings,
  ROOT_BUDGETS: 'off',
  ROOT_ADDRESS_PER_HOUR: '2',
  ROOT_DEVICE_PER_DAY: '1',
})
const operator = await operators.create(harness.ctx, 'machine', 'Ada')
const agent = await registerPayingAgent(harness)
const key = openSecurityKey(harness, model)
const page = browseFrom(harness, '203.0.113.1')
const verify = (sessionId: string) =>
  harness.call('POST', '/api/agents/verify', { key: agent.apiKey, body: { sessionId } })
const playAttested = async (): Promise<string> => {
  const { sessionId } = await playSession(page, { site: agent.agentId })
  await key.attest(agent.apiKey, sessionId)
  return sessionId
}

test('without budgets a suspended model still gets no credential and its credentials are found; nothing else is refused or counted', async () => {
  const minted: string[] = []
  for (let n = 0; n < 2; n++) {
    const { json, text } = await verify(await playAttested())
    assert.equal(json.assurance, 'substantial', text)
    minted.push(json.credentialId)
  }
  const suspended = await harness.callOperator('POST', '/operator/roots/suspend', {
    key: operator.operatorKey,
    body: { kind: 'authenticator', name: model.aaguid, credentials: 'suspend', reason: 'keys leaked' },
  })
  assert.equal(suspended.json.credentials, 2, suspended.text)
  const { rows } = await harness.owner.query(
    "select from credential_states where credential_id = any($1) and state = 'suspended'",
    [minted],
  )
  assert.equal(rows.length, 2)
  assertRefusal(await verify(await playAttested()), 409, 'root_suspended')
  for (let n = 0; n < 3; n++) {
    const { sessionId } = await playSession(page, { site: agent.agentId })
    assert.equal((await verify(sessionId)).json.assurance, 'low')
  }
  for (const table of ['root_counters', 'root_sessions', 'root_reservations', 'root_network_credentials'])
    assert.equal((await harness.owner.query(`select from ${table} limit 1`)).rows.length, 0, table)
})

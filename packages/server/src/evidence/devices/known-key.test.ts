import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sendTo, startHarness } from '../../../test/fixtures/harness.ts'
import { registerPayingAgent } from '../../../test/fixtures/networks.ts'
import { makeAttestedModel } from '../../../test/fixtures/people/attested-model.ts'
import { playSession } from '../../../test/fixtures/people/play-session.ts'
import { openSecurityKey } from '../../../test/fixtures/people/security-key.ts'
import { buildApp, buildContext } from '../../wiring/index.ts'

const model = await makeAttestedModel()
after(() => model.close())
const harness = await startHarness(model.settings)
const agent = await registerPayingAgent(harness)

/** The same service after a restart with metadata that does not list the model. */
const restartWithoutMetadata = async () => {
  const { ATTEST_FIDO_METADATA_FILE: _, ...config } = harness.ctx.config
  const ctx = buildContext({ ...harness.ctx, config, name: 'pohf-restarted' })
  const app = buildApp(ctx)
  await Promise.all([app.api.ready(), app.operator.ready()])
  after(async () => {
    await Promise.all([app.api.close(), app.operator.close()])
    await ctx.db.end()
  })
  return sendTo(app.api)
}

test('a known key raises nothing once the metadata does not list its model', async () => {
  let { call } = harness
  const key = openSecurityKey({ ctx: harness.ctx, call: (...request) => call(...request) }, model)
  const attest = async () => {
    const { sessionId } = await playSession(harness, { site: agent.agentId })
    const { json } = await key.attest(agent.apiKey, sessionId)
    const minted = await call('POST', '/api/agents/verify', { key: agent.apiKey, body: { sessionId } })
    return { verdict: json, level: minted.json.assurance }
  }
  assert.deepEqual(await attest(), {
    verdict: { attested: true, assurance: 'hardware_strong' },
    level: 'substantial',
  })
  call = await restartWithoutMetadata()
  const unlisted = { attested: true, assurance: 'software', reason: 'device_unproven' }
  assert.deepEqual(await attest(), { verdict: unlisted, level: 'low' })
  call = harness.call
  assert.equal((await attest()).level, 'substantial', 'listed again')
})

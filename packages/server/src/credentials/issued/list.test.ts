import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as operators from '../../operators/index.ts'
import { startHarness } from '../../../test/fixtures/harness.ts'

const harness = await startHarness()
type Agent = Awaited<ReturnType<typeof harness.register>>
const { operatorKey } = await operators.create(harness.ctx, 'machine', 'Ada')

const mint = async (agent: Agent, sessionId: string) => {
  const answer = await harness.call('POST', '/api/agents/verify', { key: agent.apiKey, body: { sessionId } })
  assert.equal(answer.status, 200, answer.text)
  return answer.json
}
const list = async (agent: Agent, query = '') => {
  const answer = await harness.call('GET', `/api/agents/credentials${query}`, { key: agent.apiKey })
  assert.equal(answer.status, 200, answer.text)
  return answer.json.credentials as { readonly credentialId: string; readonly status: string }[]
}
const read = (agent: Agent, credentialId: string) =>
  harness.call('GET', `/api/agents/credentials/${credentialId}`, { key: agent.apiKey })
const change = async (step: string, credentialId: string) => {
  const answer = await harness.callOperator('POST', `/operator/credentials/${credentialId}/${step}`, {
    key: operatorKey,
    body: { reason: 'secret of the operator' },
  })
  assert.equal(answer.status, 200, answer.text)
}

test('a minted credential is listed as verify answered it', async () => {
  const agent = await harness.register('test')
  const minted = await mint(agent, 'visit-1')
  const [row] = await list(agent)
  assert.deepEqual(row, {
    credentialId: minted.credentialId,
    kind: minted.kind,
    status: 'active',
    assurance: minted.assurance,
    quality: minted.quality,
    sessionId: 'visit-1',
    issuedAt: (row as unknown as { issuedAt: string }).issuedAt,
    expiresAt: minted.expiresAt,
  })
})

test('a credential is read with its token, its claims and its states', async () => {
  const agent = await harness.register('test')
  const minted = await mint(agent, 'visit-2')
  await change('suspend', minted.credentialId)
  await change('reinstate', minted.credentialId)
  const { status, json, text } = await read(agent, minted.credentialId)
  assert.equal(status, 200, text)
  assert.equal(json.pohf_jwt, minted.pohf_jwt)
  assert.equal(json.statusUri, minted.statusUri)
  assert.equal(json.claims.jti, minted.credentialId)
  assert.equal(json.claims.view.session, 'visit-2')
  assert.ok(json.claims.evidence.length > 0)
  assert.deepEqual(
    json.changes.map((one: { state: string }) => one.state),
    ['issued', 'suspended', 'issued'],
  )
  assert.ok(!text.includes('secret of the operator'), 'the reason is for the audit log')
})

test('a credential whose id tells no time is read, too', async () => {
  const agent = await harness.register('test')
  const { credentialId } = await mint(agent, 'visit-3')
  await harness.owner.query(
    `insert into credentials select (jsonb_populate_record(c, '{"credential_id": "old-form-1"}')).*
     from credentials c where credential_id = $1`,
    [credentialId],
  )
  const { status, json, text } = await read(agent, 'old-form-1')
  assert.equal(status, 200, text)
  assert.equal(json.credentialId, 'old-form-1')
})

test('the credential of another agent, or one that nobody has, is not found', async () => {
  const agent = await harness.register('test')
  const { credentialId } = await mint(agent, 'visit-3')
  const stranger = await harness.register('test')
  for (const id of [credentialId, 'crd_none', `${credentialId.slice(0, -1)}0`])
    assert.equal((await read(stranger, id)).json.error, 'not_found')
})

test('the status of a credential follows its states and its time, and filters find it', async () => {
  const agent = await harness.register('test')
  const ids: Record<string, string> = {}
  for (const name of ['active', 'suspended', 'revoked'])
    ids[name] = (await mint(agent, `visit-${name}`)).credentialId
  await change('suspend', ids['suspended'] ?? '')
  await change('revoke', ids['revoked'] ?? '')
  for (const status of ['active', 'suspended', 'revoked'])
    assert.deepEqual(
      (await list(agent, `?status=${status}`)).map((row) => [row.credentialId, row.status]),
      [[ids[status], status]],
    )
  assert.deepEqual(await list(agent, '?status=expired'), [])
  assert.equal((await list(agent, '?kind=view')).length, 3)
  assert.equal((await list(agent, '?kind=personhood')).length, 0)
  assert.equal((await list(agent, '?assurance=high')).length, 0)
  assert.equal((await list(agent, '?assurance=low&status=active')).length, 1)
  // A test credential is valid for a week.
  await harness.advance(8 * 86_400_000)
  assert.deepEqual(
    (await list(agent)).map(({ status }) => status),
    ['revoked', 'expired', 'expired'],
  )
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { arrivalPath, arrivalProof, arrivalReport } from '../../src/platform/http/http-arrival.ts'
import { startHarness } from '../fixtures/harness.ts'

const harness = await startHarness({ TRUSTED_PROXIES: '10.9.0.0/16' })
const ask = (peer: string, headers: Record<string, string>) =>
  harness.app.api.inject({ method: 'GET', url: arrivalPath, remoteAddress: peer, headers })
const proof = () => arrivalProof(harness.ctx.secrets, harness.ctx.clock.now())

test('a holder of the master key learns which proxy a request passed, what it sent and what was read', async () => {
  const cases: readonly (readonly [peer: string, sent: string | null, address: string])[] = [
    ['10.9.1.2', '6.6.6.6, 198.51.100.7:5678', '198.51.100.7'],
    ['10.9.1.2', 'garbage', 'unknown'],
    ['10.9.1.2', null, '10.9.1.2'],
    ['203.0.113.5', '198.51.100.7', '203.0.113.5'],
  ]
  for (const [peer, sent, address] of cases) {
    const mapped = `::ffff:${peer}`
    const answer = await ask(mapped, { ...proof(), ...(sent === null ? {} : { 'x-forwarded-for': sent }) })
    assert.equal(answer.statusCode, 200)
    assert.deepEqual(arrivalReport.parse(answer.json()), { peer, forwardedFor: sent, address })
  }
})

test('to everybody else it is a page that does not exist', async () => {
  const unknown = await harness.app.api.inject({ method: 'GET', url: '/no-such-page' })
  const old = proof()
  await harness.advance(6 * 60_000)
  const [name, value] = Object.entries(proof())[0] ?? ['', '']
  const proofs = [
    undefined,
    '',
    'x',
    `${value.slice(0, -2)}AA`,
    value.slice(2),
    'A'.repeat(10_000),
    ...Object.values(old),
  ]
  for (const tried of proofs) {
    const answer = await ask('10.9.1.2', tried === undefined ? {} : { [name]: tried })
    assert.equal(answer.statusCode, 404, tried?.slice(0, 40))
    assert.equal(answer.json<{ error: string }>().error, unknown.json<{ error: string }>().error)
    assert.doesNotMatch(answer.body, /10\.9/)
  }
})

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { after, test } from 'node:test'
import { credentialKinds, verifyCredential, type Fetch, type Policy } from '@pohf/verify'
import { startHarness } from '../fixtures/harness.ts'

const harness = await startHarness()
const { apiKey: key } = await harness.register('test')
const issuer = harness.ctx.config.BASE_URL
const policy: Policy = {
  kinds: credentialKinds,
  minAssurance: 'low',
  minQuality: 0,
  status: 'if-present',
  allowTest: true,
}

/** The server's own answers, without a port. */
const inProcess: Fetch = async (url) => {
  const answer = await harness.call('GET', new URL(url).pathname)
  return new Response(answer.text, { status: answer.status })
}
const mint = async (path: string, body: Record<string, unknown>): Promise<string> => {
  const { status, json } = await harness.call('POST', path, { key, body })
  assert.equal(status, 200)
  return json.pohf_jwt
}
const mintPresence = async (): Promise<string> => {
  const submitted = await harness.call('POST', '/api/kinetic/submit', {
    key,
    body: { memberId: 'alice', source: 'receipt', photoHash: 'p1' },
  })
  return mint('/api/agents/verify', { sessionId: submitted.json.sessionId })
}

const minted: readonly (readonly [string, () => Promise<string>])[] = [
  ['view', () => mint('/api/agents/verify', { sessionId: 'anyone' })],
  ['presence', mintPresence],
  ['personhood', () => mint('/api/agents/verify-personhood', { memberId: 'alice' })],
  [
    'binding',
    () => mint('/api/agents/bind-transaction', { paymentRef: 'card:ord_123456', memberId: 'alice' }),
  ],
]
for (const [kind, make] of minted) {
  test(`a ${kind} credential of this server passes @pohf/verify, and as a test one only where tests are allowed`, async () => {
    const jwt = await make()
    const result = await verifyCredential(jwt, { issuer, policy, fetch: inProcess })
    assert.ok(result.ok, result.ok ? '' : result.message)
    assert.equal(result.claims.kind, kind)
    const strict = { ...policy, allowTest: false }
    const refused = await verifyCredential(jwt, { issuer, policy: strict, fetch: inProcess })
    assert.ok(!refused.ok && refused.reason === 'test_credential')
  })
}

test('the challenge that the agent passed on is the one that the relying party checks', async () => {
  const jwt = await mint('/api/agents/verify', { sessionId: 'with a nonce', challenge: 'n-0S6' })
  const by = (challenge: string) =>
    verifyCredential(jwt, { issuer, policy: { ...policy, challenge }, fetch: inProcess })
  assert.ok((await by('n-0S6')).ok)
  const refused = await by('another')
  assert.ok(!refused.ok && refused.reason === 'wrong_challenge')
})

test('over a real socket a key set that redirects is not followed', async () => {
  const server = createServer((request, response) => {
    if (request.url?.startsWith('/moved')) response.writeHead(302, { location: '/elsewhere' }).end()
    else response.writeHead(200, { 'content-type': 'application/json' }).end('{"keys":[]}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  after(() => server.close())
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : 0
  const moved = await verifyCredential(await mint('/api/agents/verify', { sessionId: 'anyone' }), {
    issuer: `http://127.0.0.1:${port}/moved`,
    policy,
  })
  assert.ok(!moved.ok && moved.reason === 'keys_unavailable')
})

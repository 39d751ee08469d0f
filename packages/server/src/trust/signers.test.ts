import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { createSigner, httpbis } from 'http-message-signatures'
import { generateNonce, signatureHeaders } from 'web-bot-auth'
import { signerFromJWK } from 'web-bot-auth/crypto'
import { startHarness } from '../../test/fixtures/harness.ts'
import { makeKey, startKeyServer, type TestKey } from '../../test/fixtures/trust/key-server.ts'
import { contentDigest, makeTrustOperator, orderBody, orderPath } from '../../test/fixtures/trust/orders.ts'

// Signers that other people wrote, unmodified.

const harness = await startHarness()
const trust = await makeTrustOperator(harness)
const server = await startKeyServer()
const keys = { ed25519: await makeKey.ed25519(), p256: await makeKey.p256(), rsa: await makeKey.rsa() }
server.keys = Object.values(keys).map(({ publicJwk }) => publicJwk)
await trust.mustAdd({ kind: 'directory', name: server.origin })
const network = await startKeyServer()
network.keys = server.keys.map((key) => ({ ...key, kid: `visa-${key.kty}` }))
await trust.mustAdd({ kind: 'jwks', name: 'visa', keysUrl: `${network.origin}/keys` })

const url = `${harness.ctx.config.BASE_URL}${orderPath}`
const raw = JSON.stringify(orderBody)
const send = (headers: Record<string, string>) => harness.call('POST', orderPath, { raw, headers })

for (const kind of ['ed25519', 'rsa'] as const)
  test(`web-bot-auth signs an order with a key of kind ${kind}`, async () => {
    const headers = { 'signature-agent': `"${server.origin}"`, 'content-digest': contentDigest(raw) }
    const signed = await signatureHeaders(
      { method: 'POST', url, headers },
      await signerFromJWK({ ...keys[kind].privateJwk, ...(kind === 'rsa' ? { alg: 'PS512' } : {}) }),
      {
        created: harness.ctx.clock.now(),
        expires: new Date(harness.ctx.clock.now().getTime() + 300_000),
        nonce: generateNonce(),
        components: ['@authority', '@path', 'content-digest', 'signature-agent'],
      },
    )
    const answer = await send({
      ...headers,
      signature: signed['Signature'],
      'signature-input': signed['Signature-Input'],
    })
    assert.equal(answer.status, 200, answer.text)
    assert.equal(answer.json.agent.bodyBound, true)
  })

test('what web-bot-auth signs by default is refused: its signature works for every path', async () => {
  const headers = { 'signature-agent': `"${server.origin}"` }
  const signed = await signatureHeaders(
    { method: 'POST', url, headers },
    await signerFromJWK(keys.ed25519.privateJwk),
    {
      created: harness.ctx.clock.now(),
      expires: new Date(harness.ctx.clock.now().getTime() + 300_000),
      nonce: generateNonce(),
    },
  )
  const answer = await send({
    ...headers,
    signature: signed['Signature'],
    'signature-input': signed['Signature-Input'],
  })
  assert.equal(answer.json.error, 'agent_signature_invalid', answer.text)
  assert.equal(answer.json.details[0].code, 'component_missing')
})

const signers: readonly (readonly [algorithm: string, key: TestKey, keyid: string])[] = [
  ['ed25519', keys.ed25519, 'visa-OKP'],
  ['ecdsa-p256-sha256', keys.p256, 'visa-EC'],
  ['rsa-pss-sha512', keys.rsa, 'visa-RSA'],
]
for (const [algorithm, key, keyid] of signers)
  test(`http-message-signatures signs as agents of a network do, with ${algorithm}`, async () => {
    const request: { method: string; url: string; headers: Record<string, string> } = {
      method: 'POST',
      url,
      headers: {},
    }
    const { headers } = await httpbis.signMessage(
      {
        key: createSigner(key.privateKey, algorithm, keyid),
        name: 'sig2',
        fields: ['@authority', '@path'],
        params: ['created', 'expires', 'keyid', 'alg', 'nonce', 'tag'],
        paramValues: {
          created: harness.ctx.clock.now(),
          expires: new Date(harness.ctx.clock.now().getTime() + 480_000),
          nonce: randomUUID(),
          tag: 'agent-payer-auth',
        },
      },
      request,
    )
    const lower = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
    )
    const answer = await send(lower)
    assert.equal(answer.status, 200, answer.text)
    assert.equal(answer.json.agent.bodyBound, false)
    const { rows } = await harness.owner.query('select external_id from trust_agents where agent_id = $1', [
      answer.json.agent.agentId,
    ])
    assert.deepEqual(rows, [{ external_id: `tap:visa#${key.keyid}` }])
  })

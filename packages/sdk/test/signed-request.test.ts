import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../server/test/fixtures/harness.ts'
import { makeKey, startKeyServer } from '../../server/test/fixtures/trust/key-server.ts'
import { makeTrustOperator, orderBody, orderPath } from '../../server/test/fixtures/trust/orders.ts'
import { signRequest } from '../src/index.ts'

const harness = await startHarness()
const trust = await makeTrustOperator(harness)
const server = await startKeyServer()
await trust.mustAdd({ kind: 'directory', name: server.origin, requireDigest: true })
const url = `${harness.ctx.config.BASE_URL}${orderPath}`
const body = JSON.stringify(orderBody)

const algorithms = {
  ed25519: { name: 'Ed25519' },
  p256: { name: 'ECDSA', namedCurve: 'P-256' },
} as const
for (const kind of ['ed25519', 'p256'] as const)
  test(`signRequest signs an order with a key of kind ${kind}, which covers the body and works once`, async () => {
    const key = await makeKey[kind]()
    server.keys = [key.publicJwk]
    await harness.advance(61_000)
    const privateKey = await crypto.subtle.importKey(
      'jwk',
      key.privateJwk as { kty: string },
      algorithms[kind],
      false,
      ['sign'],
    )
    const sign = () =>
      signRequest({ method: 'POST', url, body, agent: server.origin, privateKey, keyid: key.keyid })
    // The harness is ahead of the clock of this machine: its signatures look a minute old, which is within their time.
    const headers = await sign()
    const first = await harness.call('POST', orderPath, { raw: body, headers })
    assert.equal(first.status, 200, first.text)
    assert.equal(first.json.agent.bodyBound, true)
    const again = await harness.call('POST', orderPath, { raw: body, headers })
    assert.equal(again.json.details[0].code, 'nonce_used')
    const other = await harness.call('POST', orderPath, { raw: `${body} `, headers: await sign() })
    assert.equal(other.json.details[0].code, 'digest_mismatch')
  })

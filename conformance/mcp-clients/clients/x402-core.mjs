// @x402/core signs what the tool's challenge offers, under an identifier of its own (@x402/extensions), over the specification's MCP transport.
import assert from 'node:assert/strict'
import { x402Client } from '@x402/core/client'
import { registerExactEvmScheme } from '@x402/evm/exact/client'
import {
  extractDiscoveryInfo,
  validateDiscoveryExtension,
  validateDiscoveryExtensionSpec,
} from '@x402/extensions/bazaar'
import { appendPaymentIdentifierToExtensions } from '@x402/extensions/payment-identifier'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { privateKeyToAccount } from 'viem/accounts'

const { BASE_URL: baseUrl, PAYER_PRIVATE_KEY: privateKey } = process.env
const signer = new x402Client()
registerExactEvmScheme(signer, { signer: privateKeyToAccount(privateKey) })

const client = new Client(
  { name: 'foreign', version: '1' },
  { versionNegotiation: { mode: { pin: '2026-07-28' } } },
)
await client.connect(new StreamableHTTPClientTransport(new URL(`${baseUrl}/mcp`)))
const call = (meta) =>
  client.callTool({
    name: 'purchase_verified_human_task',
    arguments: { workflowId: 'wf_test_ok' },
    ...(meta ? { _meta: meta } : {}),
  })

/** The reader that facilitators use to list what was paid for. */
const listingOf = (payload) => {
  const { bazaar } = payload.extensions
  for (const check of [validateDiscoveryExtension, validateDiscoveryExtensionSpec])
    assert.deepEqual(check(bazaar), { valid: true })
  return extractDiscoveryInfo(payload, payload.accepted)
}

const required = (await call()).structuredContent
appendPaymentIdentifierToExtensions(required.extensions)
const payment = await signer.createPaymentPayload(required)
assert.match(payment.extensions['payment-identifier'].info.id, /^pay_/)
const listing = listingOf(payment)
assert.equal(listing.resourceUrl, `${baseUrl}/mcp`)
assert.equal(listing.toolName, 'purchase_verified_human_task')
const result = await call({ 'x402/payment': payment })
assert.equal(result.isError, false, JSON.stringify(result).slice(0, 500))
assert.equal(result._meta['x402/payment-response'].success, true)

const probe = await fetch(`${baseUrl}/api/agent/tasks/wf_test_ok/buy`)
assert.equal(probe.status, 402)
const overHttp = JSON.parse(Buffer.from(probe.headers.get('payment-required'), 'base64').toString())
const httpListing = listingOf(await signer.createPaymentPayload(overHttp))
assert.equal(httpListing.method, 'GET')
assert.equal(httpListing.resourceUrl, `${baseUrl}/api/agent/tasks/:workflowId/buy`)
console.log(JSON.stringify({ ok: true, credential: result.structuredContent.pohf_jwt }))
process.exit(0)

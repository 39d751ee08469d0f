// Cloudflare's `agents`: its x402 client buys over MCP with a wallet and without a key.
import assert from 'node:assert/strict'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { withX402Client } from 'agents/x402'
import { privateKeyToAccount } from 'viem/accounts'

const { BASE_URL: baseUrl, PAYER_PRIVATE_KEY: privateKey } = process.env
const client = new Client({ name: 'foreign', version: '1' })
await client.connect(new StreamableHTTPClientTransport(new URL(`${baseUrl}/mcp`)))
const buyer = withX402Client(client, { account: privateKeyToAccount(privateKey), network: 'eip155:84532' })
await buyer.listTools()
const result = await buyer.callTool(null, {
  name: 'purchase_verified_human_task',
  arguments: { workflowId: 'wf_test_ok' },
})
assert.equal(result.isError, false, JSON.stringify(result).slice(0, 500))
assert.equal(result._meta['x402/payment-response'].success, true)
console.log(JSON.stringify({ ok: true, credential: result.structuredContent.pohf_jwt }))
process.exit(0)

// @modelcontextprotocol/sdk 1.32, which checks every structured result against the output schema of its tool.
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { runJourney } from './journey.mjs'

await runJourney(async (url, headers) => {
  const client = new Client({ name: 'foreign', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }))
  return client
})

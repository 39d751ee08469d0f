// @modelcontextprotocol/client 2.4, with the protocol that PROTOCOL names: legacy (2025-11-25), auto, or a pinned version.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { runJourney } from './journey.mjs'

const protocol = process.env.PROTOCOL ?? 'auto'
const mode = ['legacy', 'auto'].includes(protocol) ? protocol : { pin: protocol }

await runJourney(async (url, headers) => {
  const client = new Client({ name: 'foreign', version: '1' }, { versionNegotiation: { mode } })
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }))
  return client
})

// @modelcontextprotocol/server 2.4 with its client: the tool of a server of somebody else.
import { Client, InMemoryTransport } from '@modelcontextprotocol/client'
import { McpServer } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { guardHandler } from '../../../packages/sdk/src/approvals/mcp.ts'
import { input, options, pay, report } from './payment.mjs'

const server = new McpServer({ name: 'payments', version: '1.0.0' })
server.registerTool(
  'pay',
  { description: 'Pays.', inputSchema: z.object({ amount: z.string(), to: z.string() }) },
  guardHandler((payment) => ({ content: [{ type: 'text', text: pay(payment) }] }), options),
)
const [ours, theirs] = InMemoryTransport.createLinkedPair()
const client = new Client({ name: 'foreign', version: '1.0.0' })
await Promise.all([server.connect(ours), client.connect(theirs)])
const result = await client.callTool({ name: 'pay', arguments: input }, { timeout: 120_000 })
report(JSON.stringify(result))
await client.close()

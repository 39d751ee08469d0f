import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  Client,
  StreamableHTTPClientTransport,
  type VersionNegotiationMode,
} from '@modelcontextprotocol/client'
import { startHarness } from '../../test/fixtures/harness.ts'

const harness = await startHarness()
const address = await harness.app.api.listen({ port: 0, host: '127.0.0.1' })

const modes: readonly VersionNegotiationMode[] = ['legacy', 'auto', { pin: '2026-07-28' }]
for (const mode of modes) {
  test(`the official client lists and calls tools, negotiating ${JSON.stringify(mode)}`, async () => {
    const client = new Client({ name: 'oracle', version: '1' }, { versionNegotiation: { mode } })
    await client.connect(new StreamableHTTPClientTransport(new URL(`${address}/mcp/identity`)))
    try {
      const { tools } = await client.listTools()
      assert.ok(tools.some((tool) => tool.name === 'register_agent'))
      const result = await client.callTool({
        name: 'register_agent',
        arguments: { name: 'Robot', contactEmail: 'robot@example.com', mode: 'test' },
      })
      assert.equal(result.isError, false)
      assert.match(JSON.stringify(result.structuredContent), /svc_test_/)
      await assert.rejects(client.callTool({ name: 'no_such_tool' }), /Unknown tool/)
    } finally {
      await client.close()
    }
  })
}

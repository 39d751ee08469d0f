import {
  Failure,
  at,
  expectAbsent,
  expectEqual,
  expectThat,
  filledListAt,
  isRecord,
  listAt,
  recordAt,
  textAt,
  webAddressAt,
} from '../../expect.ts'
import { uniqueText, keySet, offeredWorkflows, testAgent } from '../../fixtures.ts'
import { expectRefusal, expectStatus } from '../../http.ts'
import { callTool, listTools, rpc } from '../../mcp-client.ts'
import type { Section, Statement } from '../../statement.ts'
import type { RunContext } from '../../run-context.ts'

const mcp = 'POST /mcp'
const apiMcp = 'POST /api/mcp'
const identity = 'POST /mcp/identity'
const available = 'GET /api/workflows/available'
const order = 'POST /api/agents/order'
const fund = 'POST /api/agents/order/fund'
const jwks = 'GET /.well-known/jwks.json'
const buy = 'GET /api/agent/tasks/{workflowId}/buy'

const idsOf = (output: unknown): string =>
  listAt(output, 'workflows')
    .map((workflow) => textAt(workflow, 'id'))
    .toSorted()
    .join()

const toolNamed = async (world: RunContext, name: string): Promise<unknown> => {
  const tools = await listTools(world, '/mcp')
  const tool = tools.find((candidate) => at(candidate, 'name') === name)
  if (tool === undefined)
    throw new Failure(
      `the tool ${name}`,
      tools.map((other) => at(other, 'name')),
    )
  return tool
}

const servesAt = (path: '/mcp' | '/api/mcp'): Statement => ({
  id: `mcp.served${path.replaceAll('/', '-')}`,
  title: `the tools are served at ${path}`,
  needs: [`POST ${path}`],
  run: async (world) => {
    const names = (await listTools(world, path)).map((tool) => textAt(tool, 'name'))
    for (const name of ['list_verified_work', 'commission_work', 'fund_order', 'verify_credential'])
      expectThat(names.includes(name), `the tool ${name}`, names)
  },
})

const acceptsInput = (tool: string, input: Readonly<Record<string, 'string' | 'number'>>): Statement => ({
  id: `mcp.input-${tool}`,
  title: `${tool} takes ${Object.keys(input).join(', ')}`,
  needs: [mcp],
  run: async (world) => {
    const properties = recordAt(await toolNamed(world, tool), 'inputSchema.properties')
    for (const [name, type] of Object.entries(input)) {
      const given = at(properties[name], 'type')
      const isFitting = given === type || (type === 'number' && given === 'integer')
      expectThat(isFitting, `${name} as ${type}`, properties[name])
    }
  },
})

const acceptsNoInput = (tool: string): Statement => ({
  id: `mcp.input-${tool}`,
  title: `${tool} needs no input`,
  needs: [mcp],
  run: async (world) => {
    const schema = recordAt(await toolNamed(world, tool), 'inputSchema')
    const required = schema['required'] ?? []
    expectThat(Array.isArray(required) && required.length === 0, 'no required input', schema)
  },
})

export const machineTools: Section = {
  name: 'Machine tools (MCP)',
  statements: [
    servesAt('/mcp'),
    servesAt('/api/mcp'),
    {
      id: 'mcp.json-rpc',
      title: 'a call is answered in JSON-RPC 2.0 under its own id, and a tool answers with content',
      needs: [mcp, jwks],
      isProjectDecision: true,
      run: async (world) => {
        const params = { name: 'verify_credential', arguments: {} }
        const { body } = await rpc(world, '/mcp', 'tools/call', { params })
        expectEqual(at(body, 'jsonrpc'), '2.0', 'jsonrpc')
        expectEqual(at(body, 'id'), 1, 'id')
        textAt(filledListAt(body, 'result.content')[0], 'type')
      },
    },
    acceptsNoInput('list_verified_work'),
    acceptsInput('commission_work', { taskType: 'string', quantity: 'number', maxPriceUsd: 'number' }),
    acceptsInput('fund_order', { orderId: 'string' }),
    acceptsNoInput('verify_credential'),
    {
      id: 'mcp.list-verified-work',
      title: 'list_verified_work gives the list of the web endpoint',
      needs: [mcp, available],
      run: async (world) => {
        const { output } = await callTool(world, '/mcp', 'list_verified_work')
        const answer = await world.http.get('/api/workflows/available')
        expectEqual(idsOf(output), idsOf(answer.body), 'ids')
        // Two empty lists are equal and show nothing: a failure on loopback, and elsewhere a reason to skip.
        if (idsOf(output) === '') await offeredWorkflows(world)
      },
    },
    {
      id: 'mcp.commission-work',
      title: 'commission_work with a key creates an order',
      needs: [mcp, order],
      run: async (world) => {
        const input = { taskType: uniqueText('task'), quantity: 1, maxPriceUsd: 5 }
        const { output, isError } = await callTool(world, '/mcp', 'commission_work', {
          input,
          key: (await testAgent(world)).apiKey,
        })
        expectEqual(isError, false, 'isError')
        textAt(output, 'orderId')
      },
    },
    {
      id: 'mcp.commission-needs-key',
      title: 'commission_work without a key creates nothing',
      needs: [mcp, order],
      run: async (world) => {
        const input = { taskType: uniqueText('task'), quantity: 1 }
        const params = { name: 'commission_work', arguments: input }
        const answer = await rpc(world, '/mcp', 'tools/call', { params })
        const isRefused =
          answer.status === 401 ||
          at(answer.body, 'result.isError') === true ||
          isRecord(at(answer.body, 'error'))
        expectThat(isRefused, 'a refusal', answer.text)
        expectThat(!answer.text.includes('ord_'), 'no order', answer.text)
      },
    },
    {
      id: 'mcp.fund-order',
      title: 'fund_order answers the checkout of an order',
      needs: [mcp, order, fund],
      run: async (world) => {
        const { apiKey } = await testAgent(world)
        const body = { taskType: uniqueText('task'), quantity: 1 }
        const made = await world.http.post('/api/agents/order', body, { key: apiKey })
        const orderId = textAt(made.body, 'orderId')
        const { output } = await callTool(world, '/mcp', 'fund_order', { input: { orderId }, key: apiKey })
        webAddressAt(output, 'checkoutUrl')
      },
    },
    {
      id: 'mcp.verify-credential',
      title: 'verify_credential gives the public keys',
      needs: [mcp, jwks],
      run: async (world) => {
        const { output } = await callTool(world, '/mcp', 'verify_credential')
        const names = filledListAt(output, 'keys').map((key) => textAt(key, 'kid'))
        const wanted = (await keySet(world)).keys.map((key) => String(key.kid))
        expectEqual(names.toSorted().join(), wanted.toSorted().join(), 'key names')
      },
    },
    {
      id: 'mcp.purchase-listed',
      title: 'the purchase tool is on the /api/mcp surface',
      needs: [apiMcp],
      run: async (world) => {
        const names = (await listTools(world, '/api/mcp')).map((tool) => textAt(tool, 'name'))
        expectThat(
          names.includes('purchase_verified_human_task'),
          'the tool purchase_verified_human_task',
          names,
        )
      },
    },
    {
      id: 'mcp.purchase-challenge',
      title: 'the purchase tool without payment answers the payment challenge with a purchase id',
      needs: [apiMcp, buy],
      isProjectDecision: true,
      run: async (world) => {
        const { output, isError } = await callTool(world, '/api/mcp', 'purchase_verified_human_task', {
          input: { workflowId: 'wf_test_ok' },
        })
        expectEqual(isError, true, 'isError')
        filledListAt(output, 'accepts')
        textAt(output, 'purchase_id')
      },
    },
    {
      id: 'mcp.purchase-out-of-stock',
      title: 'the purchase tool says out_of_stock where nothing can be delivered',
      needs: [apiMcp, buy],
      isProjectDecision: true,
      run: async (world) => {
        const { output, isError } = await callTool(world, '/api/mcp', 'purchase_verified_human_task', {
          input: { workflowId: 'wf_test_out_of_stock' },
        })
        expectEqual(isError, true, 'isError')
        expectEqual(at(output, 'error'), 'out_of_stock', 'error')
      },
    },
    {
      id: 'mcp.bad-key',
      title: 'a bad key is refused at the door',
      needs: [mcp],
      isProjectDecision: true,
      run: async (world) =>
        expectRefusal(await rpc(world, '/mcp', 'tools/list', { key: 'svc_test_wrong' }), 401),
    },
    {
      id: 'mcp.initialize',
      title: 'a client that opens with initialize is answered too',
      needs: [mcp],
      isProjectDecision: true,
      run: async (world) => {
        const clientInfo = { name: 'conformance', version: '1' }
        const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo }
        const answer = await rpc(world, '/mcp', 'initialize', { params })
        expectStatus(answer, 200)
        textAt(answer.body, 'result.protocolVersion')
        textAt(answer.body, 'result.serverInfo.name')
      },
    },
    {
      id: 'mcp.unknown-tool',
      title: 'a tool that does not exist is an error, not a result',
      needs: [mcp],
      isProjectDecision: true,
      run: async (world) => {
        const params = { name: uniqueText('tool'), arguments: {} }
        const answer = await rpc(world, '/mcp', 'tools/call', { params })
        const isRefused = isRecord(at(answer.body, 'error')) || at(answer.body, 'result.isError') === true
        expectThat(isRefused, 'an error', answer.text)
      },
    },
    {
      id: 'mcp.identity-surface',
      title: 'a surface of its own offers register_agent and verify_human',
      needs: [identity],
      isProjectDecision: true,
      run: async (world) => {
        const names = (await listTools(world, '/mcp/identity')).map((tool) => textAt(tool, 'name'))
        for (const name of ['register_agent', 'verify_human'])
          expectThat(names.includes(name), `the tool ${name}`, names)
      },
    },
    {
      id: 'mcp.identity-sells-nothing',
      title: 'the surface for registration and verification lists no purchase',
      needs: [identity],
      isProjectDecision: true,
      run: async (world) => {
        const tools = await listTools(world, '/mcp/identity')
        const sellers = listAt({ tools }, 'tools').filter((tool) => /purchase|buy/.test(textAt(tool, 'name')))
        expectAbsent({ seller: sellers[0] }, 'seller')
      },
    },
  ],
}

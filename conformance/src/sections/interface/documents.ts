import { checkAddresses, readDocuments, type NamedAddress } from '../../addresses.ts'
import {
  at,
  expectEqual,
  expectThat,
  filledListAt,
  isRecord,
  listAt,
  recordAt,
  textAt,
} from '../../expect.ts'
import { mintSession, testAgent } from '../../fixtures.ts'
import { expectStatus } from '../../http.ts'
import { rpc } from '../../mcp-client.ts'
import { oncePerRun, type RunContext } from '../../run-context.ts'
import type { Section } from '../../statement.ts'

const discovery = 'GET /api/agents/discovery'
const buy = 'GET /api/agent/tasks/{workflowId}/buy'
/** What the documents of this project name at least; a check that sees fewer has not read them. */
const addressesMin = 150

const documents = oncePerRun((world) => readDocuments(world.http))

const bodyOf = async (world: RunContext, path: string): Promise<unknown> =>
  (await documents(world)).documents.find((document) => document.path === path)?.body

/**
 * Addresses that answer 404 until someone else has acted: a purchase that was paid, and the card provider that the operator
 * configures. The purchases and the tests of the project call them.
 */
const isForOthers = async (world: RunContext): Promise<(address: NamedAddress) => boolean> => {
  const hasCardProvider = at(
    await bodyOf(world, '/api/agents/discovery'),
    'settlement.human_in_the_loop.configured',
  )
  return ({ path }) =>
    path === '/api/agent/purchases/{purchaseId}' ||
    (path === '/api/payments/card/webhook' && hasCardProvider === false)
}

/** A status list that exists, from a credential that refers to it. */
const listIdOf = async (world: RunContext): Promise<string> => {
  const { answer } = await mintSession(world, await testAgent(world))
  const uri = at(answer.body, 'statusUri')
  return typeof uri === 'string' ? (uri.split('/').at(-1) ?? '') : ''
}

export const discoveryDocuments: Section = {
  name: 'Discovery documents',
  statements: [
    {
      id: 'documents.catalogue',
      title:
        'the home page leads to the API catalogue, and the catalogue to description, text, manifest and tools',
      needs: [discovery],
      isProjectDecision: true,
      run: async (world) => {
        const paths = (await documents(world)).documents.map(({ path }) => path)
        for (const path of ['/openapi.json', '/llms.txt', '/api/agents/discovery', '/mcp/server.json'])
          expectThat(paths.includes(path), `a link of the catalogue to ${path}`, paths)
      },
    },
    {
      id: 'documents.addresses',
      title: 'every address that the documents name exists, with the method that they give',
      needs: [discovery, buy],
      isProjectDecision: true,
      run: async (world) => {
        const { seen, faults } = await checkAddresses(world.http, {
          ids: { workflowId: 'wf_test_ok', list: await listIdOf(world) },
          leaveOut: await isForOthers(world),
        })
        expectThat(faults.length === 0, 'no address that does not exist', faults.join('; '))
        expectThat(seen >= addressesMin, `at least ${addressesMin} addresses`, seen)
      },
    },
    {
      id: 'documents.server-json',
      title: 'the documents for the registry of MCP name surfaces that answer under the same name',
      needs: [discovery, 'POST /mcp', 'POST /mcp/identity'],
      isProjectDecision: true,
      run: async (world) => {
        for (const path of ['/mcp', '/mcp/identity'] as const) {
          const document = await bodyOf(world, `${path}/server.json`)
          const remote = filledListAt(document, 'remotes')[0]
          expectEqual(at(remote, 'type'), 'streamable-http', 'type')
          expectThat(textAt(remote, 'url').endsWith(path), `an address that ends with ${path}`, remote)
          const answer = await rpc(world, path, 'initialize', {
            params: {
              protocolVersion: '2025-06-18',
              capabilities: {},
              clientInfo: { name: 'conformance', version: '1' },
            },
          })
          const name = textAt(answer.body, 'result.serverInfo.name')
          expectEqual(textAt(document, 'name').split('/')[1], name, 'the name of the surface')
        }
      },
    },
    {
      id: 'documents.payment-info',
      title:
        'what OpenAPI says about payment is what the 402 asks for, and nothing where no chain is configured',
      needs: [discovery, buy],
      isProjectDecision: true,
      run: async (world) => {
        const described = recordAt(await bodyOf(world, '/openapi.json'), 'paths')
        const operation = at(described['/api/agent/tasks/{workflowId}/buy'], 'get')
        const info = isRecord(operation) ? operation['x-payment-info'] : undefined
        const chains = listAt(await bodyOf(world, '/api/agents/discovery'), 'settlement.chains')
        expectEqual(info !== undefined, chains.length > 0, 'x-payment-info stated:')
        if (info === undefined) return
        const answer = await world.http.get('/api/agent/tasks/wf_test_ok/buy')
        expectStatus(answer, 402, 409)
        const asked = at(answer.body, 'accepts')
        if (!Array.isArray(asked)) return
        const assets = asked.map((entry) => String(at(entry, 'asset')).toLowerCase())
        for (const offer of filledListAt(info, 'offers')) {
          expectThat(chains.includes(at(offer, 'network')), 'a network of the manifest', offer)
          expectThat(assets.includes(textAt(offer, 'currency').toLowerCase()), 'a token of the 402', offer)
        }
      },
    },
  ],
}

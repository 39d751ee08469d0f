import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openApiDocument } from '@pohf/protocol'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { makeDocuments } from './index.ts'

const baseUrl = 'https://proof.pohf.example'
const asset = '0x036CbD53842c5426634e7929541eC2318f3dCF7e'
const withChain = { baseUrl, chains: ['eip155:84532'], asset }

const documentAt = (path: string, facts = withChain) => {
  const document = makeDocuments(facts).find((each) => each.path === path)
  assert.ok(document, path)
  return JSON.parse(document.makeText())
}

test('OpenAPI is the generated document, with who serves it and what is paid', () => {
  const { 'x-service-info': service, ...served } = documentAt('/openapi.json')
  assert.deepEqual(service.docs, {
    homepage: `${baseUrl}/docs`,
    apiReference: `${baseUrl}/docs/reference/api`,
    llms: `${baseUrl}/llms.txt`,
  })
  const buy = served.paths['/api/agent/tasks/{workflowId}/buy']
  for (const method of ['get', 'post']) {
    assert.ok(buy[method].responses['402'])
    assert.equal(buy[method]['x-payment-info'].offers[0].currency, asset)
    delete buy[method]['x-payment-info']
  }
  assert.deepEqual(served, JSON.parse(JSON.stringify(openApiDocument())))
})

test('without a chain OpenAPI claims no payment', () => {
  const document = makeDocuments({ baseUrl, chains: [] }).find(({ path }) => path === '/openapi.json')
  const text = document?.makeText()
  assert.equal(text?.includes('x-payment-info'), false)
  assert.ok(text?.includes('x-service-info'))
})

for (const [path, name] of [
  ['/mcp', 'pohf'],
  ['/mcp/identity', 'pohf-identity'],
] as const)
  test(`server.json of ${path} is within the bounds of schema 2025-12-11`, () => {
    const server = documentAt(`${path}/server.json`)
    assert.equal(server.$schema.split('/').at(-2), '2025-12-11')
    assert.equal(server.name, `example.pohf.proof/${name}`)
    assert.match(server.name, /^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/)
    assert.ok(server.name.length >= 3 && server.name.length <= 200)
    assert.ok(server.title.length >= 1 && server.title.length <= 100)
    assert.ok(server.description.length >= 1 && server.description.length <= 100)
    assert.equal(server.version, '1.0.0')
    assert.equal(server.remotes.length, 1)
    const [remote] = server.remotes
    assert.deepEqual([remote.type, remote.url], ['streamable-http', `${baseUrl}${path}`])
    assert.deepEqual(
      remote.headers.map(({ name, isSecret, isRequired }: Record<string, unknown>) => ({
        name,
        isSecret,
        isRequired,
      })),
      [{ name: 'Authorization', isSecret: true, isRequired: false }],
    )
  })

test('a deployment without a domain has a name that the schema allows', () => {
  for (const address of ['http://127.0.0.1:3000', 'http://[::1]:3000', 'http://localhost:3000'])
    assert.equal(documentAt('/mcp/server.json', { ...withChain, baseUrl: address }).name, 'localhost/pohf')
})

test('no document claims A2A, and no card is served', async () => {
  const harness = await startHarness()
  for (const { path, makeText } of makeDocuments(withChain)) {
    assert.doesNotMatch(makeText(), /\bA2A\b|agent-card/i, path)
    assert.equal((await harness.call('GET', path)).status, 200, path)
  }
  for (const path of ['/.well-known/agent-card.json', '/.well-known/agent.json'])
    assert.equal((await harness.call('GET', path)).status, 404, path)
})

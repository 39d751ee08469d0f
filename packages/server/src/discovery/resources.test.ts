import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/fixtures/harness.ts'
import { builtPages } from '../../test/fixtures/processes/built-pages.ts'
import { readDocsPages } from './docs-pages.ts'
import { listResources, readResource } from './resources.ts'

const docs = readDocsPages(await builtPages('docs'))
const harness = await startHarness()
const agent = await harness.register('test')
/** A page of the documentation needs no operation. */
const dispatch = async () => assert.fail('a page needs no operation')
const rpc = async (path: string, method: string, params: object = {}, key?: string) =>
  (
    await harness.call('POST', path, {
      body: { jsonrpc: '2.0', id: 1, method, params },
      ...(key === undefined ? {} : { key }),
    })
  ).json

test('the guides are listed page by page, and each is read as it is written', async () => {
  const seen: { uri: string }[] = []
  let cursor: string | undefined
  do {
    const { resources, nextCursor } = listResources(docs, cursor)
    assert.ok(resources.length <= 25)
    seen.push(...resources)
    cursor = nextCursor
  } while (cursor !== undefined)
  assert.ok(seen.length > 40, `${seen.length} pages`)
  assert.equal(new Set(seen.map(({ uri }) => uri)).size, seen.length)
  const { contents } = await readResource(
    { ctx: harness.ctx, docs, dispatch, takesWallets: false },
    'pohf://docs/guides/mcp',
  )
  assert.match(contents[0]?.text ?? '', /^# Machine tools \(MCP\)/)
})

test('over MCP the pages are those of the built documentation, and a wrong cursor is refused', async () => {
  const { result } = await rpc('/mcp', 'resources/list')
  assert.deepEqual(result.resources, listResources(readDocsPages(), undefined).resources)
  for (const wrong of ['0', '-1', '1e1', '25.5', '999999', 'x', ''])
    assert.equal((await rpc('/mcp', 'resources/list', { cursor: wrong })).error.code, -32_602, wrong)
})

test('a credential is read by its agent, and by nobody else', async () => {
  const minted = await harness.call('POST', '/api/agents/verify', {
    key: agent.apiKey,
    body: { sessionId: 'ses_test_pass' },
  })
  const { credentialId } = minted.json
  const uri = `pohf://credentials/${credentialId}`
  for (const path of ['/mcp', '/mcp/identity']) {
    const { result } = await rpc(path, 'resources/templates/list')
    assert.equal(result.resourceTemplates[0].uriTemplate, 'pohf://credentials/{credentialId}')
    const { result: read } = await rpc(path, 'resources/read', { uri }, agent.apiKey)
    const over = await harness.call('GET', `/api/agents/credentials/${credentialId}`, { key: agent.apiKey })
    assert.deepEqual(JSON.parse(read.contents[0].text), over.json)
    const anonymous = await rpc(path, 'resources/read', { uri })
    assert.equal(anonymous.error.data.error, 'missing_api_key')
    assert.match(anonymous.error.data.how_to_get_a_key.over_http, /\/api\/agents\/register/)
    const stranger = await harness.register('test')
    const foreign = await rpc(path, 'resources/read', { uri }, stranger.apiKey)
    assert.equal(foreign.error.code, -32_602)
  }
})

test('an address that is no resource is not found, and reads no file', async () => {
  for (const uri of [
    'pohf://docs/guides/none',
    'pohf://docs/../../package.json',
    'file:///etc/passwd',
    'pohf://credentials/',
    'pohf://credentials/a/b',
    'pohf://credentials/cred_none?x=1',
    'http://127.0.0.1:1/',
    'x'.repeat(10_000),
  ])
    assert.equal((await rpc('/mcp', 'resources/read', { uri }, agent.apiKey)).error.code, -32_602, uri)
  assert.deepEqual((await rpc('/mcp/identity', 'resources/list')).result.resources, [])
})

test('a 401 names the document that says how to get a key, and the document names its own resource', async () => {
  const base = harness.ctx.config.BASE_URL
  for (const [method, path, resource] of [
    ['POST', '/mcp', '/mcp'],
    ['POST', '/api/mcp', '/api/mcp'],
    ['POST', '/mcp/identity', '/mcp/identity'],
    ['POST', '/api/mcp/identity', '/api/mcp/identity'],
    ['GET', '/api/agents/me', ''],
  ] as const) {
    const refused = await harness.call(method, path, { key: 'svc_live_wrong' })
    assert.equal(refused.status, 401)
    const url =
      /^Bearer resource_metadata="([^"]+)"$/.exec(refused.headers['www-authenticate'] ?? '')?.[1] ?? ''
    assert.equal(url, `${base}/.well-known/oauth-protected-resource${resource}`)
    const { status, json } = await harness.call('GET', url.slice(base.length))
    assert.equal(status, 200)
    assert.equal(json.resource, `${base}${resource}`)
    assert.deepEqual(json.bearer_methods_supported, ['header'])
    // The address that it names gives a key.
    const made = await harness.call('POST', json.key_registration_endpoint.slice(base.length), {
      body: { name: 'Robot', contactEmail: 'robot@example.com', mode: 'test' },
    })
    assert.match(made.json.apiKey, /^svc_test_/)
  }
  const person = await harness.call('GET', '/console/account')
  assert.equal(person.headers['www-authenticate'], 'Bearer')
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/fixtures/harness.ts'
import { makeConstantAnswers, type McpRequest } from './constant-answers.ts'
import { supportedVersions } from './rules.ts'

const harness = await startHarness()
const statelessMeta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
}
/** No constant answer is kept for a request of this length, so the SDK answers it. */
const filler = { filler: 'x'.repeat(3_000) }

const requestsOf = (version: string): readonly Omit<McpRequest, 'id'>[] =>
  [
    { method: 'initialize', protocolVersion: version, capabilities: { sampling: {} } },
    { method: 'initialize', protocolVersion: '1999-01-01', capabilities: {} },
    { method: 'ping' },
    { method: 'tools/list' },
    { method: 'resources/list' },
    { method: 'resources/templates/list' },
    { method: 'server/discover' },
  ].map(({ method, ...params }) => ({
    jsonrpc: '2.0' as const,
    method,
    params: method === 'initialize' ? { ...params, clientInfo: { name: 'a', version: '1' } } : params,
  }))

test('a constant answer is, byte by byte, the answer of the SDK to the same request, in every version', async () => {
  let compared = 0
  for (const path of ['/mcp', '/mcp/identity'])
    for (const version of supportedVersions)
      for (const { method, params } of requestsOf(version)) {
        const isStateless = version === '2026-07-28'
        const headers = {
          'mcp-protocol-version': version,
          ...(isStateless ? { 'mcp-method': method } : {}),
        }
        const meta = isStateless ? statelessMeta : {}
        const send = (id: string | number, extra: object) =>
          harness.call('POST', path, {
            body: { jsonrpc: '2.0', id, method, params: { ...params, _meta: { ...meta, ...extra } } },
            headers,
          })
        const bySdk = await send('"quoted"', filler)
        for (let repeat = 0; repeat < 2; repeat++) {
          const constant = await send('"quoted"', {})
          assert.deepEqual(
            [constant.status, constant.text],
            [bySdk.status, bySdk.text],
            `${version} ${method}`,
          )
        }
        assert.equal((await send(7, {})).json.id, 7)
        compared += 1
      }
  assert.equal(compared, 2 * supportedVersions.length * 7)
})

test('the handshake of every client of one version gets the same bytes', async () => {
  const texts = new Set<string>()
  for (let client = 0; client < 5; client++) {
    const clientInfo = { name: `client ${client}`, version: String(client) }
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
    const body = { jsonrpc: '2.0', id: 1, method: 'initialize', params }
    texts.add((await harness.call('POST', '/mcp', { body })).text)
  }
  assert.equal(texts.size, 1)
})

/** Constant answers of a surface with one page, and how often the SDK was asked. */
const makeCounted = () => {
  const answers = makeConstantAnswers({ docs: [{ path: 'guides/a', title: 'A', text: 'text' }] })
  let asked = 0
  const answer = (message: Omit<McpRequest, 'jsonrpc'>, headers = {}) =>
    answers({ message: { jsonrpc: '2.0', ...message }, headers }, async ({ message: { id } }) => {
      asked += 1
      return { status: 200, text: JSON.stringify({ result: { n: asked }, jsonrpc: '2.0', id }) }
    })
  return { answer, asked: () => asked }
}

test('the SDK makes a constant answer once', async () => {
  const { answer, asked } = makeCounted()
  for (let id = 0; id < 50; id++) {
    assert.equal(await answer({ id, method: 'tools/list' }), `{"result":{"n":1},"jsonrpc":"2.0","id":${id}}`)
    for (const name of ['a', 'b'])
      await answer({
        id,
        method: 'initialize',
        params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name, version: '1' } },
      })
    await answer({ id, method: 'resources/read', params: { uri: 'pohf://docs/guides/a' } })
  }
  assert.equal(asked(), 3)
})

test('nothing of an agent is kept, no refusal, and no request without bound', async () => {
  const { answer, asked } = makeCounted()
  const uri = 'pohf://questions/qst_1'
  assert.equal(await answer({ id: 1, method: 'resources/read', params: { uri } }), undefined)
  assert.equal(
    await answer({ id: 1, method: 'tools/call', params: { name: 'verify_credential' } }),
    undefined,
  )
  assert.equal(await answer({ id: 1, method: 'tools/list', params: filler }), undefined)
  assert.equal(asked(), 0)
  const refused = makeConstantAnswers({ docs: [] })
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/list' } as const
  for (let n = 0; n < 2; n++)
    assert.equal(
      await refused({ message, headers: {} }, async () => ({ status: 200, text: '{"error":{},"id":1}' })),
      undefined,
    )
})

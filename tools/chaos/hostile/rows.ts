import { randomBytes } from 'node:crypto'

/** A public row at its worst: the request, made anew for each call where a repeat would be cheaper. */
export type HostileRow = {
  readonly name: string
  readonly makeRequest: (address: string, n: number) => string
}

const requestOf = (
  address: string,
  method: string,
  path: string,
  { body, headers = {} }: { body?: string; headers?: Record<string, string> } = {},
): string =>
  [
    `${method} ${path} HTTP/1.1`,
    'host: 127.0.0.1',
    `x-forwarded-for: ${address}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...(body === undefined
      ? []
      : ['content-type: application/json', `content-length: ${Buffer.byteLength(body)}`]),
    '',
    body ?? '',
  ].join('\r\n')

const get =
  (path: string, headers: Record<string, string> = {}): HostileRow['makeRequest'] =>
  (address) =>
    requestOf(address, 'GET', path, { headers })

const post =
  (
    path: string,
    makeBody: (n: number) => unknown,
    headers: Record<string, string> = {},
  ): HostileRow['makeRequest'] =>
  (address, n) =>
    requestOf(address, 'POST', path, { body: JSON.stringify(makeBody(n)), headers })

const batchOf = (method: string, params?: object) => () =>
  Array.from({ length: 20 }, (_, id) => ({ jsonrpc: '2.0', id, method, ...(params ? { params } : {}) }))

const registration = (n: number) => ({
  name: 'Robot',
  contactEmail: `r${n}@${randomBytes(6).toString('hex')}.example`,
  mode: 'test',
})

/** A payment whose signature no chain accepts. */
const badPayment = (): string =>
  Buffer.from(
    JSON.stringify({
      x402Version: 1,
      scheme: 'exact',
      network: 'base-sepolia',
      payload: {
        signature: `0x${'11'.repeat(64)}1b`,
        authorization: {
          from: `0x${randomBytes(20).toString('hex')}`,
          to: `0x${'02'.repeat(20)}`,
          value: '100000000',
          validAfter: '0',
          validBefore: String(Math.floor(Date.now() / 1_000) + 600),
          nonce: `0x${randomBytes(32).toString('hex')}`,
        },
      },
    }),
  ).toString('base64')

/** A number whose value a parser would change: each body is checked for such before it is parsed. */
const longNumber = `1.${'0'.repeat(120_000)}1`
const longNumbers = `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"n":[${longNumber},${longNumber}]}}}`

/** The messages of MCP. */
const makeMcpRows = (credential: string): readonly HostileRow[] => [
  { name: 'MCP, 20 tools/list', makeRequest: post('/mcp', batchOf('tools/list')) },
  {
    name: 'MCP, 20 tools/list, each another one',
    makeRequest: post('/mcp', (n) => batchOf('tools/list', { _meta: { progressToken: `${n}` } })()),
  },
  {
    name: 'MCP, 20 list_verified_work',
    makeRequest: post('/mcp', batchOf('tools/call', { name: 'list_verified_work', arguments: {} })),
  },
  {
    name: 'MCP, numbers of 120,000 digits',
    makeRequest: (address) => requestOf(address, 'POST', '/mcp', { body: longNumbers }),
  },
  {
    name: 'MCP, 20 verify_credential',
    makeRequest: post(
      '/mcp',
      batchOf('tools/call', { name: 'verify_credential', arguments: { credential } }),
    ),
  },
  {
    name: 'MCP, 20 register_agent',
    makeRequest: post('/mcp/identity', (n) =>
      batchOf('tools/call', { name: 'register_agent', arguments: registration(n) })(),
    ),
  },
]

/** What takes registrations, orders and payments. */
const writeRows: readonly HostileRow[] = [
  { name: 'register', makeRequest: post('/api/agents/register', registration) },
  {
    name: 'register, body of 256 kB',
    makeRequest: post('/api/agents/register', () => ({ name: 'x'.repeat(261_000) })),
  },
  {
    name: 'order without a key',
    makeRequest: post('/api/agents/order', () => ({ taskType: 'wf_judge', quantity: 1 })),
  },
  { name: 'buy, no payment', makeRequest: get('/api/agent/tasks/wf_test_ok/buy') },
  {
    name: 'buy, bad payment',
    makeRequest: (address) =>
      requestOf(address, 'GET', '/api/agent/tasks/wf_test_ok/buy', {
        headers: { 'x-payment': badPayment() },
      }),
  },
]

/** What is read, and what is refused. */
const readRows: readonly HostileRow[] = [
  { name: 'workflows', makeRequest: get('/api/workflows/available') },
  { name: 'manifest', makeRequest: get('/api/agents/discovery') },
  { name: 'VHH index', makeRequest: get('/api/index/vhh') },
  { name: 'inputs of the index', makeRequest: get('/api/index/vhh/inputs') },
  {
    name: 'next task',
    makeRequest: get('/api/tasks/next?wallet=0x0000000000000000000000000000000000000001'),
  },
  { name: 'public keys', makeRequest: get('/.well-known/jwks.json') },
  { name: 'prices of forgeries', makeRequest: get('/.well-known/pohf-forging.json') },
  { name: 'catalogue of events', makeRequest: get('/api/events/catalog') },
  { name: 'OpenAPI', makeRequest: get('/openapi.json') },
  { name: 'OpenAPI, compressed', makeRequest: get('/openapi.json', { 'accept-encoding': 'br' }) },
  { name: 'page of errors', makeRequest: get('/docs/errors') },
  { name: 'page of prices', makeRequest: get('/pricing') },
  { name: 'health', makeRequest: get('/readyz') },
  { name: 'unknown address', makeRequest: get('/nothing/here') },
  {
    name: 'verify with a key that does not exist',
    makeRequest: (address) =>
      requestOf(address, 'POST', '/api/agents/verify', {
        body: '{"sessionId":"x"}',
        headers: { authorization: `Bearer svc_live_${randomBytes(24).toString('base64url')}` },
      }),
  },
  {
    name: 'verify with a malformed key',
    makeRequest: post('/api/agents/verify', () => ({ sessionId: 'x' }), { authorization: 'Bearer x' }),
  },
  {
    name: 'siteverify without a key',
    makeRequest: post('/siteverify', () => ({ secret: 'x', response: 'y' })),
  },
  {
    name: 'session',
    makeRequest: post('/api/sessions', () => ({ agentId: 'agt_none', kind: 'view' })),
  },
]

/** Every public row that costs something, and those that cost least. The credential is one of this deployment. */
export const makeHostileRows = (credential: string): readonly HostileRow[] => [
  ...makeMcpRows(credential),
  ...writeRows,
  ...readRows,
]

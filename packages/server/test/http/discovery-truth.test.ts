// What the documents of discovery say is true: every address that they name is called.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkAddresses, readDocuments } from '../../../../conformance/src/addresses.ts'
import { makeHttp, type Http } from '../../../../conformance/src/http.ts'
import { freePort } from '../../dev/cluster.ts'
import { isDocsBuilt } from '../../src/discovery/index.ts'
import { decode } from '../fixtures/payments/payer.ts'
import { startPurchaseHarness } from '../fixtures/payments/purchases.ts'

const port = await freePort()
const baseUrl = `http://127.0.0.1:${port}`
const fixture = await startPurchaseHarness({
  BASE_URL: baseUrl,
  STRIPE_SECRET_KEY: 'sk_test_discovery_truth',
  STRIPE_WEBHOOK_SECRET: 'whsec_discovery_truth',
})

/** Where the documentation is not built, its pages say so with 503. */
const isBroken = (fault: string): boolean => isDocsBuilt() || !/^GET \/docs\b.* answers 503 /.test(fault)

if (!fixture) test('discovery', { skip: 'no chain runs on this system' }, () => undefined)
else {
  const { harness, buy, makeFundedPayer, requestChallenge } = fixture
  await harness.app.api.listen({ port, host: '127.0.0.1' })
  const http = makeHttp(baseUrl, AbortSignal.timeout(300_000))

  /** Things that really exist, for the templates: a task, a purchase, and the status list of a credential. */
  const makeIds = async () => {
    const { answer } = await buy(await makeFundedPayer())
    assert.equal(answer.status, 200, answer.text)
    const list = new URL(answer.json.statusUri).pathname.split('/').at(-1) ?? ''
    return { workflowId: 'wf_test_ok', purchaseId: String(answer.json.purchaseId), list }
  }
  const ids = await makeIds()

  const faultsBy = async (client: Http) => (await checkAddresses(client, { ids })).faults.filter(isBroken)

  test('every address of every document exists, with the method that the document gives', async (t) => {
    const { seen, documents, faults } = await checkAddresses(http, { ids })
    t.diagnostic(`${seen} addresses in ${documents} documents`)
    assert.deepEqual(faults.filter(isBroken), [])
    assert.ok(documents >= 10, `saw only ${documents} documents`)
    assert.ok(seen >= 165, `saw only ${seen} addresses`)
  })

  /** The same server, with one word changed in one document. */
  const planted = (path: string, found: string, instead: string): Http => ({
    ...http,
    get: async (asked, options) => {
      const answer = await http.get(asked, options)
      if (asked !== path) return answer
      assert.ok(answer.text.includes(found), `${path} has no ${found}`)
      const text = answer.text.replace(found, instead)
      return { ...answer, text, body: text.startsWith('{') ? (JSON.parse(text) as unknown) : undefined }
    },
  })

  const plants: readonly (readonly [path: string, found: string, instead: string, fault: RegExp])[] = [
    ['/', 'href="/llms.txt"', 'href="/llms.text"', /^GET \/llms\.text, which \/ names, answers 404/],
    [
      '/.well-known/api-catalog',
      `${baseUrl}/docs/errors"`,
      `${baseUrl}/doc/errors"`,
      /^GET \/doc\/errors, which \/\.well-known\/api-catalog names, answers 404/,
    ],
    [
      '/openapi.json',
      '"/api/index":',
      '"/api/indexes":',
      /^GET \/api\/indexes, which \/openapi\.json names, answers 404/,
    ],
    [
      '/openapi.json',
      `${baseUrl}/docs/reference/api`,
      `${baseUrl}/reference/api`,
      /^GET \/reference\/api, which/,
    ],
    [
      '/llms.txt',
      `\`POST ${baseUrl}/mcp\``,
      `\`DELETE ${baseUrl}/mcp\``,
      /^DELETE \/mcp, which \/llms\.txt names, answers 405/,
    ],
    [
      '/api/agents/discovery',
      `"GET ${baseUrl}/api/agent/tasks/{workflowId}/buy"`,
      `"GET ${baseUrl}/api/agent/task/{workflowId}/buy"`,
      /^GET \/api\/agent\/task\/wf_test_ok\/buy, which \/api\/agents\/discovery names, answers 404/,
    ],
    [
      '/api/agents/discovery',
      `"verify_endpoint":"${baseUrl}/api/agents/verify"`,
      `"verify_endpoint":"${baseUrl}/api/verify"`,
      /^GET \/api\/verify, which/,
    ],
    [
      '/mcp/identity/server.json',
      `${baseUrl}/mcp/identity"`,
      `${baseUrl}/mcp/identities"`,
      /^GET \/mcp\/identities, which \/mcp\/identity\/server\.json/,
    ],
  ]
  for (const [path, found, instead, fault] of plants)
    test(`a planted address in ${path} is found: ${instead.replaceAll(baseUrl, '')}`, async () => {
      const faults = await faultsBy(planted(path, found, instead))
      assert.equal(faults.length, 1, faults.join('\n'))
      assert.match(faults[0] ?? '', fault)
    })

  test('a home page without a link to the catalogue is found', async () => {
    const headers = new Headers()
    const silent: Http = { ...http, get: async (path) => ({ ...(await http.get(path)), headers }) }
    await assert.rejects(checkAddresses(silent, { ids }), /Link of the home page/)
  })

  test('each document has the media type that the catalogue states', async () => {
    const { body } = await http.get('/.well-known/api-catalog')
    const { linkset } = body as {
      linkset: readonly Record<string, readonly { href: string; type?: string }[]>[]
    }
    const links = linkset.flatMap((context) => Object.values(context).filter(Array.isArray).flat())
    const typed = links.filter(({ type }) => type !== undefined)
    assert.ok(typed.length >= 11, `saw only ${typed.length} links`)
    for (const { href, type } of typed) {
      const { headers } = await http.get(new URL(href).pathname)
      assert.equal(headers.get('content-type')?.split(';')[0], type, href)
    }
  })

  test('what OpenAPI says about payment is what the 402 asks for', async () => {
    const { documents } = await readDocuments(http)
    const openApi = documents.find(({ path }) => path === '/openapi.json')?.body as {
      paths: Record<string, Record<string, { 'x-payment-info'?: { offers: Record<string, unknown>[] } }>>
    }
    const paid = Object.entries(openApi.paths).flatMap(([path, operations]) =>
      Object.entries(operations)
        .filter(([, operation]) => operation['x-payment-info'])
        .map(([method]) => `${method} ${path}`),
    )
    const path = '/api/agent/tasks/{workflowId}/buy'
    assert.deepEqual(paid.toSorted(), [`get ${path}`, `post ${path}`])
    const { v1, v2 } = await requestChallenge()
    assert.deepEqual(openApi.paths[path]?.['get']?.['x-payment-info']?.offers, [
      {
        intent: 'charge',
        method: 'x402',
        amount: null,
        currency: v1.asset,
        network: v2.network,
        description: 'The price of the task, in the 402 response.',
      },
    ])
    const unpaid = await http.get(path.replace('{workflowId}', 'wf_test_ok'))
    assert.equal(unpaid.status, 402)
    assert.equal(decode(unpaid.headers.get('payment-required') ?? '').accepts[0].network, v2.network)
  })
}

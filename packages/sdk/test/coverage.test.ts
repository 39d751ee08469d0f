import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { endpoints, operatorEndpoints, type Endpoint } from '@pohf/protocol'
import { createClient } from '../src/index.ts'

/** Endpoints that the client leaves out, and why. */
const exceptions: readonly { readonly name: string; readonly covers: (row: Endpoint) => boolean }[] = [
  {
    name: 'the protocol of other services, for their clients: credentials.verify does the same',
    covers: ({ auth }) => auth === 'secret',
  },
  {
    name: 'our console, which signs in by a cookie that no program has',
    covers: ({ path }) => path.startsWith('/console/'),
  },
  {
    name: 'a call of the card provider, whose bytes it signs',
    covers: ({ publicId }) => publicId === 'payments.card-webhook',
  },
  {
    name: 'an image for the page of a worker: an address of an img element, not JSON',
    covers: ({ publicId }) => publicId === 'work.worker-image',
  },
  {
    name: 'the operators’ listener: the command line calls it',
    covers: ({ path }) => path.startsWith('/operator/'),
  },
]

type Method = (input: Record<string, unknown>) => Promise<unknown>
type Recorded = { readonly method: string; readonly path: string }

const camel = (name: string) => name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())

/** Calls the method of a row and returns the request that it sent; undefined where there is no method. */
const requestOf = async ({ publicId, path }: Endpoint): Promise<Recorded | undefined> => {
  const sent: Recorded[] = []
  const client = createClient({
    baseUrl: 'https://proof.example',
    apiKey: 'svc_test_x',
    fetch: async (input, init) => {
      const { method, url } = new Request(input, init)
      sent.push({ method, path: new URL(url).pathname })
      return Response.json({})
    },
  }) as unknown as Record<string, Record<string, Method>>
  const [module = '', name = ''] = publicId.split('.')
  const method = client[module]?.[camel(name)]
  if (!method) return undefined
  const fields = [...path.matchAll(/\{(\w+)\}/g)].map(([, field = '']) => [field, `a-${field}`])
  await method(Object.fromEntries(fields))
  return sent[0]
}

test('every endpoint of the table has a method that sends its request, except those with a name', async (t) => {
  const rows: readonly Endpoint[] = [...endpoints, ...operatorEndpoints]
  const missing: string[] = []
  const surplus: string[] = []
  const excepted = new Map(exceptions.map(({ name }) => [name, 0]))
  for (const row of rows) {
    const exception = exceptions.find(({ covers }) => covers(row))
    const request = await requestOf(row)
    if (exception) {
      excepted.set(exception.name, (excepted.get(exception.name) ?? 0) + 1)
      if (request) surplus.push(row.publicId)
      continue
    }
    const path = row.path.replaceAll(/\{(\w+)\}/g, 'a-$1')
    if (request?.method !== row.method || request.path !== path) missing.push(row.publicId)
  }
  const count = [...excepted.values()].reduce((sum, each) => sum + each, 0)
  t.diagnostic(`${rows.length - count} endpoints have a method, ${count} are excepted`)
  assert.deepEqual(missing, [])
  assert.deepEqual(surplus, [])
  assert.ok(rows.length - count >= 100)
  for (const [name, covered] of excepted) assert.ok(covered > 0, `no endpoint is excepted as ${name}`)
})

const guideOf = (name: string): string =>
  readFileSync(new URL(`../../../docs/guides/${name}.md`, import.meta.url), 'utf8')

test('the guides name the method of each call about approvals and questions that a key may make, and where an owner makes the others', () => {
  const guides = { approvals: guideOf('approvals'), questions: guideOf('ask-human') }
  const counts = { key: 0, owner: 0 }
  for (const { publicId, auth, scope, administratorOnly } of endpoints) {
    const [module = '', name = ''] = publicId.split('.')
    if ((module !== 'approvals' && module !== 'questions') || auth !== 'bearer') continue
    if (administratorOnly) {
      counts.owner += 1
      assert.match(guides[module], new RegExp(`\\| [^|\n]*\`${publicId}\`[^|\n]*\\| [A-Z]`), publicId)
    } else {
      counts.key += 1
      assert.ok(scope, publicId)
      assert.ok(guides[module].includes(`\`client.${module}.${camel(name)}\``), publicId)
    }
  }
  assert.ok(counts.key >= 11 && counts.owner >= 12, JSON.stringify(counts))
})

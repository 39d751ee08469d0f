import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  additions,
  endpoints,
  errorCatalogue,
  errorsOf,
  openApiDocument,
  operatorEndpoints,
  specification,
} from '@pohf/protocol'
import { makeRateLimits } from '../../src/platform/http/rate-limits.ts'
import { buildListener } from '../../src/platform/http/http.ts'
import { noCallers } from '../fixtures/no-callers.ts'
import { startHarness } from '../fixtures/harness.ts'
import { serverRoot } from './import-rules.ts'

const harness = await startHarness()
const routePath = (path: string) => path.replaceAll(/\{(\w+)\}/g, ':$1')

/** Every mounted path with its methods, read off the router itself. */
const mountedOn = (listener: typeof harness.app.api): string[] => {
  const parents: string[] = []
  return listener
    .printRoutes({ commonPrefix: false })
    .split('\n')
    .flatMap((line) => {
      const found = /^([│ ]*)[└├]── (\S*) ?(?:\(([A-Z, ]+)\))?/.exec(line)
      if (!found) return []
      const [, indent = '', part = '', methods = ''] = found
      const depth = indent.length / 4
      parents.splice(depth, Infinity, part)
      return methods
        .split(', ')
        .filter((method) => method !== '' && method !== 'HEAD')
        .map((method) => `${method} ${parents.join('')}`)
    })
}

test('every row is mounted, and nothing else that writes or is under /api, /console, /mcp, /operator, /status or /.well-known', (t) => {
  for (const [listener, rows] of [
    [harness.app.api, endpoints],
    [harness.app.operator, operatorEndpoints],
  ] as const) {
    // The built page brings files of its own, one by one and only to read.
    const mounted = mountedOn(listener).filter(
      (route) =>
        /^(?!GET )|^GET \/(api|console\/|mcp|operator|status|\.well-known)/.test(route) &&
        !/^GET \/operator\/assets\/[\w.-]+$/.test(route),
    )
    t.diagnostic(`${mounted.length} mounted, ${rows.length} rows`)
    assert.ok(mounted.length > 0)
    // RFC 9727 fixes where the first page lies, people look for the second, programs for those beside MCP, and RFC 9728 fixes
    // the rest. Operators work at a page of their own.
    const pages =
      rows === endpoints
        ? [
            'GET /.well-known/api-catalog',
            'GET /status',
            'GET /mcp/server.json',
            'GET /mcp/identity/server.json',
            ...['', '/mcp', '/api/mcp', '/mcp/identity', '/api/mcp/identity'].map(
              (path) => `GET /.well-known/oauth-protected-resource${path}`,
            ),
          ]
        : ['GET /operator']
    assert.deepEqual(
      mounted.toSorted(),
      [...rows.map((row) => `${row.method} ${routePath(row.path)}`), ...pages].toSorted(),
    )
  }
})

test('the id of a row is the file that holds it', () => {
  for (const row of [...endpoints, ...operatorEndpoints]) {
    const file = `${row.id.replaceAll('.', '/')}.ts`
    assert.ok(existsSync(join(serverRoot, 'src', file)), `${row.id} has no file`)
  }
})

test('a public id names one row', () => {
  for (const rows of [endpoints, operatorEndpoints])
    assert.equal(new Set(rows.map((row) => row.publicId)).size, rows.length)
})

test('the table has every endpoint of the specification, in its order', () => {
  const paths = specification.map((row) => `${row.method} ${row.path}`)
  assert.equal(paths.length, 32)
  assert.equal(paths[0], 'POST /api/agents/register')
  assert.equal(paths.at(-1), 'POST /api/mcp')
  assert.equal(
    new Set([...paths, ...additions.map((row) => `${row.method} ${row.path}`)]).size,
    paths.length + additions.length,
  )
})

test('openapi.json has exactly the rows, every status documented', async () => {
  const { json } = await harness.call('GET', '/openapi.json')
  assert.equal(json.openapi, '3.1.0')
  assert.equal(json.info.version, '1.0.0')
  const listed = Object.entries(json.paths as Record<string, object>).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  )
  assert.deepEqual(listed.toSorted(), endpoints.map((row) => `${row.method} ${row.path}`).toSorted())
  for (const row of endpoints) {
    const responses = json.paths[row.path][row.method.toLowerCase()].responses
    for (const code of errorsOf(row))
      assert.ok(responses[errorCatalogue[code].status], `${row.id} lacks ${code}`)
  }
  const { 'x-service-info': service, ...document } = json
  assert.ok(service)
  assert.deepEqual(document, JSON.parse(JSON.stringify(openApiDocument())))
})

test('a route that the table lacks, and a row that nobody mounts, stop the start', () => {
  const base = {
    ctx: harness.ctx,
    pages: [],
    authenticate: noCallers,
    rateLimits: makeRateLimits(harness.ctx),
    checkWrite: async () => undefined,
    noteRequest: () => undefined,
  }
  const row = endpoints[0]
  assert.ok(row)
  assert.throws(() => buildListener({ ...base, endpoints: [row], routes: [] }), /no module mounts it/)
  assert.throws(
    () =>
      buildListener({
        ...base,
        endpoints: [],
        routes: [{ id: 'agents.register', handler: async () => ({}) }],
      }),
    /not in the table/,
  )
})

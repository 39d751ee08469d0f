// The suite against servers that have nothing: what it must not believe.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { test } from 'node:test'
import { readApi } from './api.ts'
import { makeHttp } from './http.ts'
import { runStatement, type Outcome } from './runner.ts'
import { sections } from './statements.ts'
import type { RunContext } from './run-context.ts'

const statements = sections.flatMap((section) => section.statements)
const needed = [...new Set(statements.flatMap((statement) => statement.needs))]

const describeAll = (needs: readonly string[]): string => {
  const paths: Record<string, Record<string, object>> = {}
  for (const need of needs) {
    const [method = '', path = ''] = need.split(' ')
    paths[path] = { ...paths[path], [method.toLowerCase()]: {} }
  }
  return JSON.stringify({ paths })
}

/** Tries every statement against a server that describes these endpoints and answers `{}` to everything. */
const runAgainstEmptyServer = async (needs: readonly string[]): Promise<ReadonlyMap<string, Outcome>> => {
  const description = describeAll(needs)
  const server = createServer((request, response) => {
    request.resume()
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(request.url === '/openapi.json' ? description : '{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const baseUrl = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
  const end = AbortSignal.timeout(60_000)
  const http = makeHttp(baseUrl, end)
  const api = await readApi(http)
  const world: RunContext = { baseUrl, isLoopback: true, http, api, end, payerKey: undefined, closers: [] }
  try {
    const outcomes = new Map<string, Outcome>()
    for (const statement of statements) outcomes.set(statement.id, await runStatement(world, statement))
    return outcomes
  } finally {
    for (const close of world.closers) await close()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
}

const idsIn = (outcomes: ReadonlyMap<string, Outcome>, state: Outcome['state']): string[] =>
  [...outcomes].filter(([, outcome]) => outcome.state === state).map(([id]) => id)

test('every statement has a name of its own', () => {
  assert.ok(statements.length > 400)
  assert.equal(new Set(statements.map(({ id }) => id)).size, statements.length)
})

test('the journey visits every endpoint of the specification', () => {
  const ours = ['GET /.well-known/pohf-forging.json', 'POST /mcp/identity']
  const visited = new Set(
    statements.filter(({ id }) => id.startsWith('journey.')).flatMap(({ needs }) => needs),
  )
  assert.deepEqual(
    needed.filter((need) => !visited.has(need)),
    ours,
  )
})

test('what is not built is todo, neither passed nor failed', async () => {
  const outcomes = await runAgainstEmptyServer([])
  const withNeeds = statements.filter(({ needs }) => needs.length > 0)
  assert.ok(withNeeds.length > 400)
  for (const { id } of withNeeds) assert.equal(outcomes.get(id)?.state, 'todo', id)
})

test('an empty answer passes only where the specification asks for no more than a 200', async () => {
  const outcomes = await runAgainstEmptyServer(needed)
  assert.deepEqual(idsIn(outcomes, 'passed'), [
    'track.records',
    'track.send-beacon',
    'track.no-cookie',
    'track.any-fields',
    'auth.open-track-event',
    'auth.open-tasks-complete',
    'versioning.paths',
    'versioning.complete',
    'journey.track',
  ])
  assert.ok(idsIn(outcomes, 'failed').length > 400)
})

// The suite against servers that have nothing: what it must not believe.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { test } from 'node:test'
import { readApi } from './api.ts'
import { makeHttp } from './http.ts'
import { runStatement, type Outcome } from './runner.ts'
import { sections } from './statements.ts'
import type { RunContext } from './run-context.ts'
import type { Statement } from './statement.ts'

const statements = sections.flatMap((section) => section.statements)
const needed = [...new Set(statements.flatMap((statement) => statement.needs))]

const describeAll = (needs: readonly string[]): object => {
  const paths: Record<string, Record<string, object>> = {}
  for (const need of needs) {
    const [method = '', path = ''] = need.split(' ')
    paths[path] = { ...paths[path], [method.toLowerCase()]: {} }
  }
  return { paths }
}

type Answers = Readonly<Record<string, unknown>>
type Run = {
  /** The endpoints that the server describes. */
  readonly needs: readonly string[]
  /** What it answers by path; `{}` elsewhere. */
  readonly answers?: Answers
  readonly isLoopback?: boolean
  readonly tried?: readonly Statement[]
}

/** Tries statements, all unless told, against a server that has nothing but these answers. */
const runAgainstServer = async (run: Run): Promise<ReadonlyMap<string, Outcome>> => {
  const { needs, isLoopback = true, tried = statements } = run
  const answers: Answers = { ...run.answers, '/openapi.json': describeAll(needs) }
  const server = createServer((request, response) => {
    request.resume()
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(answers[request.url ?? ''] ?? {}))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const baseUrl = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
  const end = AbortSignal.timeout(60_000)
  const http = makeHttp(baseUrl, end)
  const api = await readApi(http)
  const world: RunContext = { baseUrl, isLoopback, http, api, end, payerKey: undefined, closers: [] }
  try {
    const outcomes = new Map<string, Outcome>()
    for (const statement of tried) outcomes.set(statement.id, await runStatement(world, statement))
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
  const ours = [
    'POST /api/test/sessions',
    'POST /siteverify',
    'POST /recaptcha/api/siteverify',
    'POST /turnstile/v0/siteverify',
    'GET /api/agents/metrics/attention',
    'GET /.well-known/pohf-forging.json',
    'POST /api/agents/questions/quote',
    'POST /api/agents/questions',
    'GET /api/agents/questions/{questionId}',
    'POST /api/agents/questions/{questionId}/pay',
    'GET /api/index/vhh/inputs',
    'POST /mcp/identity',
    'GET /api/agents/credentials',
    'GET /api/agents/credentials/{credentialId}',
    'GET /api/agents/sessions',
    'GET /api/agents/requests',
    'GET /api/agents/usage',
    'POST /api/agents/approvals',
    'GET /api/agents/approvals/{approvalId}',
    'POST /api/agents/approvals/{approvalId}/consume',
    'POST /api/agents/approvers',
    'GET /api/agents/approval-known-bad',
    'POST /api/agents/approval-known-bad',
    'GET /api/agents/approval-report',
  ]
  const visited = new Set(
    statements.filter(({ id }) => id.startsWith('journey.')).flatMap(({ needs }) => needs),
  )
  assert.deepEqual(
    needed.filter((need) => !visited.has(need)),
    ours,
  )
})

test('only what a person, a bank or the operator has to do is skipped', () => {
  const acts = new Map([
    ['credential.live-unmarked', 'a person in front of a live check'],
    ['credits.posted-after-payment', 'a person at the checkout'],
    ['fund.escrow', 'a person at the checkout'],
    ['order.agent-credential', 'an operator who trusts the key of an agent'],
  ])
  const skipped = statements.filter(({ skip }) => skip !== undefined).map(({ id }) => id)
  assert.ok(skipped.length > 0)
  assert.deepEqual(
    skipped.filter((id) => !acts.has(id)),
    [],
  )
})

test('what is not built is todo, neither passed nor failed', async () => {
  const outcomes = await runAgainstServer({ needs: [] })
  const withNeeds = statements.filter(({ needs }) => needs.length > 0)
  assert.ok(withNeeds.length > 400)
  for (const { id } of withNeeds) assert.equal(outcomes.get(id)?.state, 'todo', id)
})

test('an empty answer passes only where the specification asks for no more than a 200', async () => {
  const outcomes = await runAgainstServer({ needs: needed })
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

const listOf = (ids: readonly string[]) => ({ workflows: ids.map((id) => ({ id })) })

test('a list of work by MCP equals that of the web; without work it is skipped, and on loopback it fails', async () => {
  const tried = statements.filter(({ id }) => id === 'mcp.list-verified-work')
  const stateOf = async (byMcp: readonly string[], byWeb: readonly string[], isLoopback: boolean) => {
    const answers = {
      '/mcp': { result: { structuredContent: listOf(byMcp) } },
      '/api/workflows/available': listOf(byWeb),
    }
    const outcomes = await runAgainstServer({ needs: needed, answers, isLoopback, tried })
    return outcomes.get('mcp.list-verified-work')?.state
  }
  assert.equal(await stateOf([], [], false), 'skipped')
  assert.equal(await stateOf([], [], true), 'failed')
  assert.equal(await stateOf(['wf_b', 'wf_a'], ['wf_a', 'wf_b'], false), 'passed')
  assert.equal(await stateOf([], ['wf_a'], false), 'failed')
  assert.equal(await stateOf(['wf_a'], [], false), 'failed')
})

// Sends valid, near-valid and hostile requests to every operation of /openapi.json and holds each answer against the
// document. npm run battery -- fuzz [--requests 5000 --seed 1 --base-url URL --json]
import { parseArgs } from 'node:util'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import * as fc from 'fast-check'
import { bodyArbitrary, parameterArbitrary, type Json, type FuzzBody } from './arbitraries.ts'
import { resolveReferences } from '../../packages/protocol/src/index.ts'
import { startServer } from '../../packages/server/test/fixtures/processes/server.ts'

const { values: options } = parseArgs({
  options: {
    requests: { type: 'string', default: '5000' },
    seed: { type: 'string', default: String(process.pid) },
    'base-url': { type: 'string' },
    json: { type: 'boolean', default: false },
  },
})
const requestsWanted = Number(options.requests)
const seed = Number(options.seed)
const parallel = 16
const timeoutMs = 20_000

type Operation = {
  readonly method: string
  readonly path: string
  readonly parameters: readonly {
    readonly name: string
    readonly in: string
    readonly required: boolean
    readonly schema: Json
  }[]
  readonly body: Json | undefined
  readonly responses: Readonly<Record<string, ValidateFunction | undefined>>
}

const isRecord = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const recordOf = (value: unknown): Json => (isRecord(value) ? value : {})

const operationsOf = (document: Json): Operation[] => {
  const ajv = new Ajv2020({ strict: false, allErrors: false, validateFormats: true })
  formats.default(ajv)
  const compile = (schema: unknown): ValidateFunction => ajv.compile(recordOf(schema))
  return Object.entries(recordOf(resolveReferences(document, document['paths']))).flatMap(([path, methods]) =>
    Object.entries(recordOf(methods)).map(([method, raw]) => {
      const operation = recordOf(raw)
      const jsonOf = (holder: unknown) =>
        recordOf(recordOf(recordOf(holder)['content'])['application/json'])['schema']
      const responses = Object.entries(recordOf(operation['responses'])).map(([status, response]) => {
        const schema = jsonOf(response)
        return [status, schema === undefined ? undefined : compile(schema)] as const
      })
      return {
        method: method.toUpperCase(),
        path,
        parameters: (operation['parameters'] ?? []) as Operation['parameters'],
        body: jsonOf(operation['requestBody']) as Json | undefined,
        responses: Object.fromEntries(responses),
      }
    }),
  )
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

type Caller = { readonly name: string; readonly headers: Readonly<Record<string, string>> }
const register = async (baseUrl: string, mode: string): Promise<string> => {
  const response = await fetch(`${baseUrl}/api/agents/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'Fuzz', contactEmail: 'fuzz@example.com', mode }),
  })
  return String(recordOf(await response.json())['apiKey'])
}

/** Dots alone would be taken for a walk up the path before anything is sent. */
const segmentOf = (value: string | undefined): string =>
  value === undefined || /^\.{0,2}$/.test(value) ? 'x' : encodeURIComponent(value)

type Request = {
  readonly operation: Operation
  readonly url: string
  readonly headers: Record<string, string>
  readonly body: string | undefined
  readonly note: string
}

const requestArbitrary = (operation: Operation, callers: readonly Caller[]): fc.Arbitrary<Request> => {
  const parameters = operation.parameters.map((parameter) =>
    parameterArbitrary(parameter.schema).map((value) => ({ parameter, value })),
  )
  const body: fc.Arbitrary<FuzzBody> =
    operation.method === 'GET'
      ? fc.constant({ text: undefined, type: undefined, note: 'none' })
      : bodyArbitrary(operation.body)
  const caller = fc.oneof(
    { weight: 8, arbitrary: fc.constant(callers[0]) },
    { weight: 2, arbitrary: fc.constantFrom(...callers) },
  )
  return fc.tuple(fc.tuple(...parameters), body, caller).map(([given, sent, who]) => {
    let path = operation.path
    const query = new URLSearchParams()
    for (const { parameter, value } of given) {
      if (parameter.in === 'path') path = path.replace(`{${parameter.name}}`, segmentOf(value))
      else if (value !== undefined) query.set(parameter.name, value)
    }
    const search = query.size > 0 ? `?${query.toString()}` : ''
    return {
      operation,
      url: `${path}${search}`,
      headers: { ...who?.headers, ...(sent.type === undefined ? {} : { 'content-type': sent.type }) },
      body: sent.text,
      note: `${who?.name}, ${sent.note}`,
    }
  })
}

type Tally = {
  requests: number
  serverErrors: number
  undocumented: number
  schemaViolations: number
  byStatus: Map<number, number>
  faults: string[]
}

const check = async (baseUrl: string, request: Request, tally: Tally): Promise<void> => {
  const response = await fetch(`${baseUrl}${request.url}`, {
    method: request.operation.method,
    headers: request.headers,
    ...(request.body === undefined ? {} : { body: request.body }),
    redirect: 'manual',
    signal: AbortSignal.timeout(timeoutMs),
  })
  const text = await response.text()
  const { status } = response
  tally.requests += 1
  tally.byStatus.set(status, (tally.byStatus.get(status) ?? 0) + 1)
  const fault = (kind: 'serverErrors' | 'undocumented' | 'schemaViolations', why: string) => {
    tally[kind] += 1
    const shown = `${request.operation.method} ${request.url.slice(0, 200)} (${request.note}) body ${String(request.body).slice(0, 300)}`
    if (tally.faults.length < 20)
      tally.faults.push(`${kind}: ${status} ${why}\n    ${shown}\n    ${text.slice(0, 300)}`)
  }
  const documented = String(status) in request.operation.responses
  if (status >= 500 && !(status === 503 && documented)) fault('serverErrors', 'from the server')
  else if (!documented) fault('undocumented', 'is not in the document')
  const validate = request.operation.responses[status]
  const isJson = (response.headers.get('content-type') ?? '').startsWith('application/json')
  if (!validate || !isJson) return
  if (!validate(JSON.parse(text))) fault('schemaViolations', JSON.stringify(validate.errors?.[0] ?? {}))
}

const server =
  options['base-url'] === undefined ? await startServer({ KEY_LIMIT_PER_MINUTE: '10000000' }) : undefined
const baseUrl = options['base-url'] ?? server?.baseUrl ?? ''
try {
  const document = recordOf(await (await fetch(`${baseUrl}/openapi.json`)).json())
  const operations = operationsOf(document)
  if (operations.length === 0) throw new Error(`${baseUrl}/openapi.json has no operation`)

  const callers: Caller[] = [
    { name: 'test key', headers: bearer(await register(baseUrl, 'test')) },
    { name: 'live key', headers: bearer(await register(baseUrl, 'live')) },
    { name: 'no key', headers: {} },
    { name: 'bad key', headers: bearer('svc_live_nonsense') },
  ]
  const tally: Tally = {
    requests: 0,
    serverErrors: 0,
    undocumented: 0,
    schemaViolations: 0,
    byStatus: new Map(),
    faults: [],
  }
  // Operations that end the caller's own key would leave the rest of the run unauthenticated.
  const keyEndingPaths = new Set(['/api/agents/keys/rotate', '/api/agents/keys/revoke'])
  const perOperation = Math.ceil(requestsWanted / operations.length)
  const startedAt = performance.now()
  for (const operation of operations) {
    const own = keyEndingPaths.has(operation.path)
      ? [{ name: 'key of its own', headers: bearer(await register(baseUrl, 'test')) }]
      : callers
    const samples = fc.sample(requestArbitrary(operation, own), { numRuns: perOperation, seed })
    for (let next = 0; next < samples.length; next += parallel) {
      await Promise.all(samples.slice(next, next + parallel).map((request) => check(baseUrl, request, tally)))
    }
    if (process.stdout.isTTY)
      process.stdout.write(`\r${tally.requests} requests, ${tally.faults.length} faults `)
  }
  const statuses = [...tally.byStatus]
    .toSorted(([a], [b]) => a - b)
    .map(([status, count]) => `${status}: ${count}`)
  console.log(
    `\n${tally.requests} requests over ${operations.length} operations, seed ${seed}, ${((performance.now() - startedAt) / 1_000).toFixed(1)} s`,
  )
  console.log(`answers  ${statuses.join('  ')}`)
  for (const fault of tally.faults) console.log(fault)
  const { requests, serverErrors, undocumented, schemaViolations } = tally
  console.log(
    `${serverErrors} server errors, ${undocumented} undocumented, ${schemaViolations} schema violations`,
  )
  if (options.json) console.log(JSON.stringify({ requests, serverErrors, undocumented, schemaViolations }))
  // A run that saw only refusals has tested authentication and validation, not the operations.
  const accepted = tally.byStatus.get(200) ?? 0
  if (
    serverErrors + undocumented + schemaViolations > 0 ||
    requests < requestsWanted ||
    accepted < requests / 50
  )
    process.exitCode = 1
} finally {
  await server?.stop()
}

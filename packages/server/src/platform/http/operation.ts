import { takesPayment, type Endpoint } from '@pohf/protocol'
import { z } from 'zod'
import {
  authenticate,
  authorizeCaller,
  findCaller,
  findCallerInBody,
  isCallerInBody,
  type Authenticate,
  type IncomingRequest,
} from './authenticate.ts'
import type { Call, EndpointId, Handler, Route } from './call.ts'
import { readIdempotencyKey } from '../db/idempotency.ts'
import type { Ctx } from '../ops/context.ts'
import { Refusal, type Detail } from './errors.ts'
import { headerOf } from './http-headers.ts'
import { runIdempotent, serializeResponse, type SerializedResponse } from './http-output.ts'
import type { RateLimitResult } from './rate-limiter.ts'
import type { RateLimits } from './rate-limits.ts'

/** What serves operations, over HTTP and from inside the process. */
export type OperationOptions = {
  readonly ctx: Ctx
  readonly endpoints: readonly Endpoint[]
  readonly routes: readonly Route[]
  readonly authenticate: Authenticate
  readonly rateLimits: RateLimits
  /** Refuses writes while the database is from the past. */
  readonly checkWrite: () => Promise<void>
}

/** A row of the table with its handler. */
export type Operation = Omit<OperationOptions, 'endpoints' | 'routes'> & {
  readonly endpoint: Endpoint
  readonly handler: Handler
}

/** The operations of the rows that these routes serve. Rows with one id have one handler. */
export const operationsOf = ({ endpoints, routes, ...services }: OperationOptions): readonly Operation[] => {
  for (const { id } of routes) {
    if (!endpoints.some((endpoint) => endpoint.id === id))
      throw new Error(`operation ${id} is mounted but not in the table of endpoints`)
  }
  return endpoints.flatMap((endpoint) => {
    const route = routes.find(({ id }) => id === endpoint.id)
    return route ? [{ ...services, endpoint, handler: route.handler }] : []
  })
}

/** Takes headers of the answer, whatever the answer becomes. */
type HeaderSink = { readonly headers: (values: Record<string, string>) => unknown }

/** Over HTTP every answer names the limit, from inside only a refusal. */
const enforceRateLimit = (verdict: RateLimitResult | undefined, reply: HeaderSink | undefined): void => {
  if (!verdict) return
  reply?.headers(verdict.headers)
  if (!verdict.allowed) throw new Refusal('rate_limited', { headers: verdict.headers })
}

const limitAddress = (
  { endpoint, rateLimits }: Operation,
  { client }: IncomingRequest,
  reply?: HeaderSink,
): void => enforceRateLimit(rateLimits.byAddress(endpoint, client), reply)

const limitAgent = ({ rateLimits }: Operation, { agent }: IncomingRequest, reply?: HeaderSink): void =>
  enforceRateLimit(agent && rateLimits.byAgent(agent), reply)

const detailsOf = (error: z.ZodError, place: string): Detail[] =>
  error.issues.slice(0, 50).map((issue) => ({
    path: [place, ...issue.path.map(String)].join('.'),
    code: issue.code ?? 'invalid',
    message: issue.message,
  }))

const parsePart = (schema: z.ZodType | undefined, value: unknown, place: string): unknown => {
  if (!schema) return undefined
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  throw new Refusal('validation_failed', { details: detailsOf(parsed.error, place) })
}

/**
 * The Idempotency-Key of a call that is not a GET and has a known caller; other calls ignore the header, as do rows with the
 * key in the body. So do rows of an operator's session and rows whose response shows a person a secret: there is no API key
 * to encrypt the stored response with.
 */
const idempotencyKeyOf = (endpoint: Endpoint, request: IncomingRequest): string | undefined => {
  if (endpoint.auth === 'secret' || endpoint.auth === 'operatorSession') return undefined
  // A credential orders once, and the response has a token that no key encrypts.
  if (request.agent?.keyless) return undefined
  // The fingerprint of a call does not cover its headers, and the payment is in a header. Each payment is charged once
  // anyway.
  if (takesPayment(endpoint)) return undefined
  const hasCaller = request.agent ?? request.operator ?? (endpoint.showsSecret ? undefined : request.person)
  return hasCaller && endpoint.method !== 'GET'
    ? readIdempotencyKey(headerOf(request, 'idempotency-key'))
    : undefined
}

/** A call before it has a place to store its result: `runIdempotent` adds that. */
type ParsedCall = Omit<Call<EndpointId>, 'storeResult'>

/** The request as an operation sees it: every part parsed by its schema, no type coerced. */
const parseCall = (endpoint: Endpoint, request: IncomingRequest): ParsedCall =>
  ({
    body: parsePart(endpoint.body, request.body ?? {}, 'body'),
    query: parsePart(endpoint.query, request.query, 'query'),
    params: parsePart(endpoint.params, request.params, 'path'),
    agent: request.agent,
    operator: request.operator,
    person: request.person,
    accountPerson: request.accountPerson,
    rawBody: request.body,
    requestId: request.id,
    address: request.client,
    idempotencyKey: idempotencyKeyOf(endpoint, request),
    header: (name: string) => headerOf(request, name),
  }) as ParsedCall

/** Names the fields that the schema does not know to a test key, so that typing errors show early. */
const nameUnknownFields = (
  { body: schema }: Endpoint,
  { agent, body }: IncomingRequest,
  reply: HeaderSink,
): void => {
  if (agent?.mode !== 'test') return
  if (!(schema instanceof z.ZodObject) || typeof body !== 'object' || body === null) return
  const unknown = Object.keys(body)
    .filter((key) => !Object.hasOwn(schema.shape, key) && /^[\x21-\x7e]{1,64}$/.test(key))
    .slice(0, 20)
  if (unknown.length > 0) reply.headers({ 'x-unknown-fields': unknown.join(', ') })
}

/**
 * Whether a pending restore stops calls of this row. Reads continue, and so do the calls by which operators complete the
 * restore.
 */
const isStoppedByRestore = ({ method, duringRestore }: Endpoint): boolean =>
  method !== 'GET' && duringRestore !== true

// The steps of a call, in the order in which they refuse it. A call from inside the process has no `reply`; a step that it
// leaves out says why. Before the first, a call without a key has spent from the budget of its network: over HTTP in
// `addCostBudget`, as every request does, from inside in `dispatch`. Over HTTP, Fastify reads the body after `admitCall`.

/** The steps before the body is read. */
export const admitCall = async (
  operation: Operation,
  request: IncomingRequest,
  reply?: HeaderSink,
): Promise<void> => {
  const { endpoint } = operation
  limitAddress(operation, request, reply)
  // From inside, the caller is that of the call which carries this one.
  if (reply) await authenticate(operation, request, findCaller)
  if (isCallerInBody(endpoint, request)) return
  authorizeCaller(endpoint, request)
  limitAgent(operation, request, reply)
}

/** The steps after the body is read. What they throw is answered by `serializeError`. */
export const runCall = async (
  operation: Operation,
  request: IncomingRequest,
  reply?: HeaderSink,
): Promise<SerializedResponse> => {
  const { ctx, endpoint, handler } = operation
  if (isCallerInBody(endpoint, request)) {
    await authenticate(operation, request, findCallerInBody)
    authorizeCaller(endpoint, request)
    // Only now: a caller who is not known learns nothing about the body.
    if (request.bodyFault) throw request.bodyFault
    limitAgent(operation, request, reply)
  }
  const call = parseCall(endpoint, request)
  // In a header, which no caller inside reads.
  if (reply) nameUnknownFields(endpoint, request, reply)
  if (isStoppedByRestore(endpoint)) await operation.checkWrite()
  return runIdempotent({ ctx, endpoint, request }, call.idempotencyKey, async (storeResult) =>
    serializeResponse(endpoint, await handler({ ...call, storeResult })),
  )
}

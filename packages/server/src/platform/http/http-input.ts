import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Endpoint } from '@pohf/protocol'
import { z } from 'zod'
import type { Agent, Browser, Call, EndpointId, Operator, Person } from './call.ts'
import { Refusal, type Detail } from './errors.ts'
import { headerOf } from './http-headers.ts'
import { isNestedTooDeep, nestingMax } from './json-depth.ts'
import type { RateLimits } from './rate-limits.ts'
import { readIdempotencyKey } from '../db/idempotency.ts'

/** Finds the caller of a key or of a browser. Refuses with a 401 code, a page of another site with a 403. */
export type Authenticate = {
  readonly agent: (key: string) => Promise<Agent>
  readonly operator: (key: string) => Promise<Operator>
  readonly member: (browser: Browser) => Promise<Person>
}

/** The parts of a request that operations may depend on; dispatch builds one without a connection. */
export type IncomingRequest = Pick<
  FastifyRequest,
  'id' | 'ip' | 'url' | 'headers' | 'body' | 'query' | 'params' | 'agent' | 'operator' | 'person' | 'keyText'
>

const bearerOf = (request: FastifyRequest): string | undefined => {
  const header = headerOf(request, 'authorization')
  if (header === undefined) return undefined
  return /^bearer +([^ ]+) *$/i.exec(header)?.[1] ?? ''
}

const missingKeyCodes = {
  bearer: 'missing_api_key',
  operator: 'missing_api_key',
  licensed: 'license_required',
  order: 'auth_required',
  member: 'sign_in_required',
} as const

/** Refuses a call without a key where one is required, and a key that lacks the scope. */
export const authorizeCaller = (endpoint: Endpoint, agent: Agent | undefined): void => {
  if (endpoint.auth === 'public') return
  if (!agent) {
    if (endpoint.auth === 'optional') return
    throw new Refusal(missingKeyCodes[endpoint.auth])
  }
  if (endpoint.scope && !agent.scopes.includes(endpoint.scope))
    throw new Refusal('forbidden', { message: `This key lacks the scope "${endpoint.scope}".` })
}

/** Whether the request is for the licensed tier: then a missing or bad key is 403 and not 401. */
const requestsLicensedTier = (endpoint: Endpoint, request: FastifyRequest): boolean => {
  const query = request.query as Record<string, unknown>
  return (
    endpoint.auth === 'licensed' ||
    (endpoint.licensedQuery ?? []).some((name) => [query[name]].flat().includes('1'))
  )
}

/** Authenticates the caller before the body is read: an anonymous caller learns nothing about the body's schema. */
export const authenticateRequest = async (
  { authenticate, rateLimits }: { authenticate: Authenticate; rateLimits: Pick<RateLimits, 'lookUpKey'> },
  endpoint: Endpoint,
  request: FastifyRequest,
): Promise<void> => {
  if (endpoint.auth === 'public') return
  if (endpoint.auth === 'member') {
    request.person = await authenticate.member({
      cookie: headerOf(request, 'cookie'),
      origin: headerOf(request, 'origin'),
      writes: endpoint.method !== 'GET',
    })
    return
  }
  const licensed = requestsLicensedTier(endpoint, request)
  const key = bearerOf(request)
  if (key === undefined) {
    if (licensed) throw new Refusal('license_required')
    return authorizeCaller(endpoint, undefined)
  }
  request.keyText = key
  if (endpoint.auth === 'operator') {
    request.operator = await rateLimits.lookUpKey(request.ip, key, () => authenticate.operator(key))
    return
  }
  try {
    request.agent = await rateLimits.lookUpKey(request.ip, key, () => authenticate.agent(key))
  } catch (error) {
    const badKey =
      error instanceof Refusal && (error.code === 'malformed_api_key' || error.code === 'invalid_api_key')
    throw licensed && badKey ? new Refusal('license_required', { message: error.message }) : error
  }
  authorizeCaller(endpoint, request.agent)
}

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

/** Fields that the schema does not know. Responses to test keys list them, so that typing errors show early. */
export const unknownFields = (endpoint: Endpoint, body: unknown): string[] => {
  if (!(endpoint.body instanceof z.ZodObject) || typeof body !== 'object' || body === null) return []
  const known = endpoint.body.shape
  return Object.keys(body)
    .filter((key) => !Object.hasOwn(known, key) && /^[\x21-\x7e]{1,64}$/.test(key))
    .slice(0, 20)
}

/**
 * The Idempotency-Key of a call that is no GET and has a known caller; other calls ignore the header. So does a response
 * with a secret for a person, who has no key to encrypt it with.
 */
export const idempotencyKeyOf = (endpoint: Endpoint, request: IncomingRequest): string | undefined => {
  const hasCaller = request.agent ?? request.operator ?? (endpoint.showsSecret ? undefined : request.person)
  return hasCaller && endpoint.method !== 'GET'
    ? readIdempotencyKey(headerOf(request, 'idempotency-key'))
    : undefined
}

/** A call before it has a place to store its result: `runIdempotent` adds that. */
export type ParsedCall = Omit<Call<EndpointId>, 'storeResult'>

/** The request as an operation sees it: every part parsed by its schema, no type coerced. */
export const parseCall = (endpoint: Endpoint, request: IncomingRequest): ParsedCall =>
  ({
    body: parsePart(endpoint.body, request.body ?? {}, 'body'),
    query: parsePart(endpoint.query, request.query, 'query'),
    params: parsePart(endpoint.params, request.params, 'path'),
    agent: request.agent,
    operator: request.operator,
    person: request.person,
    rawBody: request.body,
    requestId: request.id,
    address: request.ip,
    idempotencyKey: idempotencyKeyOf(endpoint, request),
    header: (name: string) => headerOf(request, name),
  }) as ParsedCall

/** Endpoints that pages of any site call with text/plain, for which browsers send no CORS preflight. */
const browserLimitGroups: ReadonlySet<string> = new Set(['beacon', 'sessions', 'telemetry'])

/** Reads a body as JSON if its type is JSON, missing, or it comes from a page; an empty body is {}. Signed text stays text. */
export const addBodyParser = (app: FastifyInstance): void => {
  const parseJson = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'string' }, (request, body, done) => {
    const text = typeof body === 'string' ? body : body.toString('utf8')
    // Before anything walks the value: schemas and serializers recurse, and deep nesting exhausts the stack.
    if (isNestedTooDeep(text))
      return done(
        new Refusal('invalid_json', { message: `The body is nested deeper than ${nestingMax} levels.` }),
      )
    if (request.routeOptions.config.endpoint?.textBody) return done(null, text)
    if (text.trim() === '') return done(null, {})
    const type = headerOf(request, 'content-type')?.split(';')[0]?.trim().toLowerCase() ?? ''
    const isFromPage = browserLimitGroups.has(request.routeOptions.config.endpoint?.limit ?? '')
    if (type !== '' && type !== 'application/json' && !type.endsWith('+json') && !isFromPage) {
      return done(new Refusal('unsupported_media_type'))
    }
    return parseJson(request, text, (error, value) =>
      error ? done(new Refusal('invalid_json')) : done(null, value),
    )
  })
}

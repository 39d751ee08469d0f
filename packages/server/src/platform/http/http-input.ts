import type { FastifyInstance, FastifyRequest } from 'fastify'
import { takesPayment, type Endpoint } from '@pohf/protocol'
import { z } from 'zod'
import type {
  AccountPerson,
  Agent,
  AuthenticateKeyless,
  Browser,
  Call,
  ConsoleRequest,
  EndpointId,
  Operator,
  Person,
} from './call.ts'
import { Refusal, type Detail } from './errors.ts'
import { isForm, readForm } from './form-body.ts'
import { headerOf } from './http-headers.ts'
import { jsonTextFault } from '@pohf/verify/approvals'
import { isNestedTooDeep, nestingMax } from './json-depth.ts'
import type { RateLimits } from './rate-limits.ts'
import { readIdempotencyKey } from '../db/idempotency.ts'
import type { PageRequest } from '../sign-in/own-page.ts'

/** Finds the caller of a key or of a browser. Refuses with a 401 code, a page of another site with a 403. */
export type Authenticate = {
  readonly agent: (key: string) => Promise<Agent>
  readonly keyless: AuthenticateKeyless
  /** The bearer of one order. */
  readonly orderToken: (token: string) => Promise<Agent>
  readonly operator: (key: string) => Promise<Operator>
  readonly member: (browser: Browser) => Promise<Person>
  readonly console: (request: ConsoleRequest) => Promise<AccountPerson>
  readonly operatorSession: (request: ConsoleRequest) => Promise<Operator>
}

/** The parts of a request that operations may depend on; dispatch builds one without a connection. */
export type IncomingRequest = Pick<
  FastifyRequest,
  | 'id'
  | 'client'
  | 'url'
  | 'headers'
  | 'body'
  | 'query'
  | 'params'
  | 'agent'
  | 'operator'
  | 'person'
  | 'accountPerson'
  | 'keyText'
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
  console: 'sign_in_required',
  operatorSession: 'sign_in_required',
  secret: 'missing_api_key',
} as const

/** Refuses what the role of a console token does not allow. An API key has scopes and no role. */
const authorizeConsole = (endpoint: Endpoint, { console, mode }: Agent): void => {
  if (!console) return
  if (console.role === 'viewer' && (endpoint.method !== 'GET' || endpoint.writes))
    throw new Refusal('forbidden', { message: 'Your role is viewer, which reads only.' })
  const isOwnersOnly = endpoint.ownerInLive && mode === 'live'
  if (isOwnersOnly && console.role !== 'owner')
    throw new Refusal('forbidden', { message: 'In live mode only an owner may change keys and billing.' })
  if ((isOwnersOnly || endpoint.needsRecentSignIn) && !console.isRecent) throw new Refusal('sign_in_again')
}

/** Refuses everybody but an owner who signed in lately, in live mode with a passkey. An API key never administers. */
const authorizeAdministrator = ({ console, mode }: Agent): void => {
  if (console?.role !== 'owner')
    throw new Refusal('forbidden', {
      message: 'Only an owner who is signed in to the console can do this. No API key can.',
    })
  if (!console.isRecent) throw new Refusal('sign_in_again')
  if (mode === 'live' && console.signedInBy !== 'passkey')
    throw new Refusal('sign_in_again', { message: 'In live mode this needs a sign-in with a passkey.' })
}

/**
 * Checks the permission to call: refuses a call without a key where one is required, a key that lacks the scope, and a role
 * that may not call.
 */
export const authorizeCaller = (endpoint: Endpoint, agent: Agent | undefined): void => {
  if (endpoint.auth === 'public') return
  if (!agent) {
    if (endpoint.auth === 'optional') return
    throw new Refusal(missingKeyCodes[endpoint.auth])
  }
  if (endpoint.scope && !agent.scopes.includes(endpoint.scope))
    throw new Refusal('forbidden', { message: `This key lacks the scope "${endpoint.scope}".` })
  authorizeConsole(endpoint, agent)
  if (endpoint.administratorOnly) authorizeAdministrator(agent)
}

/** Refuses what needs a recent sign-in of an operator. An operator's key has no session and is exempt. */
const authorizeOperator = (endpoint: Endpoint, { session }: Operator): void => {
  if (endpoint.needsRecentSignIn && session && !session.isRecent) throw new Refusal('operator_sign_in_again')
}

/** Whether the request is for the licensed tier: then a missing or bad key is 403 and not 401. */
const requestsLicensedTier = (endpoint: Endpoint, request: FastifyRequest): boolean => {
  const query = request.query as Record<string, unknown>
  return (
    endpoint.auth === 'licensed' ||
    (endpoint.licensedQuery ?? []).some((name) => [query[name]].flat().includes('1'))
  )
}

/** The headers by which the console and the operators' pages know their page and their person. */
const consoleRequestOf = (
  { method }: Pick<Endpoint, 'method'>,
  header: (name: string) => string | undefined,
): ConsoleRequest => ({
  method,
  cookie: header('cookie'),
  origin: header('origin'),
  fetchSite: header('sec-fetch-site'),
  contentType: header('content-type'),
})

/** The same for an operation that signs somebody in or out. Every such row is a POST. */
export const pageRequestOf = ({ header }: Pick<Call<EndpointId>, 'header'>): PageRequest => ({
  ...consoleRequestOf({ method: 'POST' }, header),
  userAgent: header('user-agent'),
})

/** Three parts with dots: no key of ours has one. */
const looksLikeJwt = (text: string): boolean => text.split('.').length === 3

type KeyChecks = { authenticate: Authenticate; rateLimits: Pick<RateLimits, 'lookUpKey'> }

/** Authenticates the caller before the body is read: an anonymous caller learns nothing about the body's schema. */
export const authenticateRequest = async (
  { authenticate, rateLimits }: KeyChecks,
  endpoint: Endpoint,
  request: FastifyRequest,
): Promise<void> => {
  if (endpoint.auth === 'public' || endpoint.auth === 'secret') return
  if (endpoint.auth === 'member') {
    request.person = await authenticate.member({
      cookie: headerOf(request, 'cookie'),
      origin: headerOf(request, 'origin'),
      writes: endpoint.method !== 'GET',
    })
    return
  }
  if (endpoint.auth === 'console') {
    request.accountPerson = await authenticate.console(
      consoleRequestOf(endpoint, (name) => headerOf(request, name)),
    )
    return
  }
  if (endpoint.auth === 'operatorSession') {
    request.operator = await authenticate.operatorSession(
      consoleRequestOf(endpoint, (name) => headerOf(request, name)),
    )
    return
  }
  const licensed = requestsLicensedTier(endpoint, request)
  const key = bearerOf(request)
  if (key === undefined) {
    // The credential may be in the body, or cover it: `authenticateWithoutKey` decides.
    if (endpoint.auth === 'order') return authenticate.keyless.precheck(request.headers)
    if (licensed) throw new Refusal('license_required')
    return authorizeCaller(endpoint, undefined)
  }
  request.keyText = key
  if (endpoint.auth === 'operator') {
    request.operator = await rateLimits.lookUpKey(request.client, key, () => authenticate.operator(key))
    authorizeOperator(endpoint, request.operator)
    return
  }
  try {
    const isOrderToken = endpoint.takesOrderToken === true && looksLikeJwt(key)
    const find = isOrderToken ? authenticate.orderToken : authenticate.agent
    request.agent = await rateLimits.lookUpKey(request.client, key, () => find(key))
  } catch (error) {
    const badKey =
      error instanceof Refusal && (error.code === 'malformed_api_key' || error.code === 'invalid_api_key')
    throw licensed && badKey ? new Refusal('license_required', { message: error.message }) : error
  }
  authorizeCaller(endpoint, request.agent)
}

/** Finds the agent of a request without a key, once the body is read and before its schema is applied. */
export const authenticateWithoutKey = async (
  { authenticate }: Pick<KeyChecks, 'authenticate'>,
  endpoint: Endpoint,
  request: FastifyRequest,
): Promise<void> => {
  const { method, url, headers, bodyText, body, client: address } = request
  request.agent = await authenticate.keyless.authenticate({ method, url, headers, bodyText, body, address })
  authorizeCaller(endpoint, request.agent)
  // A caller who is not known learns nothing about the body, so its fault is thrown only now.
  if (request.bodyFault !== undefined) throw request.bodyFault
}

/** The same for a row whose key is in the body, once the body is read and before its schema is applied. */
export const authenticateBody = async (
  { authenticate, rateLimits }: KeyChecks,
  endpoint: Endpoint,
  request: FastifyRequest,
): Promise<void> => {
  const { body } = request
  const secret = typeof body === 'object' && body !== null && 'secret' in body ? body.secret : undefined
  if (secret === undefined || secret === null || secret === '') return authorizeCaller(endpoint, undefined)
  if (typeof secret !== 'string') throw new Refusal('malformed_api_key')
  request.agent = await rateLimits.lookUpKey(request.client, secret, () => authenticate.agent(secret))
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
 * The Idempotency-Key of a call that is not a GET and has a known caller; other calls ignore the header, as do rows with the
 * key in the body. So do rows of an operator's session and rows whose response shows a person a secret: there is no API key
 * to encrypt the stored response with.
 */
export const idempotencyKeyOf = (endpoint: Endpoint, request: IncomingRequest): string | undefined => {
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
    accountPerson: request.accountPerson,
    rawBody: request.body,
    requestId: request.id,
    address: request.client,
    idempotencyKey: idempotencyKeyOf(endpoint, request),
    header: (name: string) => headerOf(request, name),
  }) as ParsedCall

/** Endpoints that pages of any site call with text/plain, for which browsers send no CORS preflight. */
const browserLimitGroups: ReadonlySet<string> = new Set(['beacon', 'sessions', 'telemetry'])

/**
 * Reads a body as JSON if its type is JSON, missing, or it comes from a page; an empty body is {}. Signed text stays text.
 * A row with its key in the body reads forms too.
 */
export const addBodyParser = (app: FastifyInstance): void => {
  const parseJson = app.getDefaultJsonParser('error', 'error')
  const readJson = (request: FastifyRequest, text: string) =>
    new Promise<unknown>((resolve, reject) => {
      void parseJson(request, text, (error, value) =>
        error ? reject(new Refusal('invalid_json')) : resolve(value),
      )
    })
  const readBody = async (request: FastifyRequest, body: string | Buffer): Promise<unknown> => {
    const text = typeof body === 'string' ? body : body.toString('utf8')
    // Before anything walks the value: schemas and serializers recurse, and deep nesting exhausts the stack.
    if (isNestedTooDeep(text))
      throw new Refusal('invalid_json', { message: `The body is nested deeper than ${nestingMax} levels.` })
    const endpoint = request.routeOptions.config.endpoint
    if (endpoint?.textBody) return text
    if (text.trim() === '') return {}
    const contentType = headerOf(request, 'content-type') ?? ''
    const type = contentType.split(';')[0]?.trim().toLowerCase() ?? ''
    if (endpoint?.auth === 'secret' && isForm(type)) return readForm(text, contentType)
    const isFromPage = browserLimitGroups.has(endpoint?.limit ?? '')
    if (type !== '' && type !== 'application/json' && !type.endsWith('+json') && !isFromPage)
      throw new Refusal('unsupported_media_type')
    const value = await readJson(request, text)
    const fault = endpoint?.exactJson ? jsonTextFault(text) : undefined
    if (fault)
      throw new Refusal('invalid_json', {
        message: 'Another program could read other values than ours from this body.',
        details: [{ path: 'body', ...fault }],
      })
    return value
  }
  /** Keeps the body of an order without a key as it was sent, and its fault until the caller is known. */
  const readOrKeep = async (request: FastifyRequest, body: string | Buffer): Promise<unknown> => {
    if (request.routeOptions.config.endpoint?.auth !== 'order' || request.agent)
      return readBody(request, body)
    request.bodyText = typeof body === 'string' ? body : body.toString('utf8')
    try {
      return await readBody(request, body)
    } catch (error) {
      request.bodyFault = error instanceof Error ? error : new Refusal('invalid_json')
      return {}
    }
  }
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'string' }, readOrKeep)
}

/**
 * Whether a pending restore stops calls of this row. Reads continue, and so do the calls by which operators complete the
 * restore.
 */
export const isStoppedByRestore = ({ method, duringRestore }: Endpoint): boolean =>
  method !== 'GET' && duringRestore !== true

import type { Endpoint } from '@pohf/protocol'
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
  RequestHeaders,
} from './call.ts'
import type { ClientAddress } from './client-address.ts'
import { Refusal } from './errors.ts'
import { headerOf } from './http-headers.ts'
import type { RateLimits } from './rate-limits.ts'
import { failedKeyMs } from './row-costs.ts'
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

/** What is found out about a call on its way. */
export type CallFacts = {
  /** Set first. */
  client: ClientAddress
  agent: Agent | undefined
  operator: Operator | undefined
  person: Person | undefined
  accountPerson: AccountPerson | undefined
  /** The text of the API key: it encrypts stored responses that show a secret. Never logged. */
  keyText: string
  /** Of an order without a key: the body as it was sent, and why it cannot be read. */
  bodyText: string
  bodyFault: Error | undefined
}

/** A request as the steps of a call see it, over HTTP or from inside the process. */
export type IncomingRequest = CallFacts & {
  readonly id: string
  readonly url: string
  readonly headers: RequestHeaders
  readonly body: unknown
  readonly query: unknown
  readonly params: unknown
}

const bearerOf = (header: string | undefined): string | undefined => {
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

/** Refuses what needs a recent sign-in of an operator. An operator's key has no session and is exempt. */
const authorizeOperator = (endpoint: Endpoint, { session }: Operator): void => {
  if (endpoint.needsRecentSignIn && session && !session.isRecent) throw new Refusal('operator_sign_in_again')
}

/**
 * Checks the permission to call: refuses a call without a caller where one is required, a key that lacks the scope, and a
 * role or a sign-in that may not call.
 */
export const authorizeCaller = (
  endpoint: Endpoint,
  { agent, operator, person, accountPerson }: IncomingRequest,
): void => {
  // The token of a directory belongs to its issuer, which only the operation knows.
  if (endpoint.auth === 'public' || endpoint.auth === 'directory' || person || accountPerson) return
  if (operator) return authorizeOperator(endpoint, operator)
  if (!agent) {
    if (endpoint.auth === 'optional') return
    throw new Refusal(missingKeyCodes[endpoint.auth])
  }
  if (endpoint.scope && !agent.scopes.includes(endpoint.scope))
    throw new Refusal('forbidden', { message: `This key lacks the scope "${endpoint.scope}".` })
  authorizeConsole(endpoint, agent)
  if (endpoint.administratorOnly) authorizeAdministrator(agent)
}

/** Whether the request is for the licensed tier: then a missing or bad key is 403 and not 401. */
const requestsLicensedTier = (endpoint: Endpoint, request: IncomingRequest): boolean => {
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

/** What finding the caller needs of an operation. */
type Lookups = {
  readonly endpoint: Endpoint
  readonly authenticate: Authenticate
  readonly rateLimits: Pick<RateLimits, 'costBudget' | 'lookUpKey'>
}

/** Whether the caller is known only once the body is read: its key or its credential is there, or covers it. */
export const isCallerInBody = ({ auth }: Endpoint, { agent }: IncomingRequest): boolean =>
  (auth === 'secret' || auth === 'order') && !agent

const bearerAuths: ReadonlySet<Endpoint['auth']> = new Set([
  'bearer',
  'optional',
  'licensed',
  'order',
  'operator',
])

/** Whether the call shows a key that its row reads. Whether the key is valid is known later. */
export const showsKey = ({ auth }: Endpoint, headers: RequestHeaders): boolean =>
  auth === 'secret' || (bearerAuths.has(auth) && headers['authorization'] !== undefined)

/** Finds the caller. A key that is not valid spends as a call without one, before it is refused. */
export const authenticate = async (
  lookups: Lookups,
  request: IncomingRequest,
  find: typeof findCaller,
): Promise<void> => {
  try {
    await find(lookups, request)
  } catch (error) {
    if (showsKey(lookups.endpoint, request.headers) && !request.agent && !request.operator)
      await lookups.rateLimits.costBudget.admit(request.client, failedKeyMs)
    throw error
  }
}

/** Finds the caller by a key or a cookie: an anonymous caller learns nothing about the body's schema. */
export const findCaller = async (
  { endpoint, authenticate: by, rateLimits }: Lookups,
  request: IncomingRequest,
): Promise<void> => {
  if (endpoint.auth === 'public' || endpoint.auth === 'secret' || endpoint.auth === 'directory') return
  const header = (name: string) => headerOf(request, name)
  if (endpoint.auth === 'member') {
    const writes = endpoint.method !== 'GET'
    request.person = await by.member({ cookie: header('cookie'), origin: header('origin'), writes })
    return
  }
  if (endpoint.auth === 'console') {
    request.accountPerson = await by.console(consoleRequestOf(endpoint, header))
    return
  }
  if (endpoint.auth === 'operatorSession') {
    request.operator = await by.operatorSession(consoleRequestOf(endpoint, header))
    return
  }
  const licensed = requestsLicensedTier(endpoint, request)
  const key = bearerOf(header('authorization'))
  if (key === undefined) {
    if (endpoint.auth === 'order') return by.keyless.precheck(request.headers)
    if (licensed) throw new Refusal('license_required')
    return
  }
  request.keyText = key
  if (endpoint.auth === 'operator') {
    request.operator = await rateLimits.lookUpKey(request.client, key, () => by.operator(key))
    return
  }
  try {
    const find = endpoint.takesOrderToken === true && looksLikeJwt(key) ? by.orderToken : by.agent
    request.agent = await rateLimits.lookUpKey(request.client, key, () => find(key))
  } catch (error) {
    const badKey =
      error instanceof Refusal && (error.code === 'malformed_api_key' || error.code === 'invalid_api_key')
    throw licensed && badKey ? new Refusal('license_required', { message: error.message }) : error
  }
}

/** Finds the caller of `siteverify`, whose key is in the body, or of an order without a key. */
export const findCallerInBody = async (
  { endpoint, authenticate: by, rateLimits }: Lookups,
  request: IncomingRequest,
): Promise<void> => {
  const { url, headers, bodyText, body, client: address } = request
  if (endpoint.auth === 'order') {
    const { method } = endpoint
    request.agent = await by.keyless.authenticate({ method, url, headers, bodyText, body, address })
    return
  }
  const secret = typeof body === 'object' && body !== null && 'secret' in body ? body.secret : undefined
  if (secret === undefined || secret === null || secret === '') throw new Refusal('missing_api_key')
  if (typeof secret !== 'string') throw new Refusal('malformed_api_key')
  request.agent = await rateLimits.lookUpKey(address, secret, () => by.agent(secret))
}

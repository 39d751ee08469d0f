import { randomBytes } from 'node:crypto'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { operationNameOf, usualBodyLimitBytes, type Endpoint } from '@pohf/protocol'
import type { ClientAddress } from './client-address.ts'
import { addCostBudget, spendUnlessKey } from './http-keyless.ts'
import type { RateLimits } from './rate-limits.ts'
import type { AccountPerson, Agent, ErrorPage, Handler, Operator, Page, Person, Route } from './call.ts'
import type { Ctx } from '../ops/context.ts'
import type { Span } from '../ops/tracing/spans.ts'
import { isRequestId, withinRequest, type RequestScope } from '../ops/tracing/request-scope.ts'
import { startRequestSpan, withinSpan } from '../ops/tracing.ts'
import { Refusal } from './errors.ts'
import { addHeaders, addPreflights, headerOf, matchersOf } from './http-headers.ts'
import {
  addBodyParser,
  authenticateBody,
  authenticateWithoutKey,
  authenticateRequest,
  isStoppedByRestore,
  parseCall,
  unknownFields,
  type Authenticate,
} from './http-input.ts'
import {
  addErrorHandlers,
  runIdempotent,
  sendResponse,
  serializeResponse,
  sendRouterError,
} from './http-output.ts'
import type { RateLimitResult } from './rate-limiter.ts'
import { addStallTimeout, timeouts } from './http-stalls.ts'
import { acceptedEncoding } from './static-page.ts'
import { makeClientReader } from './trusted-proxies.ts'

declare module 'fastify' {
  interface FastifyRequest {
    agent: Agent | undefined
    operator: Operator | undefined
    person: Person | undefined
    accountPerson: AccountPerson | undefined
    /** The text of the API key: it encrypts stored responses that show a secret. Never logged. */
    keyText: string
    /** Of an order without a key: the body as it was sent, and why it cannot be read. */
    bodyText: string
    bodyFault: Error | undefined
    startedAt: number
    /** The status that a refusal would have, where it was sent as 200. */
    refusedStatus: number | undefined
    /** The code of the refusal, where the request was refused. */
    refusedCode: string | undefined
    /** The span of the request, where it is traced. */
    span: Span | undefined
    /** What log lines and other processes are told of the request. */
    scope: RequestScope | undefined
    /** Set before every other hook. */
    client: ClientAddress
  }
  interface FastifyContextConfig {
    endpoint?: Endpoint
  }
}

/** A request of an agent and how it was answered: nothing of its path, query, body or address. */
export type AnsweredRequest = {
  readonly agentId: string
  readonly keyId: string
  readonly requestId: string
  readonly method: string
  readonly endpoint: string
  readonly status: number
  readonly code: string | undefined
  /** By the clock of `performance.now()`. */
  readonly startedAt: number
  readonly durationMs: number
}

/** What a listener serves. */
export type ListenerOptions = {
  readonly ctx: Ctx
  readonly endpoints: readonly Endpoint[]
  readonly routes: readonly Route[]
  readonly pages: readonly Page[]
  readonly authenticate: Authenticate
  readonly rateLimits: RateLimits
  /** Refuses writes while the database is from the past. */
  readonly checkWrite: () => Promise<void>
  /** Called for every answered request of an agent. It must not throw, and it is not awaited. */
  readonly noteRequest: (request: AnsweredRequest) => void
  /** Shows some errors to browsers. Without it every error is JSON. */
  readonly errorPage?: ErrorPage
}

/** Runs work in the scope and the span of a request. */
const withinRequestOf = <T>({ scope, span }: Pick<FastifyRequest, 'scope' | 'span'>, work: () => T): T =>
  withinRequest(scope, () => withinSpan(span, work))

const enforceRateLimit = (reply: FastifyReply, verdict: RateLimitResult | undefined): void => {
  if (!verdict) return
  reply.headers(verdict.headers)
  if (!verdict.allowed) throw new Refusal('rate_limited')
}

const mount = (
  app: FastifyInstance,
  listener: ListenerOptions,
  endpoint: Endpoint,
  handler: Handler,
): void => {
  const { ctx, rateLimits } = listener
  app.route({
    method: endpoint.method,
    url: endpoint.path.replaceAll(/\{(\w+)\}/g, ':$1'),
    bodyLimit: endpoint.bodyLimitBytes ?? usualBodyLimitBytes,
    config: { endpoint },
    onRequest: async (request, reply) => {
      request.span = startRequestSpan(operationNameOf(endpoint), {
        'pohf.endpoint': operationNameOf(endpoint),
        'pohf.request_id': request.id,
        'http.request.method': endpoint.method,
      })
      enforceRateLimit(reply, rateLimits.byAddress(endpoint, request.client))
      await withinRequestOf(request, () =>
        spendUnlessKey(rateLimits, request, () => authenticateRequest(listener, endpoint, request)),
      )
      if (request.agent) enforceRateLimit(reply, rateLimits.byAgent(request.agent))
    },
    preHandler: async (request, reply) => {
      const isKeyless = endpoint.auth === 'order' && !request.agent
      if (endpoint.auth !== 'secret' && !isKeyless) return
      const authenticate = isKeyless ? authenticateWithoutKey : authenticateBody
      await withinRequestOf(request, () =>
        spendUnlessKey(rateLimits, request, () => authenticate(listener, endpoint, request)),
      )
      if (request.agent) enforceRateLimit(reply, rateLimits.byAgent(request.agent))
    },
    handler: async (request, reply) => {
      const exchange = { ctx, endpoint, request }
      const call = parseCall(endpoint, request)
      const unknown = request.agent?.mode === 'test' ? unknownFields(endpoint, request.body) : []
      if (unknown.length > 0) reply.header('x-unknown-fields', unknown.join(', '))
      if (isStoppedByRestore(endpoint)) await listener.checkWrite()
      // The body was read in the context of its connection, so scope and span are set anew.
      const answer = await withinRequestOf(request, () =>
        runIdempotent(exchange, async (storeResult) =>
          serializeResponse(endpoint, await handler({ ...call, storeResult })),
        ),
      )
      return sendResponse(reply, answer)
    },
  })
}

const matchesEtag = (ifNoneMatch: string | undefined, etag: string | undefined): boolean =>
  etag !== undefined &&
  (ifNoneMatch ?? '').split(',').some((known) => known.trim().replace(/^W\//, '') === etag)

export const mountPage = (app: FastifyInstance, page: Page): void => {
  app.get(page.path, async (request, reply) => {
    const answer = await page.handler({
      params: request.params as Record<string, string>,
      query: request.query as Record<string, string>,
      header: (name) => headerOf(request, name),
    })
    reply.headers(answer.headers ?? {})
    const etag = answer.headers?.['etag']
    if (matchesEtag(request.headers['if-none-match'], etag)) return reply.code(304).send()
    reply.code(answer.status ?? 200).type(answer.mediaType)
    const { compressedBy } = answer
    const encoding = acceptedEncoding(headerOf(request, 'accept-encoding'))
    if (!compressedBy || !encoding) return reply.send(answer.bytes ?? answer.text)
    // A compressed body has the same content in other bytes, so only a weak tag may identify it.
    if (etag !== undefined) reply.header('etag', `W/${etag}`)
    return reply.header('content-encoding', encoding).send(await compressedBy(encoding))
  })
}

/** The request for the list of its agent; undefined where no agent is known. */
const answeredRequestOf = (
  request: FastifyRequest,
  status: number,
  durationMs: number,
): AnsweredRequest | undefined => {
  const { agent, startedAt } = request
  const row = request.routeOptions.config.endpoint
  // A key reads the list, and must not learn from it when its owner sends known-bad requests.
  if (!agent || !row || row.administratorOnly) return undefined
  const endpoint = row.publicId
  const { agentId, keyId } = agent
  const { id: requestId, method, refusedCode: code } = request
  return { agentId, keyId, requestId, method, endpoint, status, code, startedAt, durationMs }
}

const addLogging = (app: FastifyInstance, { ctx, noteRequest }: ListenerOptions): void => {
  app.addHook('onResponse', async (request, reply) => {
    const seconds = (performance.now() - request.startedAt) / 1_000
    const row = request.routeOptions.config.endpoint
    const endpoint = row ? operationNameOf(row) : 'other'
    // A siteverify that cannot answer is a fault, whatever its clients expect as status.
    const status = request.refusedStatus ?? reply.statusCode
    ctx.metrics.requests.observe({ endpoint, status }, seconds)
    // The endpoint's id, never the URL: a query may hold a token.
    const line = { requestId: request.id, method: request.method, endpoint, status: reply.statusCode }
    const answered = answeredRequestOf(request, reply.statusCode, Math.round(seconds * 1_000))
    if (answered) noteRequest(answered)
    const outboxIds = request.scope?.outboxIds ?? []
    withinSpan(request.span, () =>
      ctx.log.info(
        {
          ...line,
          ms: Math.round(seconds * 1_000),
          agentId: request.agent?.agentId,
          ...(outboxIds.length > 0 ? { outboxIds } : {}),
        },
        'request completed',
      ),
    )
    request.span?.set({ 'http.response.status_code': reply.statusCode })
    request.span?.end(status >= 500 ? String(status) : undefined)
  })
}

const mountAll = (app: FastifyInstance, listener: ListenerOptions): void => {
  for (const endpoint of listener.endpoints) {
    const found = listener.routes.find((candidate) => candidate.id === endpoint.id)
    if (!found)
      throw new Error(`operation ${endpoint.id} is in the table of endpoints, but no module mounts it`)
    mount(app, listener, endpoint, found.handler)
  }
  for (const { id } of listener.routes) {
    if (!listener.endpoints.some((endpoint) => endpoint.id === id))
      throw new Error(`operation ${id} is mounted but not in the table of endpoints`)
  }
  for (const page of listener.pages) mountPage(app, page)
}

/** Stands in for the two compilers that Fastify would load, 30 ms of CPU: the rows have schemas of their own. */
const buildCompiler =
  () =>
  (route: unknown): never => {
    throw new Error(
      `a route has a schema of Fastify, not of the table of endpoints: ${JSON.stringify(route)}`,
    )
  }

/** Builds a listener: every row of the table mounted once, the pages, and nothing else. */
export const buildListener = (listener: ListenerOptions): FastifyInstance => {
  const { ctx } = listener
  const app = Fastify({
    logger: false,
    ...timeouts,
    bodyLimit: usualBodyLimitBytes,
    // The schemas bound every parameter; the router's own error would not have our error body.
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 16_384 },
    // A request that arrives while the listener closes is served.
    return503OnClosing: false,
    schemaController: { compilersFactory: { buildValidator: buildCompiler, buildSerializer: buildCompiler } },
    frameworkErrors: (error, request, reply) => sendRouterError(listener, error, request, reply),
    genReqId: (request) => {
      const requestedId = request.headers['x-request-id']
      return isRequestId(requestedId) ? requestedId : `req_${randomBytes(12).toString('base64url')}`
    },
  })
  app.decorateRequest('agent', undefined)
  app.decorateRequest('operator', undefined)
  app.decorateRequest('person', undefined)
  app.decorateRequest('accountPerson', undefined)
  app.decorateRequest('keyText', '')
  app.decorateRequest('bodyText', '')
  app.decorateRequest('bodyFault', undefined)
  app.decorateRequest('startedAt', 0)
  app.decorateRequest('refusedStatus', undefined)
  app.decorateRequest('refusedCode', undefined)
  app.decorateRequest('span', undefined)
  app.decorateRequest('scope', undefined)
  app.decorateRequest('client')
  const matchers = matchersOf(listener.endpoints)
  addBodyParser(app)
  const readClient = makeClientReader(ctx)
  app.addHook('onRequest', async (request) => {
    // Read once: a socket that was closed has no address any more.
    request.client = readClient({ peer: request.ip, forwardedFor: request.headers['x-forwarded-for'] })
  })
  addStallTimeout(app)
  addHeaders(app, ctx, matchers)
  addCostBudget(app, listener.rateLimits)
  addPreflights(app, matchers)
  addErrorHandlers(app, listener, matchers)
  addLogging(app, listener)
  mountAll(app, listener)
  return app
}

import { randomBytes } from 'node:crypto'
import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
import { operationNameOf, type Endpoint } from '@pohf/protocol'
import type { RateLimits } from './rate-limits.ts'
import type { Agent, Handler, Operator, Page, Person, Route } from './call.ts'
import type { Ctx } from '../ops/context.ts'
import { Refusal } from './errors.ts'
import { addHeaders, headerOf, matchersOf } from './http-headers.ts'
import {
  addBodyParser,
  authenticateRequest,
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

declare module 'fastify' {
  interface FastifyRequest {
    agent: Agent | undefined
    operator: Operator | undefined
    person: Person | undefined
    /** The text of the API key: it encrypts stored responses that show a secret. Never logged. */
    keyText: string
    startedAt: number
  }
  interface FastifyContextConfig {
    endpoint?: Endpoint
  }
}

/** What a listener serves. */
export type ListenerOptions = {
  readonly ctx: Ctx
  readonly endpoints: readonly Endpoint[]
  readonly routes: readonly Route[]
  readonly pages: readonly Page[]
  readonly authenticate: Authenticate
  readonly rateLimits: RateLimits
}

const bodyLimitBytes = 262_144
const requestIdPattern = /^[A-Za-z0-9_-]{8,64}$/

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
    bodyLimit: endpoint.bodyLimitBytes ?? bodyLimitBytes,
    config: { endpoint },
    onRequest: async (request, reply) => {
      enforceRateLimit(reply, rateLimits.byAddress(endpoint, request.ip))
      await authenticateRequest(listener, endpoint, request)
      if (request.agent) enforceRateLimit(reply, rateLimits.byAgent(request.agent))
    },
    handler: async (request, reply) => {
      const exchange = { ctx, endpoint, request }
      const call = parseCall(endpoint, request)
      const unknown = request.agent?.mode === 'test' ? unknownFields(endpoint, request.body) : []
      if (unknown.length > 0) reply.header('x-unknown-fields', unknown.join(', '))
      return sendResponse(
        reply,
        await runIdempotent(exchange, async (storeResult) =>
          serializeResponse(endpoint, await handler({ ...call, storeResult })),
        ),
      )
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
    if (matchesEtag(request.headers['if-none-match'], answer.headers?.['etag'])) return reply.code(304).send()
    return reply
      .code(answer.status ?? 200)
      .type(answer.mediaType)
      .send(answer.text)
  })
}

const addLogging = (app: FastifyInstance, ctx: Ctx): void => {
  app.addHook('onResponse', async (request, reply) => {
    const seconds = (performance.now() - request.startedAt) / 1_000
    const row = request.routeOptions.config.endpoint
    const endpoint = row ? operationNameOf(row) : 'other'
    ctx.metrics.requests.observe({ endpoint, status: reply.statusCode }, seconds)
    // The endpoint's id, never the URL: a query may hold a token.
    const line = { requestId: request.id, method: request.method, endpoint, status: reply.statusCode }
    ctx.log.info(
      { ...line, ms: Math.round(seconds * 1_000), agentId: request.agent?.agentId },
      'request completed',
    )
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

/** Builds a listener: every row of the table mounted once, the pages, and nothing else. */
export const buildListener = (listener: ListenerOptions): FastifyInstance => {
  const { ctx } = listener
  const app = Fastify({
    logger: false,
    trustProxy: ctx.config.TRUSTED_PROXIES.length > 0 ? [...ctx.config.TRUSTED_PROXIES] : false,
    requestTimeout: 30_000,
    connectionTimeout: 60_000,
    keepAliveTimeout: 72_000,
    bodyLimit: bodyLimitBytes,
    // The schemas bound every parameter; the router's own error would not have our error body.
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 16_384 },
    // A request that arrives while the listener closes is served.
    return503OnClosing: false,
    frameworkErrors: (error, request, reply) => sendRouterError(ctx, error, request, reply),
    genReqId: (request) => {
      const requestedId = request.headers['x-request-id']
      return typeof requestedId === 'string' && requestIdPattern.test(requestedId)
        ? requestedId
        : `req_${randomBytes(12).toString('base64url')}`
    },
  })
  app.decorateRequest('agent', undefined)
  app.decorateRequest('operator', undefined)
  app.decorateRequest('person', undefined)
  app.decorateRequest('keyText', '')
  app.decorateRequest('startedAt', 0)
  const matchers = matchersOf(listener.endpoints)
  addBodyParser(app)
  addHeaders(app, ctx, matchers)
  addErrorHandlers(app, ctx, matchers)
  addLogging(app, ctx)
  mountAll(app, listener)
  return app
}

import { randomBytes } from 'node:crypto'
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import { operationNameOf, usualBodyLimitBytes, type Endpoint } from '@pohf/protocol'
import { showsKey, type CallFacts } from './authenticate.ts'
import type { ErrorPage, Page } from './call.ts'
import type { Span } from '../ops/tracing/spans.ts'
import { isRequestId, type RequestScope } from '../ops/tracing/request-scope.ts'
import { startRequestSpan, withinSpan } from '../ops/tracing.ts'
import { addBodyParser } from './http-body.ts'
import { addStallTimeout, healthPaths, timeouts } from './http-connections.ts'
import { addHeaders, addPreflights, headerOf, makeRowFinder } from './http-headers.ts'
import { addErrorHandlers, sendResponse, sendRouterError, withinRequestOf } from './http-output.ts'
import { admitCall, operationsOf, runCall, type Operation, type OperationOptions } from './operation.ts'
import { answerCostMs, bodyCostMs, rowCostMs } from './row-costs.ts'
import { acceptedEncoding } from './static-page.ts'
import { makeClientReader } from './trusted-proxies.ts'

declare module 'fastify' {
  interface FastifyRequest extends CallFacts {
    /** The row that the request calls; none for a page and for a path that nothing serves. */
    endpoint: Endpoint | undefined
    startedAt: number
    /** The status that a refusal would have, where it was sent as 200. */
    refusedStatus: number | undefined
    /** The code of the refusal, where the request was refused. */
    refusedCode: string | undefined
    /** The span of the request, where it is traced. */
    span: Span | undefined
    /** What log lines and other processes are told of the request. */
    scope: RequestScope | undefined
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
export type ListenerOptions = OperationOptions & {
  readonly pages: readonly Page[]
  /** Called for every answered request of an agent. It must not throw, and it is not awaited. */
  readonly noteRequest: (request: AnsweredRequest) => void
  /** Shows some errors to browsers. Without it every error is JSON. */
  readonly errorPage?: ErrorPage
}

const mount = (app: FastifyInstance, operation: Operation): void => {
  const { endpoint } = operation
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
      await withinRequestOf(request, () => admitCall(operation, request, reply))
    },
    // The body was read in the context of its connection, so scope and span are set anew.
    handler: async (request, reply) =>
      sendResponse(reply, await withinRequestOf(request, () => runCall(operation, request, reply))),
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

/** Lets every call without a key spend from the budget of its network, before anything else is done for it. */
const addCostBudget = (
  app: FastifyInstance,
  { rateLimits: { costBudget: budget } }: ListenerOptions,
): void => {
  /** What the last answer of each route cost by its length: known only afterwards, so the next call pays it in advance. */
  const answerCosts = new Map<string, number>()
  const paidInAdvance = new WeakMap<FastifyRequest, number>()
  app.addHook('onRequest', async (request) => {
    const { client, endpoint, headers } = request
    if (endpoint && showsKey(endpoint, headers)) return
    const { url = '' } = request.routeOptions
    const answerMs = answerCosts.get(url) ?? 0
    const costMs =
      rowCostMs(endpoint) + bodyCostMs(headers, endpoint?.bodyLimitBytes ?? usualBodyLimitBytes) + answerMs
    if (healthPaths.has(url)) return budget.space(client, costMs)
    await budget.admit(client, costMs)
    paidInAdvance.set(request, answerMs)
  })
  app.addHook('onResponse', async (request, reply) => {
    const { client, agent, operator } = request
    if (agent || operator) return
    const answerMs = answerCostMs(reply.getHeader('content-length'))
    const paidMs = paidInAdvance.get(request)
    if (paidMs !== undefined) answerCosts.set(request.routeOptions.url ?? '', answerMs)
    budget.charge(client, answerMs - (paidMs ?? 0))
  })
}

/** The request for the list of its agent; undefined where no agent is known. */
const answeredRequestOf = (
  request: FastifyRequest,
  status: number,
  durationMs: number,
): AnsweredRequest | undefined => {
  const { agent, endpoint: row, startedAt } = request
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
    const { endpoint: row } = request
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
  const operations = operationsOf(listener)
  for (const row of listener.endpoints) {
    if (!operations.some(({ endpoint }) => endpoint === row))
      throw new Error(`operation ${row.id} is in the table of endpoints, but no module mounts it`)
  }
  for (const operation of operations) mount(app, operation)
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
  app.decorateRequest('endpoint', undefined)
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
  const findRows = makeRowFinder(listener.endpoints)
  const readClient = makeClientReader(ctx)
  // The steps of every request in their order, also of a page and of a path that nothing serves. Those of an operation
  // follow them.
  app.addHook('onRequest', async (request) => {
    request.endpoint = request.routeOptions.config.endpoint
    // Read once: a socket that was closed has no address any more.
    request.client = readClient({ peer: request.ip, forwardedFor: request.headers['x-forwarded-for'] })
  })
  addHeaders(app, ctx, findRows)
  addCostBudget(app, listener)
  addPreflights(app, findRows)
  addStallTimeout(app)
  addBodyParser(app)
  addErrorHandlers(app, listener, findRows)
  addLogging(app, listener)
  mountAll(app, listener)
  return app
}

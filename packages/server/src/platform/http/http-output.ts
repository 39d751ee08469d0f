import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { operationNameOf, type Endpoint } from '@pohf/protocol'
import { ApiResponse, type ErrorPage, type StoreResult } from './call.ts'
import type { Ctx } from '../ops/context.ts'
import { withinRequest } from '../ops/tracing/request-scope.ts'
import { withinSpan } from '../ops/tracing.ts'
import { Refusal, errorBodyOf, statusOf } from './errors.ts'
import { siteverifyAnswerOf } from './siteverify-answer.ts'
import { bearerChallenge, headerOf, pathOf, securityHeaders, type RowFinder } from './http-headers.ts'
import { acceptsHtml } from './negotiation.ts'
import type { IncomingRequest } from './authenticate.ts'
import {
  beginIdempotent,
  completeIdempotent,
  releaseIdempotent,
  storeIdempotent,
  type IdempotencyClaim,
  type IdempotencyScope,
} from '../db/idempotency.ts'
import { unlessUnavailable } from '../db/unless-unavailable.ts'

/** A complete response, before it is sent. */
export type SerializedResponse = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly mediaType: string
  /** Of a refusal in the shape of siteverify, which is sent as 200: the status of the refusal, for the metrics. */
  readonly refusedStatus?: number
  /** The code of a refusal, whatever its status. */
  readonly refusedCode?: Refusal['code']
} & (
  { readonly json: true; readonly body: string } | { readonly json: false; readonly body: string | Readable }
)
type Exchange = { readonly ctx: Ctx; readonly endpoint: Endpoint; readonly request: IncomingRequest }

/** The request that failed, and its row where one was found. */
type ErrorPlace = { readonly id: string; readonly endpoint?: Endpoint | undefined }

const jsonType = 'application/json; charset=utf-8'

/** Serializes a result, stripped to its schema: a field that is not in the table is never sent. */
export const serializeResponse = (endpoint: Endpoint, result: unknown): SerializedResponse => {
  const answer = result instanceof ApiResponse ? result : new ApiResponse(result)
  const { status = 200, headers = {}, raw, stream } = answer.options
  if (raw) return { status, headers, mediaType: raw.mediaType, body: raw.text, json: false }
  if (stream)
    return { status, headers, mediaType: stream.mediaType, body: Readable.from(stream.pieces), json: false }
  const schema = status === 200 ? endpoint.response : endpoint.also?.[status]
  if (!schema)
    throw new Error(
      `operation ${endpoint.id} returned status ${status}, which its row in the table does not list`,
    )
  return { status, headers, mediaType: jsonType, body: JSON.stringify(schema.parse(answer.body)), json: true }
}

const serializeRefusal = (
  ctx: Ctx,
  { id: requestId, endpoint }: ErrorPlace,
  refusal: Refusal,
): SerializedResponse => {
  ctx.metrics.refusals.inc({ code: refusal.code })
  const status = statusOf(refusal)
  const answer =
    endpoint?.auth === 'secret' ? siteverifyAnswerOf(refusal, requestId, ctx.config.BASE_URL) : undefined
  if (answer) {
    const { headers = {} } = refusal.options
    const body = JSON.stringify(answer)
    const refused = { refusedStatus: status, refusedCode: refusal.code }
    return { status: 200, ...refused, headers, mediaType: jsonType, body, json: true }
  }
  return {
    status,
    refusedCode: refusal.code,
    headers: {
      ...(status === 401 ? { 'www-authenticate': bearerChallenge(ctx.config.BASE_URL, endpoint) } : {}),
      ...refusal.options.headers,
    },
    mediaType: jsonType,
    body: JSON.stringify({
      ...errorBodyOf(refusal, requestId, ctx.config.BASE_URL),
      ...refusal.options.order,
    }),
    json: true,
  }
}

/** Sends a serialized response. */
export const sendResponse = (reply: FastifyReply, written: SerializedResponse): FastifyReply => {
  reply.request.refusedStatus = written.refusedStatus
  reply.request.refusedCode = written.refusedCode
  return reply.code(written.status).headers(written.headers).type(written.mediaType).send(written.body)
}

/** Refusals that are not stored, so that the corrected call may reuse its Idempotency-Key. */
const unstoredCodes: ReadonlySet<Refusal['code']> = new Set([
  'validation_failed',
  'invalid_json',
  'rate_limited',
  'overloaded',
  'chain_unreachable',
  'card_provider_unreachable',
  'internal_error',
  // The same call succeeds after an operator or a mailed link has removed the cause.
  'out_of_stock',
  'email_not_confirmed',
  'conversion_limit_reached',
  'root_suspended',
  // The same call may succeed later: scoring ends, a budget opens, or the person steps up.
  'session_not_ready',
  'network_busy',
  'human_limit_reached',
  'below_policy',
])
/** A session below the floor of a policy is rejected until the person steps up; any other rejection is final. */
const isUnstored = ({ code, options }: Refusal): boolean =>
  unstoredCodes.has(code) || (options.details ?? []).some((detail) => detail.code === 'below_policy')

/** Fields by which a request names a person, in the order in which they are looked for. */
const subjectFields = ['memberId', 'subjectRef', 'sessionId', 'externalRef'] as const

/** The person or session that a request names, or the person who calls. Its stored response is erased with the person. */
const subjectOf = ({ params, body, person }: IncomingRequest): string | undefined => {
  if (person) return person.personId
  const named = { ...(body as Record<string, unknown> | null), ...(params as Record<string, unknown> | null) }
  return subjectFields.map((field) => named[field]).find((value) => typeof value === 'string')
}

const paramOf = ({ params }: IncomingRequest, name: string): string =>
  (params as Record<string, string> | null)?.[name] ?? ''

/** Operators and people are no tenants: their keys belong to the system, hashed together with the caller. */
const scopeOf = ({ endpoint, request }: Exchange, key: string): IdempotencyScope => {
  const { agent, operator, person } = request
  // The router accepts other spellings of a path: by the raw address, each would be another slot.
  const path = endpoint.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(paramOf(request, name)),
  )
  const operation = { method: endpoint.method, path }
  // The bearer of one order gets no stored response about another order of the same agent.
  if (agent?.onlyOrder !== undefined)
    return { ...operation, agentId: agent.agentId, key: `${agent.onlyOrder} ${key}` }
  if (agent) return { ...operation, agentId: agent.agentId, key }
  const caller = operator?.operatorId ?? person?.personId ?? ''
  const hash = createHash('sha256')
    .update(JSON.stringify([caller, key]))
    .digest('base64url')
  return { ...operation, agentId: 'system', key: hash }
}

const storeNothing: StoreResult = async (_tx, result) => result

/** Stores the result in the operation's transaction; `isStored` says whether the operation did. */
const makeStore = (endpoint: Endpoint, claim: IdempotencyClaim) => {
  let isStored = false
  const storeResult: StoreResult = async (tx, result) => {
    const written = serializeResponse(endpoint, result)
    if (!written.json || endpoint.showsSecret)
      throw new Error(`operation ${endpoint.id} stored a result that is a secret or no JSON`)
    await storeIdempotent(tx, claim, written)
    isStored = true
    return result
  }
  return { storeResult, isStored: () => isStored }
}

/** Stores the response of a finished operation that did not store it itself, or releases the key. */
const storeAnswer = async (
  { ctx, endpoint, request }: Exchange,
  claim: IdempotencyClaim,
  answer: SerializedResponse,
): Promise<void> => {
  // A pending state expects another call, which may carry the same key.
  const isUnstored = answer.status === 202
  const sealWith = endpoint.showsSecret && answer.status === 200 ? { sealWith: request.keyText } : {}
  // The operation is done. If storing its response fails, the key stays claimed, so that a repeat does not run it again.
  if (answer.json && !isUnstored) await completeIdempotent(ctx, claim, { ...answer, ...sealWith })
  else await releaseIdempotent(ctx, claim)
}

/** Runs the operation once for its Idempotency-Key: a repeated call gets the stored response. */
export const runIdempotent = async (
  exchange: Exchange,
  key: string | undefined,
  run: (storeResult: StoreResult) => Promise<SerializedResponse>,
): Promise<SerializedResponse> => {
  const { ctx, endpoint, request } = exchange
  if (key === undefined) return run(storeNothing)
  const begun = await beginIdempotent(ctx, scopeOf(exchange, key), {
    body: request.body,
    secret: request.keyText,
    subject: subjectOf(request),
  })
  if ('stored' in begun)
    return { ...begun.stored, headers: { 'idempotent-replayed': 'true' }, mediaType: jsonType, json: true }
  const { claim } = begun
  const { storeResult, isStored } = makeStore(endpoint, claim)
  const refused = async (error: unknown) => {
    if (error instanceof Refusal && !isUnstored(error))
      return { isRefusal: true, answer: serializeRefusal(ctx, { id: request.id, endpoint }, error) }
    // Where the key cannot be released, its lease runs out.
    await unlessUnavailable(releaseIdempotent(ctx, claim))
    throw error
  }
  const { answer, isRefusal } = await run(storeResult).then(
    (written) => ({ answer: written, isRefusal: false }),
    refused,
  )
  // A refusal undid what the operation had stored.
  if (isRefusal || !isStored()) await storeAnswer(exchange, claim, answer)
  return answer
}

/** Our codes for errors that Fastify raises. */
const frameworkCodes: Record<string, Refusal['code']> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'body_too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'invalid_json',
  FST_ERR_BAD_URL: 'not_found',
  FST_ERR_MAX_PARAM_LENGTH: 'not_found',
}

const asRefusal = (error: unknown): Refusal => {
  if (error instanceof Refusal) return error
  if (!(error instanceof Error)) return new Refusal('internal_error')
  const code = 'code' in error && typeof error.code === 'string' ? frameworkCodes[error.code] : undefined
  if (code) return new Refusal(code)
  const status = 'statusCode' in error && typeof error.statusCode === 'number' ? error.statusCode : 500
  if (status === 503) return new Refusal('overloaded', { headers: { 'retry-after': '2' } })
  return status >= 400 && status < 500 ? new Refusal('invalid_json') : new Refusal('internal_error')
}

/** The one place where an error becomes a response. An internal error is logged, and its response reveals nothing of it. */
export const serializeError = (ctx: Ctx, error: unknown, where: ErrorPlace): SerializedResponse => {
  const refusal = asRefusal(error)
  const requestId = where.id
  const endpoint = where.endpoint && operationNameOf(where.endpoint)
  if (refusal.code === 'internal_error') ctx.log.error({ err: error, requestId, endpoint }, 'request failed')
  else if (refusal.cause !== undefined)
    ctx.log.warn({ err: refusal.cause, requestId, endpoint, code: refusal.code }, 'request refused')
  return serializeRefusal(ctx, where, refusal)
}

/** Runs work in the scope and the span of a request. */
export const withinRequestOf = <T>(
  { scope, span }: Pick<FastifyRequest, 'scope' | 'span'>,
  work: () => T,
): T => withinRequest(scope, () => withinSpan(span, work))

/** The context of an error, for its metric and log line, and the page for browsers. */
type ErrorOutput = { readonly ctx: Ctx; readonly errorPage?: ErrorPage }

/**
 * The statuses that a person can get by opening an address. Other refusals are about a call of the API: those are JSON for
 * everybody.
 */
const pageStatuses: ReadonlySet<number> = new Set([404, 405, 429, 500, 503])

/** The same answer as a page, with the same status and headers, where a browser asked. */
const asPage = (
  { errorPage }: ErrorOutput,
  request: Pick<FastifyRequest, 'id' | 'headers'>,
  answer: SerializedResponse,
): SerializedResponse => {
  const { status, refusedCode: code } = answer
  if (!errorPage || code === undefined || !pageStatuses.has(status)) return answer
  if (!acceptsHtml(headerOf(request, 'accept'))) return answer
  const acceptLanguage = headerOf(request, 'accept-language')
  const { text, mediaType, headers } = errorPage({ status, code, requestId: request.id, acceptLanguage })
  return { ...answer, headers: { ...answer.headers, ...headers }, mediaType, json: false, body: text }
}

/** Errors that the router raises before any hook runs, such as a path that cannot be decoded: it sets the headers itself. */
export const sendRouterError = (
  output: ErrorOutput,
  error: Error,
  request: FastifyRequest,
  reply: FastifyReply,
): void => {
  reply.headers({ ...securityHeaders(output.ctx), 'x-request-id': request.id })
  void sendResponse(reply, asPage(output, request, serializeError(output.ctx, error, request)))
}

export const addErrorHandlers = (app: FastifyInstance, output: ErrorOutput, findRows: RowFinder): void => {
  app.setErrorHandler(async (error, request, reply) => {
    const answer = withinRequestOf(request, () => serializeError(output.ctx, error, request))
    return sendResponse(reply, asPage(output, request, answer))
  })
  app.setNotFoundHandler(async (request) => {
    const methods = findRows(pathOf(request)).map(({ method }) => method)
    const allow = [...new Set(methods)].join(', ')
    throw allow === '' ? new Refusal('not_found') : new Refusal('method_not_allowed', { headers: { allow } })
  })
}

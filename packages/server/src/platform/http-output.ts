import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Endpoint } from '@pohf/protocol'
import { Answer } from './call.ts'
import type { Ctx } from './context.ts'
import { Refusal, errorBodyOf, statusOf } from './errors.ts'
import { pathOf, securityHeaders, type PathMatcher } from './http-headers.ts'
import { idempotencyKeyOf } from './http-input.ts'
import { beginIdempotent, completeIdempotent, releaseIdempotent, type Slot } from './idempotency.ts'

export type Written = { readonly status: number; readonly body: string; readonly json: boolean }
export type Exchange = {
  readonly ctx: Ctx
  readonly endpoint: Endpoint
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

/** Writes a result, stripped to its schema: a field that the table does not know never leaves. */
export const writeAnswer = ({ endpoint, reply }: Exchange, result: unknown): Written => {
  const answer = result instanceof Answer ? result : new Answer(result)
  const status = answer.options.status ?? 200
  reply.code(status).headers(answer.options.headers ?? {})
  if (answer.options.raw) {
    reply.type(answer.options.raw.mediaType)
    return { status, body: answer.options.raw.text, json: false }
  }
  const schema = status === 200 ? endpoint.response : endpoint.also?.[status]
  if (!schema) throw new Error(`${endpoint.id} answered ${status}, which the table does not know`)
  reply.type('application/json; charset=utf-8')
  return { status, body: JSON.stringify(schema.parse(answer.body)), json: true }
}

const writeRefusal = ({ ctx, request, reply }: Omit<Exchange, 'endpoint'>, refusal: Refusal): Written => {
  const status = statusOf(refusal)
  ctx.metrics.refusals.inc({ code: refusal.code })
  if (status === 401) reply.header('www-authenticate', 'Bearer')
  reply
    .code(status)
    .headers(refusal.options.headers ?? {})
    .type('application/json; charset=utf-8')
  return { status, body: JSON.stringify(errorBodyOf(refusal, request.id, ctx.config.BASE_URL)), json: true }
}

/** Never stored: faults of the call itself and of ours. The same key may be used again with the mended call. */
const passing: ReadonlySet<Refusal['code']> = new Set([
  'validation_failed',
  'invalid_json',
  'rate_limited',
  'overloaded',
  'chain_unreachable',
  'internal_error',
])

/** Runs the operation once for its Idempotency-Key: a repeat gets the stored answer. */
export const runOnce = async (exchange: Exchange, run: () => Promise<Written>): Promise<string> => {
  const { ctx, endpoint, request, reply } = exchange
  const { agent } = request
  const key = idempotencyKeyOf(endpoint, request)
  if (!agent || key === undefined) return (await run()).body
  const slot: Slot = { agentId: agent.agentId, method: endpoint.method, path: pathOf(request), key }
  const stored = await beginIdempotent(ctx, slot, { body: request.body, secret: request.keyText })
  if (stored) {
    reply.code(stored.status).header('idempotent-replayed', 'true').type('application/json; charset=utf-8')
    return stored.body
  }
  let answer: Written & { readonly sealWith?: string }
  try {
    answer = { ...(await run()), ...(endpoint.showsSecret ? { sealWith: request.keyText } : {}) }
  } catch (error) {
    if (!(error instanceof Refusal) || passing.has(error.code)) {
      await releaseIdempotent(ctx, slot)
      throw error
    }
    answer = writeRefusal(exchange, error)
  }
  // The act is done: where its answer cannot be kept, the slot stays taken, so that a repeat at once does not act again.
  if (answer.json) await completeIdempotent(ctx, slot, answer)
  else await releaseIdempotent(ctx, slot)
  return answer.body
}

/** What the framework refuses by itself, in our words. */
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

/** What the router refuses before any hook runs, such as a path that cannot be decoded: the headers come from here. */
export const writeRouterError = (exchange: Omit<Exchange, 'endpoint'>, error: Error): void => {
  const { ctx, request, reply } = exchange
  reply.headers({ ...securityHeaders(ctx), 'x-request-id': request.id })
  void reply.send(writeRefusal(exchange, asRefusal(error)).body)
}

/** The one place where a code becomes a response. */
export const addErrors = (app: FastifyInstance, ctx: Ctx, matchers: readonly PathMatcher[]): void => {
  app.setErrorHandler(async (error, request, reply) => {
    const refusal = asRefusal(error)
    if (refusal.code === 'internal_error') {
      ctx.log.error(
        { err: error, requestId: request.id, endpoint: request.routeOptions.config.endpoint?.id },
        'request failed',
      )
    }
    return reply.send(writeRefusal({ ctx, request, reply }, refusal).body)
  })
  app.setNotFoundHandler(async (request, reply) => {
    const path = pathOf(request)
    const methods = matchers
      .filter(({ pattern }) => pattern.test(path))
      .map(({ endpoint }) => endpoint.method)
    const allow = [...new Set(methods)].join(', ')
    const refusal =
      allow === '' ? new Refusal('not_found') : new Refusal('method_not_allowed', { headers: { allow } })
    return reply.send(writeRefusal({ ctx, request, reply }, refusal).body)
  })
}

import { operationNameOf, type Endpoint } from '@pohf/protocol'
import type { RateLimits } from './rate-limits.ts'
import type { ClientAddress } from './client-address.ts'
import { rowCostMs } from './row-costs.ts'
import type { Agent, AuthenticateKeyless, EndpointId, Handler, Route } from './call.ts'
import type { Ctx } from '../ops/context.ts'
import { inSpan } from '../ops/tracing.ts'
import { Refusal } from './errors.ts'
import { authorizeCaller, isStoppedByRestore, parseCall, type IncomingRequest } from './http-input.ts'
import { runIdempotent, serializeResponse, serializeError, type SerializedResponse } from './http-output.ts'
import type { RateLimitResult } from './rate-limiter.ts'

/** A call from inside the process. Its caller is authenticated already; header names are in lower case. */
export type InternalCall = {
  readonly agent: Agent | undefined
  readonly address: ClientAddress
  readonly requestId: string
  readonly body?: unknown
  readonly params?: Readonly<Record<string, unknown>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly headers?: Readonly<Record<string, string>>
}
export type DispatchResult = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
}

/** Calls operations of the table without HTTP, with the same checks by the same functions. */
export type Dispatcher = {
  readonly dispatch: (id: EndpointId, call: InternalCall) => Promise<DispatchResult>
  readonly has: (id: EndpointId) => boolean
  /** Spends from the budget of a caller without a key, or throws the refusal. A caller with a key spends nothing. */
  readonly admit: (caller: Pick<InternalCall, 'agent' | 'address'>, costMs: number) => Promise<void>
}

const enforceRateLimit = (verdict: RateLimitResult | undefined): void => {
  if (verdict && !verdict.allowed) throw new Refusal('rate_limited', { headers: verdict.headers })
}

const pathFor = (endpoint: Endpoint, params: InternalCall['params'] = {}): string =>
  endpoint.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(params[name]).toWellFormed()),
  )

const internalRequestOf = (endpoint: Endpoint, call: InternalCall): IncomingRequest => ({
  id: call.requestId,
  client: call.address,
  url: pathFor(endpoint, call.params),
  headers: call.headers ?? {},
  body: call.body ?? {},
  query: call.query ?? {},
  params: call.params ?? {},
  // As over HTTP, a public operation does not see the caller.
  agent: endpoint.auth === 'public' ? undefined : call.agent,
  operator: undefined,
  person: undefined,
  accountPerson: undefined,
  keyText: '',
})

/** The body as the caller of HTTP would parse it: an operation may have serialized its JSON itself. */
const parseBody = ({ body, mediaType }: SerializedResponse): unknown =>
  typeof body === 'string' && body !== '' && mediaType.startsWith('application/json')
    ? JSON.parse(body)
    : body

type DispatcherOptions = {
  readonly ctx: Ctx
  readonly endpoints: readonly Endpoint[]
  readonly routes: readonly Route[]
  readonly rateLimits: RateLimits
  readonly checkWrite: () => Promise<void>
  /** Without it an order needs a key. */
  readonly keyless?: AuthenticateKeyless
}

const admitWith =
  ({ costBudget }: Pick<RateLimits, 'costBudget'>): Dispatcher['admit'] =>
  async ({ agent, address }, costMs) => {
    if (!agent) await costBudget.admit(address, costMs)
  }

const assertDispatchable = ({ id, auth, showsSecret }: Endpoint): void => {
  if (auth === 'member' || auth === 'console')
    throw new Error(`operation ${id} was dispatched but needs a person who is signed in`)
  // A stored response with a secret is encrypted with the API key, which is not known here.
  if (showsSecret && auth !== 'public')
    throw new Error(`operation ${id} was dispatched but its response contains a secret`)
}

/** Makes the dispatcher for these endpoints and their routes. */
export const makeDispatcher = (options: DispatcherOptions): Dispatcher => {
  const { ctx, endpoints, routes, rateLimits, checkWrite, keyless } = options
  const admit = admitWith(rateLimits)
  const find = (id: EndpointId): { endpoint: Endpoint; handler: Handler } | undefined => {
    const endpoint = endpoints.find((row) => row.id === id)
    const route = routes.find((candidate) => candidate.id === id)
    return endpoint && route ? { endpoint, handler: route.handler } : undefined
  }

  const execute = async (
    endpoint: Endpoint,
    handler: Handler,
    call: InternalCall,
  ): Promise<SerializedResponse> => {
    const request = internalRequestOf(endpoint, call)
    await admit(call, rowCostMs(endpoint))
    enforceRateLimit(rateLimits.byAddress(endpoint, request.client))
    // A signature covers the path that its caller sent it to, which is not this one: only mandates in the body count.
    if (endpoint.auth === 'order' && !request.agent && keyless)
      request.agent = await keyless.authenticate({
        method: endpoint.method,
        url: request.url,
        headers: {},
        bodyText: '',
        body: request.body,
        address: request.client,
      })
    authorizeCaller(endpoint, request.agent)
    if (request.agent) enforceRateLimit(rateLimits.byAgent(request.agent))
    const parsed = parseCall(endpoint, request)
    if (isStoppedByRestore(endpoint)) await checkWrite()
    return runIdempotent({ ctx, endpoint, request }, async (storeResult) =>
      serializeResponse(endpoint, await handler({ ...parsed, storeResult })),
    )
  }

  return {
    has: (id) => find(id) !== undefined,
    admit,
    dispatch: async (id, call) => {
      const found = find(id)
      if (!found) throw new Error(`operation ${id} was dispatched but is not mounted`)
      const { endpoint, handler } = found
      assertDispatchable(endpoint)
      const startedAt = performance.now()
      const attributes = { 'pohf.endpoint': operationNameOf(endpoint), 'pohf.request_id': call.requestId }
      const written = await inSpan(operationNameOf(endpoint), { attributes }, () =>
        execute(endpoint, handler, call).catch((error: unknown) =>
          serializeError(ctx, error, { id: call.requestId, endpoint }),
        ),
      )
      ctx.metrics.requests.observe(
        { endpoint: operationNameOf(endpoint), status: written.status },
        (performance.now() - startedAt) / 1_000,
      )
      return { status: written.status, headers: written.headers, body: parseBody(written) }
    },
  }
}

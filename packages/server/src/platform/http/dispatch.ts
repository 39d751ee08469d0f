import { operationNameOf, type Endpoint } from '@pohf/protocol'
import type { IncomingRequest } from './authenticate.ts'
import type { Agent, EndpointId } from './call.ts'
import type { ClientAddress } from './client-address.ts'
import { serializeError, type SerializedResponse } from './http-output.ts'
import { admitCall, operationsOf, runCall, type Operation, type OperationOptions } from './operation.ts'
import { rowCostMs } from './row-costs.ts'
import { inSpan } from '../ops/tracing.ts'

/**
 * A call from inside the process. Its caller is authenticated already; header names are in lower case. No signature is among
 * them: it would cover the path of the call that carries this one, so an order without a key can show mandates alone.
 */
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

/** Calls operations of the table without HTTP, by the same steps. */
export type Dispatcher = {
  readonly dispatch: (id: EndpointId, call: InternalCall) => Promise<DispatchResult>
  readonly has: (id: EndpointId) => boolean
  /** Spends from the budget of a caller without a key, or throws the refusal. A caller with a key spends nothing. */
  readonly admit: (caller: Pick<InternalCall, 'agent' | 'address'>, costMs: number) => Promise<void>
}

const internalRequestOf = (endpoint: Endpoint, call: InternalCall): IncomingRequest => ({
  id: call.requestId,
  client: call.address,
  // Only a signature covers it.
  url: endpoint.path,
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
  bodyText: '',
  bodyFault: undefined,
})

/** The body as the caller of HTTP would parse it: an operation may have serialized its JSON itself. */
const parseBody = ({ body, mediaType }: SerializedResponse): unknown =>
  typeof body === 'string' && body !== '' && mediaType.startsWith('application/json')
    ? JSON.parse(body)
    : body

const assertDispatchable = ({ id, auth, showsSecret }: Endpoint): void => {
  if (auth === 'member' || auth === 'console')
    throw new Error(`operation ${id} was dispatched but needs a person who is signed in`)
  if (auth === 'secret') throw new Error(`operation ${id} was dispatched but finds its caller by its body`)
  // A stored response with a secret is encrypted with the API key, which is not known here.
  if (showsSecret && auth !== 'public')
    throw new Error(`operation ${id} was dispatched but its response contains a secret`)
}

/** Makes the dispatcher for these endpoints and their routes. */
export const makeDispatcher = (options: OperationOptions): Dispatcher => {
  const { ctx, rateLimits } = options
  const operations = operationsOf(options)
  const admit: Dispatcher['admit'] = async ({ agent, address }, costMs) => {
    if (!agent) await rateLimits.costBudget.admit(address, costMs)
  }
  const find = (id: EndpointId): Operation | undefined =>
    operations.find(({ endpoint }) => endpoint.id === id)
  return {
    has: (id) => find(id) !== undefined,
    admit,
    dispatch: async (id, call) => {
      const operation = find(id)
      if (!operation) throw new Error(`operation ${id} was dispatched but is not mounted`)
      const { endpoint } = operation
      assertDispatchable(endpoint)
      const startedAt = performance.now()
      const name = operationNameOf(endpoint)
      const attributes = { 'pohf.endpoint': name, 'pohf.request_id': call.requestId }
      const written = await inSpan(name, { attributes }, async () => {
        try {
          const request = internalRequestOf(endpoint, call)
          // For the row alone: the call that carries this one has paid for the body and the answer.
          await admit(call, rowCostMs(endpoint))
          await admitCall(operation, request)
          return await runCall(operation, request)
        } catch (error) {
          return serializeError(ctx, error, { id: call.requestId, endpoint })
        }
      })
      const seconds = (performance.now() - startedAt) / 1_000
      ctx.metrics.requests.observe({ endpoint: name, status: written.status }, seconds)
      return { status: written.status, headers: written.headers, body: parseBody(written) }
    },
  }
}

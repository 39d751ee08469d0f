import { AsyncLocalStorage } from 'node:async_hooks'

/** The request that work is done for, or all requests of a batch. */
export type RequestScope = {
  readonly requestIds: readonly string[]
  /** The rows of the outbox that were committed for it: what the worker does because of it. */
  readonly outboxIds: string[]
}

const requestIdPattern = /^[A-Za-z0-9_-]{8,64}$/
/** Whether a value that a client or another process sent can serve as a request id. */
export const isRequestId = (value: unknown): value is string =>
  typeof value === 'string' && requestIdPattern.test(value)

const active = new AsyncLocalStorage<RequestScope | undefined>()
export const currentRequestScope = (): RequestScope | undefined => active.getStore()

export const makeRequestScope = (requestIds: readonly string[]): RequestScope => ({
  requestIds,
  outboxIds: [],
})

export const withinRequest = <T>(scope: RequestScope | undefined, work: () => T): T => active.run(scope, work)

/** Opens what outlives the request that needs it first, such as a connection: its later lines belong to no request. */
export const outsideRequests = <T>(work: () => T): T => active.run(undefined, work)

/** The field of every log line that is written for a request, or for a batch of them. */
export const requestLogFields = () => {
  const requestIds = active.getStore()?.requestIds ?? []
  if (requestIds.length > 1) return { requestIds }
  const [requestId] = requestIds
  return requestId === undefined ? {} : { requestId }
}

/** A request that queues more, such as an operator's, names the first of them. */
const outboxIdsMax = 100
/** Notes rows of the outbox that were committed for the present request. */
export const noteOutboxRows = (scope: RequestScope | undefined, ids: readonly string[]): void => {
  if (scope) scope.outboxIds.push(...ids.slice(0, Math.max(0, outboxIdsMax - scope.outboxIds.length)))
}

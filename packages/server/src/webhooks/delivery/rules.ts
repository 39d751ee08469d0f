/** The result of an attempt: a response, or why there was none. */
export type EndpointReply =
  { readonly status: number; readonly retryAfter: string | undefined } | { readonly fault: string }
export type AttemptResult = { readonly reply: EndpointReply; readonly durationMs: number }
export type AttemptOutcome = 'delivered' | 'failed' | 'gone'

/** Any 2xx is success, 410 ends all deliveries, everything else is a failure: redirects too, which are never followed. */
export const outcomeOf = (reply: EndpointReply): AttemptOutcome => {
  if ('fault' in reply) return 'failed'
  if (reply.status >= 200 && reply.status < 300) return 'delivered'
  return reply.status === 410 ? 'gone' : 'failed'
}

/** When an event was published, and in which trace. A delivery that no event caused has neither. */
export type Publication = { readonly publishedAt?: Date; readonly trace?: string | null }

type DeliveryAttempt = {
  readonly attempts: number
  readonly attempts_before: number
  readonly replays: number
  /** Milliseconds from the publication of the event to the claim. */
  readonly waited_ms: number | null
}
type Receiver = { readonly failing_since: Date | null; readonly proven_at: Date | null }
/** How long an event had waited when its first attempt was claimed, and when that was by `performance.now()`. */
export type FirstWait = { readonly ms: number; readonly claimedAt: number }

/**
 * The wait of an event for its first attempt. Tests, recoveries and replays do not count, nor do receivers that fail or
 * have never answered 2xx: they wait because of themselves.
 */
export const firstWaitOf = (
  row: DeliveryAttempt,
  receiver: Receiver,
  claimedAt: number,
): FirstWait | undefined => {
  const isFirst = row.attempts - row.attempts_before === 1 && row.replays === 0
  const isHealthy = receiver.failing_since === null && receiver.proven_at !== null
  return isFirst && isHealthy && row.waited_ms !== null ? { ms: row.waited_ms, claimedAt } : undefined
}

type EndpointKey = { readonly agentId: string; readonly endpointId: string }
/** How many deliveries of an endpoint a worker may claim. */
export type EndpointCapacity = EndpointKey & { readonly slots: number }
/** Where claims of a worker stopped: the last endpoint that was looked at, if there are more, and the last that got slots. */
export type EndpointPosition = {
  readonly scannedTo: EndpointKey | undefined
  readonly grantedTo: EndpointKey | undefined
}

const isAfter = (one: EndpointKey, other: EndpointKey): boolean =>
  one.agentId === other.agentId ? one.endpointId > other.endpointId : one.agentId > other.agentId

/** The endpoints with room for a delivery, from the one after which the last claim stopped. */
export const orderInTurn = (
  ready: readonly EndpointCapacity[],
  grantedTo: EndpointKey | undefined,
): EndpointCapacity[] => {
  const next = grantedTo === undefined ? 0 : ready.findIndex((one) => isAfter(one, grantedTo))
  const first = Math.max(next, 0)
  return [...ready.slice(first), ...ready.slice(0, first)].filter(({ slots }) => slots > 0)
}

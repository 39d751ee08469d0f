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

/** What came of an attempt: an answer, or why there was none. */
export type Reply =
  { readonly status: number; readonly retryAfter: string | undefined } | { readonly fault: string }
export type Outcome = 'delivered' | 'failed' | 'gone'

/** Any 2xx is success, 410 asks for no more, all else is a failure: redirects too, which are never followed. */
export const outcomeOf = (reply: Reply): Outcome => {
  if ('fault' in reply) return 'failed'
  if (reply.status >= 200 && reply.status < 300) return 'delivered'
  return reply.status === 410 ? 'gone' : 'failed'
}

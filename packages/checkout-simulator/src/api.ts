import { createHash } from 'node:crypto'
import { insert, makeId } from './records.ts'
import { errorReply, handleRequest, type ApiRequest, type Reply, type ResourceParts } from './resources.ts'

const repliesMax = 10_000

type StoredReply = { readonly fingerprint: string; readonly reply: Reply | 'in progress' }

/** One reply for one key, the first; another request under the same key is refused. */
const withIdempotencyKey = async (
  replies: Map<string, StoredReply>,
  request: ApiRequest,
  run: () => Promise<Reply>,
): Promise<Reply> => {
  const key = request.header('idempotency-key')
  if (key === undefined || request.method !== 'POST') return run()
  const fingerprint = createHash('sha256').update(`${request.path} ${request.body}`).digest('hex')
  const known = replies.get(key)
  if (known?.reply === 'in progress')
    return errorReply(409, {
      type: 'idempotency_error',
      code: 'idempotency_key_in_use',
      message: `There is currently another in-progress request using this Stripe-Idempotency-Key`,
    })
  if (known && known.fingerprint !== fingerprint)
    return errorReply(400, {
      type: 'idempotency_error',
      message: `Keys for idempotent requests can only be used with the same parameters they were first used with.`,
    })
  if (known) return { ...known.reply, headers: { ...known.reply.headers, 'idempotent-replayed': 'true' } }
  replies.set(key, { fingerprint, reply: 'in progress' })
  const reply = await run()
  // The provider stores its own errors under the key, and not those of the parameters.
  if (reply.status >= 400 && reply.status < 500) replies.delete(key)
  else insert(replies, key, { fingerprint, reply })
  if (replies.size > repliesMax) replies.clear()
  return reply
}

/** The provider's API: authentication, idempotency keys, and the headers of every reply. */
export const makeApi = (parts: ResourceParts, secretKey: string) => {
  const replies = new Map<string, StoredReply>()
  const answer = async (request: ApiRequest, before: () => Promise<Reply | undefined>): Promise<Reply> => {
    const key = /^Bearer (\S+)$/.exec(request.header('authorization') ?? '')?.[1] ?? ''
    const run = async () => (await before()) ?? handleRequest(parts, request)
    const reply =
      key === secretKey
        ? await withIdempotencyKey(replies, request, run)
        : errorReply(401, {
            type: 'invalid_request_error',
            message: `Invalid API Key provided: ${key.slice(0, 8)}****${key.slice(-4)}`,
          })
    const version = request.header('stripe-version')
    return {
      ...reply,
      headers: {
        'request-id': makeId('req_'),
        ...(version === undefined ? {} : { 'stripe-version': version }),
        ...(reply.status >= 500 ? { 'stripe-should-retry': 'false' } : {}),
        ...reply.headers,
      },
    }
  }
  return { answer, clearIdempotencyKeys: () => replies.clear() }
}

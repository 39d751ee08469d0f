import { ApiResponse } from '../platform/http/call.ts'
import { Refusal } from '../platform/http/errors.ts'
import { handleMessage, invalidRequest, type McpCall, type Reply, type Surface } from './messages.ts'
import { isOwnHost, wantsEventStream } from './rules.ts'

const batchMax = 20

const checkHost = ({ ctx }: Surface, call: McpCall): void => {
  const names = { host: call.header('host'), origin: call.header('origin') }
  if (!isOwnHost(ctx.config.BASE_URL, names))
    throw new Refusal('forbidden', {
      message: 'The Host or Origin header is not the address of this service.',
    })
}

type ReplyBatch = { readonly status: number; readonly replies: readonly Reply[]; readonly batch: boolean }

const writeReplies = (
  { status, replies, batch }: ReplyBatch,
  accept: string | undefined,
): ApiResponse<undefined> => {
  const bodies = replies.map((reply) => reply.body)
  if (wantsEventStream(accept))
    return new ApiResponse(undefined, {
      status,
      headers: { 'x-accel-buffering': 'no' },
      raw: {
        mediaType: 'text/event-stream; charset=utf-8',
        text: bodies.map((body) => `event: message\ndata: ${JSON.stringify(body)}\n\n`).join(''),
      },
    })
  const text = JSON.stringify(batch ? bodies : bodies[0])
  return new ApiResponse(undefined, { status, raw: { mediaType: 'application/json; charset=utf-8', text } })
}

/** Serves one POST to a surface. There is no state between requests. */
export const serveSurface = async (surface: Surface, call: McpCall): Promise<ApiResponse<undefined>> => {
  checkHost(surface, call)
  const { rawBody } = call
  const batch = Array.isArray(rawBody)
  const messages: readonly unknown[] = batch ? rawBody : [rawBody]
  const accept = call.header('accept')
  if (messages.length === 0 || messages.length > batchMax) {
    const reply = invalidRequest(`A batch has 1 to ${batchMax} messages`)
    return writeReplies({ status: 400, replies: [reply], batch: false }, accept)
  }
  const replies: Reply[] = []
  // Sequentially: a batch loads the database no more than a single call.
  for (const message of messages) {
    const reply = await handleMessage(surface, call, message)
    if (reply) replies.push(reply)
  }
  const [first] = replies
  if (!first)
    return new ApiResponse(undefined, { status: 202, raw: { mediaType: 'application/json', text: '' } })
  return writeReplies({ status: batch ? 200 : first.status, replies, batch }, accept)
}

// Receivers of webhooks for common servers. Each one reads the raw body, verifies the signature and the time, and calls
// `onEvent` for a genuine delivery. No framework is imported: the types name only what a receiver uses.
import { verifyWebhook, type WebhookReason } from './webhook.ts'

/** The body of a delivery. */
export type WebhookEvent = {
  readonly id: string
  readonly type: string
  readonly timestamp: string
  readonly test: boolean
  readonly apiVersion: string
  readonly agentId: string
  readonly data: Readonly<Record<string, unknown>>
}

export type ReceiverOptions = {
  /** `whsec_…`, as it was shown when the webhook was registered. */
  readonly secret: string
  /** Called for each genuine delivery; the same event may arrive twice. If it throws, the service sends the event again. */
  readonly onEvent: (event: WebhookEvent) => unknown
  readonly toleranceSeconds?: number
  readonly clock?: () => Date
}

/** The service sends at most 20,480 bytes. */
const bodyBytesMax = 65_536

type DeliveryRefusal = { readonly reason: WebhookReason | 'too_large'; readonly message: string }
/** The answer to a delivery: 204, or why it was refused. */
type Answer =
  | { readonly status: 204; readonly body?: never }
  | { readonly status: 400 | 413; readonly body: DeliveryRefusal }
type Delivery = {
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>
  readonly body: unknown
}

const tooLarge: Answer = {
  status: 413,
  body: { reason: 'too_large', message: `The body has more than ${bodyBytesMax} bytes.` },
}

const checkOptions = (options: ReceiverOptions): ReceiverOptions => {
  if (!options.secret?.startsWith('whsec_'))
    throw new TypeError('secret must be the signing secret of the endpoint, which begins with whsec_')
  return options
}

const receive = async (options: ReceiverOptions, { headers, body }: Delivery): Promise<Answer> => {
  const { secret, toleranceSeconds, clock, onEvent } = options
  if ((typeof body === 'string' || body instanceof Uint8Array) && body.length > bodyBytesMax) return tooLarge
  // A body of another type is refused there as `parsed_body`.
  const raw = body as string | Uint8Array
  const result = await verifyWebhook({ secret, headers, body: raw, toleranceSeconds, clock })
  if (!result.ok) return { status: 400, body: { reason: result.reason, message: result.message } }
  const text = typeof raw === 'string' ? raw : new TextDecoder().decode(raw)
  await onEvent(JSON.parse(text) as WebhookEvent)
  return { status: 204 }
}

/** Reads a body up to the limit; undefined where it is longer. */
const readStream = async (chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array | undefined> => {
  const parts: Uint8Array[] = []
  let length = 0
  for await (const chunk of chunks) {
    length += chunk.length
    if (length > bodyBytesMax) return undefined
    parts.push(chunk)
  }
  const body = new Uint8Array(length)
  let at = 0
  for (const part of parts) {
    body.set(part, at)
    at += part.length
  }
  return body
}

/** A handler from `Request` to `Response`: a route of Next, Deno, Bun and workers. */
export const requestReceiver = (options: ReceiverOptions): ((request: Request) => Promise<Response>) => {
  checkOptions(options)
  return async (request) => {
    if (request.method !== 'POST') return new Response(null, { status: 405, headers: { allow: 'POST' } })
    const stream = request.body as unknown as AsyncIterable<Uint8Array> | null
    const body = stream === null ? new Uint8Array() : await readStream(stream)
    const answer = body === undefined ? tooLarge : await receive(options, { headers: request.headers, body })
    return answer.body === undefined
      ? new Response(null, { status: answer.status })
      : Response.json(answer.body, { status: answer.status })
  }
}

/** What a receiver uses of Hono's context. */
type HonoContext = { readonly req: { readonly raw: Request } }

/** A handler for Hono: `app.post('/webhooks', honoReceiver({ secret, onEvent }))`. */
export const honoReceiver = (options: ReceiverOptions): ((context: HonoContext) => Promise<Response>) => {
  const handle = requestReceiver(options)
  return ({ req }) => handle(req.raw)
}

/** What a receiver uses of a request of Express or node:http. */
type NodeRequest = AsyncIterable<Uint8Array> & {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** What a body parser left: bytes of `express.raw()`, or a parsed body, which is refused. */
  readonly body?: unknown
  /** The bytes, where a `verify` function of a body parser keeps them. */
  readonly rawBody?: unknown
}
type NodeResponse = {
  statusCode: number
  readonly setHeader: (name: string, value: string) => unknown
  readonly end: (text?: string) => unknown
}

const rawBodyOf = async (request: NodeRequest): Promise<unknown> => {
  if (request.rawBody instanceof Uint8Array) return request.rawBody
  return request.body === undefined ? readStream(request) : request.body
}

/** A handler for Express, Connect and node:http: `app.post('/webhooks', expressReceiver({ secret, onEvent }))`. */
export const expressReceiver = (
  options: ReceiverOptions,
): ((request: NodeRequest, response: NodeResponse, next?: (error: unknown) => void) => Promise<void>) => {
  checkOptions(options)
  return async (request, response, next) => {
    try {
      const body = await rawBodyOf(request)
      const answer =
        body === undefined ? tooLarge : await receive(options, { headers: request.headers, body })
      response.statusCode = answer.status
      if (answer.body !== undefined) response.setHeader('content-type', 'application/json')
      response.end(answer.body === undefined ? undefined : JSON.stringify(answer.body))
    } catch (error) {
      if (next) return next(error)
      response.statusCode = 500
      response.end()
    }
  }
}

/** What a receiver uses of an instance of Fastify. */
type FastifyServer = {
  readonly removeAllContentTypeParsers: () => void
  readonly addContentTypeParser: (
    contentType: string,
    options: { parseAs: 'buffer'; bodyLimit: number },
    parser: (request: unknown, body: Uint8Array, done: (error: null, body: Uint8Array) => void) => void,
  ) => unknown
  readonly post: (
    path: string,
    handler: (
      request: { readonly headers: NodeRequest['headers']; readonly body: unknown },
      reply: { readonly code: (status: number) => { readonly send: (body?: unknown) => unknown } },
    ) => Promise<unknown>,
  ) => unknown
}

/**
 * A plugin for Fastify: `app.register(fastifyReceiver, { path: '/webhooks', secret, onEvent })`. Its parser keeps the bytes
 * of the body; other routes keep theirs.
 */
export const fastifyReceiver = async (
  server: FastifyServer,
  options: ReceiverOptions & { readonly path: string },
): Promise<void> => {
  checkOptions(options)
  server.removeAllContentTypeParsers()
  server.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: bodyBytesMax }, (_request, body, done) =>
    done(null, body),
  )
  server.post(options.path, async ({ headers, body }, reply) => {
    const answer = await receive(options, { headers, body })
    return reply.code(answer.status).send(answer.body)
  })
}

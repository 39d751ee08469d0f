import {
  createMcpHandler,
  isLegacyRequest,
  ProtocolErrorCode,
  PROTOCOL_VERSION_META_KEY,
  CLIENT_CAPABILITIES_META_KEY,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import { z } from 'zod'
import { ApiResponse } from '../platform/http/call.ts'
import { errorBodyOf, Refusal } from '../platform/http/errors.ts'
import { refusalOrThrow } from '../platform/http/refusals.ts'
import { mcpCosts } from '../platform/http/row-costs.ts'
import { isOwnHost, statelessVersion, supportedVersions, wantsEventStream } from './rules.ts'
import type { McpRequest } from './constant-answers.ts'
import { makeSurface, serverFor, type McpCall, type Surface } from './server.ts'
import type { SurfaceParts } from './surface-parts.ts'
import { isRecord, type Json } from './tools/tool.ts'

// The SDK implements the protocol. This file also accepts callers that the SDK refuses: without a handshake, without a
// version, with any Accept header, or with a batch. It completes each message to a request that the SDK serves.

const batchMax = 20

const checkHost = ({ ctx }: Surface, call: McpCall): void => {
  const names = { host: call.header('host'), origin: call.header('origin') }
  if (!isOwnHost(ctx.config.BASE_URL, names))
    throw new Refusal('forbidden', {
      message: 'The Host or Origin header is not the address of this service.',
    })
}

/** The response to one message as JSON, and its HTTP status outside a batch. */
type Reply = { readonly status: number; readonly text: string }

const errorReply = (
  id: McpRequest['id'] | null,
  error: { readonly code: ProtocolErrorCode; readonly message: string; readonly data?: Json },
): Reply => ({ status: 400, text: JSON.stringify({ jsonrpc: '2.0', id, error }) })

const invalidRequest = (message: string): Reply =>
  errorReply(null, { code: ProtocolErrorCode.InvalidRequest, message })

const messageSchema = z.object({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string().max(256), z.int()]).optional(),
  method: z.string().max(128),
  params: z.record(z.string(), z.unknown()).optional(),
})

const metaOf = ({ params }: McpRequest): Json => (isRecord(params?.['_meta']) ? params['_meta'] : {})

const mirroredNames = ['mcp-protocol-version', 'mcp-method', 'mcp-name'] as const

/** The headers that must repeat fields of the body, as the SDK requires. Base64 makes any text valid in a header. */
const mirrorOf = ({ method, params }: McpRequest): Record<string, string> => {
  const name = params?.['name'] ?? params?.['uri']
  return {
    'mcp-protocol-version': statelessVersion,
    'mcp-method': method,
    ...(typeof name === 'string' ? { 'mcp-name': `=?base64?${Buffer.from(name).toString('base64')}?=` } : {}),
  }
}

type SdkRequest = { readonly message: McpRequest; readonly headers: Record<string, string> }

/**
 * Adds the fields and headers that version 2026-07-28 requires to a request without a version in its body, if its header
 * names that version or its method exists only there. A request with a version in its body is not changed.
 */
const complete = (call: McpCall, message: McpRequest): SdkRequest => {
  const sent = Object.fromEntries(
    mirroredNames.flatMap((name) => {
      const value = call.header(name)
      return value === undefined ? [] : [[name, value] as const]
    }),
  )
  const meta = metaOf(message)
  const isMeant = sent['mcp-protocol-version'] === statelessVersion || message.method === 'server/discover'
  if (PROTOCOL_VERSION_META_KEY in meta || !isMeant) return { message, headers: sent }
  const envelope = { [PROTOCOL_VERSION_META_KEY]: statelessVersion, [CLIENT_CAPABILITIES_META_KEY]: {} }
  const completed = { ...message, params: { ...message.params, _meta: { ...envelope, ...meta } } }
  return { message: completed, headers: { ...mirrorOf(completed), ...sent } }
}

/** Versions with a handshake get one JSON response from a transport without session; 2026-07-28 has its own handler. */
const serveBySdk = async (
  surface: Surface,
  call: McpCall,
  { message, headers }: SdkRequest,
): Promise<Response> => {
  const request = new Request(surface.ctx.config.BASE_URL, {
    method: 'POST',
    headers: {
      ...headers,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
    },
  })
  const server = serverFor(surface, call, message)
  const options = { parsedBody: message }
  if (!(await isLegacyRequest(request, message))) {
    // The handler's `fetch` serves the request in this process and opens no connection. Nothing that is listed changes, so
    // there is nothing to subscribe to.
    const { fetch: handle } = createMcpHandler(() => server, { legacy: 'reject', maxSubscriptions: 0 })
    return handle(request, options)
  }
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
  await server.connect(transport)
  try {
    return await transport.handleRequest(request, options)
  } finally {
    await server.close()
  }
}

/** Serves one message; notifications and responses of the client get no reply. */
const serveMessage = async (
  surface: Surface,
  call: McpCall,
  received: unknown,
): Promise<Reply | undefined> => {
  const parsed = messageSchema.safeParse(received)
  if (!parsed.success) {
    const isResponse = isRecord(received) && received['jsonrpc'] === '2.0' && !('method' in received)
    if (isResponse && ('result' in received || 'error' in received)) return undefined
    return invalidRequest('Not a JSON-RPC 2.0 request')
  }
  const { id, ...message } = parsed.data
  await surface.dispatcher.admit(call, mcpCosts.messageMs)
  if (id === undefined) return undefined
  const requested = call.header('mcp-protocol-version')
  if (requested !== undefined && !supportedVersions.includes(requested))
    return errorReply(id, {
      code: ProtocolErrorCode.UnsupportedProtocolVersion,
      message: 'Unsupported protocol version',
      data: { supported: supportedVersions, requested: requested.slice(0, 64) },
    })
  const askSdk = async (request: SdkRequest): Promise<Reply> => {
    await surface.dispatcher.admit(call, mcpCosts.sdkMs)
    const response = await serveBySdk(surface, call, request)
    return { status: response.status, text: await response.text() }
  }
  const request = complete(call, { ...message, id })
  const constant = await surface.constantAnswer(request, askSdk)
  return constant === undefined ? askSdk(request) : { status: 200, text: constant }
}

/** The reply to a message of a batch that the budget of its network refuses. */
const refusedReply = (
  { ctx }: Surface,
  { requestId }: McpCall,
  message: unknown,
  refusal: Refusal,
): Reply | undefined => {
  const parsed = messageSchema.safeParse(message)
  if (parsed.success && parsed.data.id === undefined) return undefined
  const { message: text, ...data } = errorBodyOf(refusal, requestId, ctx.config.BASE_URL)
  const id = parsed.data?.id ?? null
  return errorReply(id, { code: ProtocolErrorCode.InternalError, message: text, data })
}

type ReplyBatch = { readonly status: number; readonly replies: readonly Reply[]; readonly batch: boolean }

const writeReplies = (
  { status, replies, batch }: ReplyBatch,
  accept: string | undefined,
): ApiResponse<undefined> => {
  const texts = replies.map(({ text }) => text)
  if (wantsEventStream(accept))
    return new ApiResponse(undefined, {
      status,
      headers: { 'x-accel-buffering': 'no' },
      raw: {
        mediaType: 'text/event-stream; charset=utf-8',
        text: texts.map((text) => `event: message\ndata: ${text}\n\n`).join(''),
      },
    })
  const text = batch ? `[${texts.join(',')}]` : (texts[0] ?? '')
  return new ApiResponse(undefined, { status, raw: { mediaType: 'application/json; charset=utf-8', text } })
}

/**
 * Serves the messages of a batch one after another: a batch loads the service no more than single calls. Once the budget of
 * the network is used up, the messages that are left are refused without being read.
 */
const serveBatch = async (
  surface: Surface,
  call: McpCall,
  messages: readonly unknown[],
): Promise<readonly Reply[]> => {
  const replies: Reply[] = []
  let refusal: Refusal | undefined
  for (const message of messages) {
    const reply = refusal
      ? refusedReply(surface, call, message, refusal)
      : await serveMessage(surface, call, message).catch((error: unknown) => {
          refusal = refusalOrThrow(error)
          return refusedReply(surface, call, message, refusal)
        })
    if (reply) replies.push(reply)
  }
  return replies
}

/** Serves one POST to a surface. There is no state between requests. */
const servePost = async (surface: Surface, call: McpCall): Promise<ApiResponse<undefined>> => {
  checkHost(surface, call)
  const { rawBody } = call
  const batch = Array.isArray(rawBody)
  const messages: readonly unknown[] = batch ? rawBody : [rawBody]
  const accept = call.header('accept')
  if (messages.length === 0 || messages.length > batchMax) {
    const reply = invalidRequest(`A batch has 1 to ${batchMax} messages`)
    return writeReplies({ status: 400, replies: [reply], batch: false }, accept)
  }
  const single = batch ? undefined : await serveMessage(surface, call, rawBody)
  const replies = batch ? await serveBatch(surface, call, messages) : single ? [single] : []
  const [first] = replies
  if (!first)
    return new ApiResponse(undefined, { status: 202, raw: { mediaType: 'application/json', text: '' } })
  return writeReplies({ status: batch ? 200 : first.status, replies, batch }, accept)
}

/** A surface of these parts. */
export const openSurface = (parts: SurfaceParts) => {
  const surface = makeSurface(parts)
  return (call: McpCall) => servePost(surface, call)
}

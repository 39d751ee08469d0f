import { apiVersion } from '@pohf/protocol'
import { z } from 'zod'
import type { Call } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import type { Dispatcher } from '../platform/http/dispatch.ts'
import { errorBodyOf, Refusal } from '../platform/http/errors.ts'
import { findHeaderMismatch, negotiate, statelessVersions, supportedVersions } from './rules.ts'
import {
  inputSchemaOf,
  isRecord,
  outputSchemaOf,
  resultOf,
  type Json,
  type Tool,
  type ToolResult,
} from './tools/tool.ts'

type SurfaceParts = {
  readonly ctx: Ctx
  readonly dispatcher: Dispatcher
  readonly name: string
  readonly title: string
  readonly instructions: string
  readonly tools: readonly Tool[]
}
/** One set of tools at one address. */
export type Surface = SurfaceParts & { readonly descriptions: readonly Json[] }
export type McpCall = Pick<
  Call<'discovery.mcp'>,
  'rawBody' | 'agent' | 'address' | 'requestId' | 'idempotencyKey' | 'header'
>
/** The response to one message, and its HTTP status outside a batch. */
export type Reply = { readonly status: number; readonly body: Json }

/** The codes of JSON-RPC, and those of MCP 2026-07-28. */
const codes = {
  invalidRequest: -32_600,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  headerMismatch: -32_020,
  unsupportedVersion: -32_022,
} as const

class JsonRpcError extends Error {
  readonly code: keyof typeof codes
  readonly data: Json | undefined
  constructor(code: keyof typeof codes, message: string, data?: Json) {
    super(message)
    this.code = code
    this.data = data
  }
}

const requestSchema = z.object({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string().max(256), z.number()]).optional(),
  method: z.string().max(128),
  params: z.record(z.string(), z.unknown()).optional(),
})
type Request = z.output<typeof requestSchema>

const versionKey = 'io.modelcontextprotocol/protocolVersion'
/** The list is the same for every caller and changes only with a new version of the service. */
const cacheable = { ttlMs: 300_000, cacheScope: 'public' }

const errorReply = (id: Request['id'] | null, fault: JsonRpcError, status: number): Reply => ({
  status,
  body: {
    jsonrpc: '2.0',
    id: id ?? null,
    error: { code: codes[fault.code], message: fault.message, ...(fault.data ? { data: fault.data } : {}) },
  },
})

/** The response to what is not a JSON-RPC request. */
export const invalidRequest = (message: string): Reply =>
  errorReply(null, new JsonRpcError('invalidRequest', message), 400)

const metaOf = (request: Request): Json => {
  const meta = request.params?.['_meta']
  return isRecord(meta) ? meta : {}
}

/** Refuses an unsupported version; true where the version has no handshake. */
const checkVersion = (call: McpCall, request: Request): boolean => {
  const inBody = metaOf(request)[versionKey]
  const bodyVersion = typeof inBody === 'string' ? inBody : undefined
  const headerVersion = call.header('mcp-protocol-version')
  for (const requested of [bodyVersion, headerVersion]) {
    if (requested !== undefined && !supportedVersions.includes(requested))
      throw new JsonRpcError('unsupportedVersion', 'Unsupported protocol version', {
        supported: supportedVersions,
        requested: requested.slice(0, 64),
      })
  }
  const name = request.method === 'tools/call' ? request.params?.['name'] : undefined
  const header = findHeaderMismatch({
    bodyVersion,
    headerVersion,
    method: request.method,
    methodHeader: call.header('mcp-method'),
    name: typeof name === 'string' ? name : undefined,
    nameHeader: call.header('mcp-name'),
  })
  if (header !== undefined)
    throw new JsonRpcError('headerMismatch', `Header mismatch: ${header} is missing or differs from the body`)
  return statelessVersions.includes(bodyVersion ?? headerVersion ?? '')
}

const describe = (tool: Tool): Json => {
  const outputSchema = outputSchemaOf(tool)
  return {
    name: tool.name,
    title: tool.title,
    description: tool.description,
    inputSchema: inputSchemaOf(tool),
    ...(outputSchema ? { outputSchema } : {}),
    annotations: tool.annotations,
  }
}

/** A surface of these tools. A tool whose operation is not mounted stops the start. */
export const makeSurface = (parts: SurfaceParts): Surface => {
  for (const { name, needs } of parts.tools) {
    const missing = needs.filter((id) => !parts.dispatcher.has(id))
    if (missing.length > 0)
      throw new Error(`tool ${name} needs operations that no module mounts: ${missing.join(', ')}`)
  }
  return { ...parts, descriptions: parts.tools.map(describe) }
}

const callTool = async (surface: Surface, call: McpCall, request: Request): Promise<ToolResult> => {
  const { ctx, dispatcher } = surface
  const { name, arguments: input = {} } = request.params ?? {}
  const tool = surface.tools.find((candidate) => candidate.name === name)
  if (!tool) throw new JsonRpcError('invalidParams', `Unknown tool: ${String(name).slice(0, 128)}`)
  if (!isRecord(input)) throw new JsonRpcError('invalidParams', 'arguments must be an object')
  const fields = Object.fromEntries(
    Object.entries(input).filter(([field]) => Object.hasOwn(tool.input.shape, field)),
  )
  const { agent, address, requestId, idempotencyKey } = call
  const headers: Record<string, string> =
    idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }
  try {
    return await tool.run({
      ctx,
      agent,
      input: fields,
      meta: metaOf(request),
      dispatch: (id, parts) =>
        dispatcher.dispatch(id, {
          agent,
          address,
          requestId,
          ...parts,
          headers: { ...headers, ...parts.headers },
        }),
    })
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return resultOf(errorBodyOf(error, requestId, ctx.config.BASE_URL), true)
  }
}

const serverInfo = (surface: Surface): Json => ({
  name: surface.name,
  title: surface.title,
  version: apiVersion,
})

const listTools = (surface: Surface, request: Request, stateless: boolean): Json => {
  // The list fits on one page, so there are no cursors.
  if (request.params?.['cursor'] !== undefined) throw new JsonRpcError('invalidParams', 'Unknown cursor')
  return { tools: surface.descriptions, ...(stateless ? cacheable : {}) }
}

const handleRequest = async (
  surface: Surface,
  call: McpCall,
  request: Request,
  stateless: boolean,
): Promise<Json> => {
  const capabilities = { tools: {} }
  const { instructions } = surface
  switch (request.method) {
    case 'initialize':
      return {
        protocolVersion: negotiate(request.params?.['protocolVersion']),
        capabilities,
        serverInfo: serverInfo(surface),
        instructions,
      }
    case 'server/discover':
      return { supportedVersions: statelessVersions, capabilities, instructions, ...cacheable }
    case 'ping':
      return {}
    case 'tools/list':
      return listTools(surface, request, stateless)
    case 'tools/call':
      return callTool(surface, call, request)
    default:
      throw new JsonRpcError('methodNotFound', 'Method not found')
  }
}

/** Version 2026-07-28 marks every result as complete and names the server. */
const withResultMetadata = (surface: Surface, result: Json): Json => ({
  ...result,
  resultType: 'complete',
  _meta: {
    ...(isRecord(result['_meta']) ? result['_meta'] : {}),
    'io.modelcontextprotocol/serverInfo': serverInfo(surface),
  },
})

const statusOf = (fault: JsonRpcError, stateless: boolean): number => {
  if (fault.code === 'headerMismatch' || fault.code === 'unsupportedVersion') return 400
  return fault.code === 'methodNotFound' && stateless ? 404 : 200
}

/** Handles one message; notifications and responses of the client get no reply. */
export const handleMessage = async (
  surface: Surface,
  call: McpCall,
  message: unknown,
): Promise<Reply | undefined> => {
  const parsed = requestSchema.safeParse(message)
  if (!parsed.success) {
    const isResponse = isRecord(message) && message['jsonrpc'] === '2.0' && !('method' in message)
    if (isResponse && ('result' in message || 'error' in message)) return undefined
    return invalidRequest('Not a JSON-RPC 2.0 request')
  }
  const request = parsed.data
  const { id } = request
  if (id === undefined) return undefined
  let stateless = false
  try {
    stateless = checkVersion(call, request)
    const result = await handleRequest(surface, call, request, stateless)
    const always = stateless || request.method === 'server/discover'
    return {
      status: 200,
      body: { jsonrpc: '2.0', id, result: always ? withResultMetadata(surface, result) : result },
    }
  } catch (error) {
    if (!(error instanceof JsonRpcError)) throw error
    return errorReply(id, error, statusOf(error, stateless))
  }
}

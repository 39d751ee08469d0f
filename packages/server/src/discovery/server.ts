import {
  McpServer,
  ProtocolError,
  ProtocolErrorCode,
  type Tool as ToolDescription,
} from '@modelcontextprotocol/server'
import { apiVersion } from '@pohf/protocol'
import type { Call } from '../platform/http/call.ts'
import { errorBodyOf, Refusal } from '../platform/http/errors.ts'
import { makeConstantAnswers, type ConstantAnswers, type McpRequest } from './constant-answers.ts'
import { resourceTemplates } from './records.ts'
import { listResources, readResource } from './resources.ts'
import type { SurfaceParts } from './surface-parts.ts'
import { isRecord, describe, resultOf, type ToolCall, type ToolResult } from './tools/tool.ts'

/** One set of tools and resources at one address. */
export type Surface = SurfaceParts & {
  readonly descriptions: readonly ToolDescription[]
  readonly constantAnswer: ConstantAnswers
}
export type McpCall = Pick<
  Call<'discovery.mcp'>,
  'rawBody' | 'agent' | 'address' | 'requestId' | 'idempotencyKey' | 'header'
>

export const makeSurface = (parts: SurfaceParts): Surface => ({
  ...parts,
  descriptions: parts.tools.map(describe),
  constantAnswer: makeConstantAnswers(parts),
})

/** Runs operations of the table as the caller of this POST. */
const dispatchFor = ({ dispatcher }: Surface, call: McpCall): ToolCall['dispatch'] => {
  const { agent, address, requestId, idempotencyKey } = call
  const headers: Record<string, string> =
    idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }
  return (id, parts) =>
    dispatcher.dispatch(id, {
      agent,
      address,
      requestId,
      ...parts,
      headers: { ...headers, ...parts.headers },
    })
}

const takesWallets = ({ walletMode }: Surface, { agent }: McpCall): boolean =>
  agent !== undefined && agent.mode === walletMode

/**
 * The refusal for an error. An error that is no refusal is logged and hidden: the SDK would send its message to the caller.
 */
const refusalOf = ({ ctx }: Surface, { requestId }: McpCall, error: unknown): Refusal => {
  if (error instanceof Refusal) return error
  ctx.log.error({ err: error, requestId }, 'MCP request failed')
  return new Refusal('internal_error')
}

const callTool = async (surface: Surface, call: McpCall, request: McpRequest): Promise<ToolResult> => {
  const { ctx } = surface
  const { name, arguments: input = {}, _meta: meta } = request.params ?? {}
  const tool = surface.tools.find((candidate) => candidate.name === name)
  if (!tool)
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${String(name).slice(0, 128)}`)
  if (!isRecord(input))
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'arguments must be an object')
  const fields = Object.fromEntries(
    Object.entries(input).filter(([field]) => Object.hasOwn(tool.input.shape, field)),
  )
  try {
    return await tool.run({
      ctx,
      agent: call.agent,
      takesWallets: takesWallets(surface, call),
      input: fields,
      meta: isRecord(meta) ? meta : {},
      dispatch: dispatchFor(surface, call),
    })
  } catch (error) {
    return resultOf(errorBodyOf(refusalOf(surface, call, error), call.requestId, ctx.config.BASE_URL), true)
  }
}

const readSafely = async (surface: Surface, call: McpCall, uri: string) => {
  const { ctx, docs } = surface
  try {
    return await readResource(
      { ctx, docs, dispatch: dispatchFor(surface, call), takesWallets: takesWallets(surface, call) },
      uri,
    )
  } catch (error) {
    if (error instanceof ProtocolError) throw error
    const body = errorBodyOf(refusalOf(surface, call, error), call.requestId, ctx.config.BASE_URL)
    throw new ProtocolError(ProtocolErrorCode.InternalError, body.message, body)
  }
}

/** The lists are the same for every caller and change only with a new version of the service. */
const unchanging = { ttlMs: 300_000, cacheScope: 'public' } as const
/** A credential may be revoked at any time, and belongs to its agent. */
const personal = { ttlMs: 0, cacheScope: 'private' } as const

/**
 * The server of one request. It uses the protocol layer below `McpServer`. The registry of `McpServer` would have to be
 * filled for each request, and it would refuse invalid arguments with its own errors instead of those of the API.
 */
export const serverFor = (surface: Surface, call: McpCall, request: McpRequest): McpServer['server'] => {
  const { name, title, instructions, descriptions, docs } = surface
  const { server } = new McpServer(
    { name, title, version: apiVersion },
    {
      // Nothing that is listed changes while the service runs.
      capabilities: { tools: { listChanged: false }, resources: { listChanged: false } },
      instructions,
      cacheHints: {
        'tools/list': unchanging,
        'resources/list': unchanging,
        'resources/templates/list': unchanging,
        'server/discover': unchanging,
        'resources/read': personal,
      },
    },
  )
  server.setRequestHandler('tools/list', ({ params }) => {
    // The list fits on one page.
    if (params?.cursor !== undefined)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'Unknown cursor')
    return { tools: [...descriptions] }
  })
  server.setRequestHandler('tools/call', () => callTool(surface, call, request))
  server.setRequestHandler('resources/list', ({ params }) => listResources(docs, params?.cursor))
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: [...resourceTemplates] }))
  server.setRequestHandler('resources/read', ({ params }) => readSafely(surface, call, params.uri))
  return server
}

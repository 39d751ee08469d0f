import type { CallToolResult, Tool as ToolDescription } from '@modelcontextprotocol/server'
import { endpoints } from '@pohf/protocol'
import { z } from 'zod'
import type { Agent, EndpointId } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import type { DispatchResult, InternalCall } from '../../platform/http/dispatch.ts'

export type Json = Readonly<Record<string, unknown>>
export const isRecord = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** One call of a tool. `dispatch` runs an operation of the endpoint table as the same caller. */
export type ToolCall = {
  readonly ctx: Ctx
  readonly agent: Agent | undefined
  /** Whether a wallet can pay questions of this agent here. */
  readonly takesWallets: boolean
  /** The arguments, reduced to the fields of the tool; the operation validates them. */
  readonly input: Json
  readonly meta: Json
  readonly dispatch: (
    id: EndpointId,
    parts: Pick<InternalCall, 'body' | 'params' | 'query' | 'headers'>,
  ) => Promise<DispatchResult>
}

export type ToolResult = CallToolResult

export type Tool = {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly annotations: {
    readonly readOnlyHint: boolean
    readonly destructiveHint: boolean
    readonly idempotentHint: boolean
    readonly openWorldHint: boolean
  }
  /** The operations that it calls. The first determines who may call. */
  readonly needs: readonly [EndpointId, ...EndpointId[]]
  readonly input: z.ZodObject
  /** The operation whose answer is the result, or the fields of the result; each field may be missing. */
  readonly output: EndpointId | z.ZodObject
  readonly run: (call: ToolCall) => Promise<ToolResult>
}

type Part = 'body' | 'params' | 'query'

/** A field of a row, with the row's own schema. */
export const fieldOf = (id: EndpointId, part: Part, name: string): z.ZodType => {
  const schema = endpoints.find((row) => row.id === id)?.[part]
  const field: unknown = schema instanceof z.ZodObject ? schema.shape[name] : undefined
  if (!(field instanceof z.ZodType)) throw new Error(`endpoint ${id} has no field ${part}.${name} for a tool`)
  return field
}

export const fieldsOf = (id: EndpointId, part: Part, names: readonly string[]): Record<string, z.ZodType> =>
  Object.fromEntries(names.map((name) => [name, fieldOf(id, part, name)]))

const jsonSchemaOf = (zodSchema: z.ZodType, io: 'input' | 'output'): Json => {
  const { $schema: _, ...schema } = z.toJSONSchema(zodSchema, {
    io,
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      // Not every client's pattern dialect knows Unicode classes; the operation validates anyway.
      if (jsonSchema.pattern !== undefined && /\\p/i.test(jsonSchema.pattern)) delete jsonSchema.pattern
    },
  })
  return schema
}

/** The JSON schema of a tool's arguments. */
export const inputSchemaOf = (tool: Tool): Json => jsonSchemaOf(tool.input, 'input')

/**
 * The JSON schema of a tool's result. No field is required, and others may appear: clients of SDK 1.x check refusals and
 * the payment challenge against it too, and drop what does not fit before an agent sees it.
 */
export const outputSchemaOf = ({ name, output }: Tool): Json => {
  const schema = output instanceof z.ZodObject ? output : endpoints.find(({ id }) => id === output)?.response
  if (!schema) throw new Error(`tool ${name} returns the answer of an operation that is not in the table`)
  const { required: _, additionalProperties: __, ...loose } = jsonSchemaOf(schema, 'output')
  return loose
}

/** A tool as `tools/list` shows it. Nothing in it comes from a third party. */
export const describe = (tool: Tool): ToolDescription => ({
  name: tool.name,
  title: tool.title,
  description: tool.description,
  inputSchema: { type: 'object', ...inputSchemaOf(tool) },
  outputSchema: { type: 'object', ...outputSchemaOf(tool) },
  annotations: tool.annotations,
})

/** The content twice, as MCP requires: structured, and as text for clients that read only text. */
export const resultOf = (content: Json, isError = false): ToolResult => ({
  content: [{ type: 'text', text: JSON.stringify(content) }],
  structuredContent: { ...content },
  isError,
})

/** How a caller without a key gets one. */
export const keyHelp = (baseUrl: string): Json => ({
  how_to_get_a_key: {
    over_http: `POST ${baseUrl}/api/agents/register with {"name", "contactEmail", "mode": "test"}`,
    over_mcp: `register_agent at ${baseUrl}/mcp/identity`,
    how_to_send: 'Send Authorization: Bearer <apiKey> with every POST to this address.',
  },
})

/** The response of an operation as a tool result; a refusal is a result that the model can read. */
export const resultFrom = (
  call: ToolCall,
  answer: DispatchResult,
  change = (body: Json): Json => body,
): ToolResult => {
  const body = isRecord(answer.body) ? answer.body : { value: answer.body }
  if (answer.status < 400) return resultOf(change(body))
  return resultOf(answer.status === 401 ? { ...body, ...keyHelp(call.ctx.config.BASE_URL) } : body, true)
}

/** Characters that a person does not see and a model reads: controls, text direction, Unicode tags. Joiners stay. */
const invisible = /(?![\t\n\u200c\u200d])[\p{Cc}\p{Cf}\p{Co}\p{Cs}]/gu

/** Cleans and truncates text by third parties: one field must not dominate a tool's result. */
export const truncate = (value: unknown, charactersMax: number): unknown => {
  if (typeof value === 'string') {
    const text = value.toWellFormed().replaceAll(invisible, '')
    return text.length <= charactersMax
      ? text
      : `${text.slice(0, charactersMax).toWellFormed()}… (cut; ${value.length} characters)`
  }
  if (Array.isArray(value)) return value.slice(0, 100).map((item) => truncate(item, charactersMax))
  if (!isRecord(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .slice(0, 100)
      .map(([key, inner]) => [key.slice(0, 200).replaceAll(invisible, ''), truncate(inner, charactersMax)]),
  )
}

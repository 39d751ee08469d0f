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
  /** The arguments, reduced to the fields of the tool; the operation validates them. */
  readonly input: Json
  readonly meta: Json
  readonly dispatch: (
    id: EndpointId,
    parts: Pick<InternalCall, 'body' | 'params' | 'query' | 'headers'>,
  ) => Promise<DispatchResult>
}

export type ToolResult = {
  readonly content: readonly { readonly type: 'text'; readonly text: string }[]
  readonly structuredContent: Json
  readonly isError: boolean
  readonly _meta?: Json
}

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
  /** The operation whose answer is the result, where the tool returns it unchanged. */
  readonly output?: EndpointId
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

const jsonSchemaOf = (zodSchema: z.ZodType): Json => {
  const { $schema: _, ...schema } = z.toJSONSchema(zodSchema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      // Not every client's pattern dialect knows Unicode classes; the operation validates anyway.
      if (jsonSchema.pattern !== undefined && /\\p/i.test(jsonSchema.pattern)) delete jsonSchema.pattern
    },
  })
  return schema
}

/** The JSON schema of a tool's arguments. */
export const inputSchemaOf = (tool: Tool): Json => jsonSchemaOf(tool.input)

/** The JSON schema of a tool's result that is no error; undefined where the result has no fixed shape. */
export const outputSchemaOf = (tool: Tool): Json | undefined => {
  const row = endpoints.find(({ id }) => id === tool.output)
  return row && jsonSchemaOf(row.response)
}

/** The content twice, as MCP requires: structured, and as text for clients that read only text. */
export const resultOf = (content: Json, isError = false): ToolResult => ({
  content: [{ type: 'text', text: JSON.stringify(content) }],
  structuredContent: content,
  isError,
})

const keyHelp = (baseUrl: string): Json => ({
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

/** Truncates text by third parties: one field must not dominate a tool's result. */
export const truncate = (value: unknown, charactersMax: number): unknown => {
  if (typeof value === 'string')
    return value.length <= charactersMax
      ? value
      : `${value.slice(0, charactersMax).toWellFormed()}… (cut; ${value.length} characters)`
  if (Array.isArray(value)) return value.slice(0, 100).map((item) => truncate(item, charactersMax))
  if (!isRecord(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .slice(0, 100)
      .map(([key, inner]) => [key.slice(0, 200), truncate(inner, charactersMax)]),
  )
}

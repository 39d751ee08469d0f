import { z } from 'zod'
import { operation } from '../platform/endpoint.ts'
import { instant } from '../platform/fields.ts'

const settlementPath = z.looseObject({ status: z.literal('live'), configured: z.boolean() })
export const manifest = operation({
  summary: 'Read the service manifest.',
  cors: 'any',
  response: z.object({
    service: z.string(),
    summary: z.string(),
    provides: z.array(z.string()),
    credential: z.record(z.string(), z.unknown()),
    settlement: z.object({
      agent_native: settlementPath,
      human_in_the_loop: settlementPath,
      binding_only: z.array(z.string()),
      chains: z.array(z.string()),
      rail_agnostic: z.literal(true),
    }),
    endpoints: z.record(z.string(), z.string()),
    how_to_transact: z.record(z.string(), z.unknown()),
    contact: z.string(),
    docs: z.string(),
    status: z.object({
      checked_at: instant(),
      purchasable_tasks_now: z.int().min(0),
      inventory_note: z.string(),
      free_plan: z.object({
        seals_per_month: z.int(),
        card_required: z.boolean(),
        register: z.string(),
        condition: z.string(),
      }),
      verify_endpoint: z.string(),
      machine_payable_plans: z.boolean(),
    }),
    updated: instant(),
  }),
})
/** JSON-RPC 2.0, one message or a batch. It is validated by the rules of JSON-RPC, so any JSON passes here. */
const jsonRpc = z.unknown().meta({
  openapi: {
    type: ['object', 'array'],
    description: 'A JSON-RPC 2.0 message of the Model Context Protocol, or an array of at most 20.',
    examples: [{ jsonrpc: '2.0', id: 1, method: 'tools/list' }],
  },
})
export const jsonRpcError = z.looseObject({
  jsonrpc: z.literal('2.0'),
  error: z.looseObject({ code: z.int(), message: z.string() }),
})
export const mcp = operation({
  summary: 'Call the MCP tools.',
  isProtectedResource: true,
  // The arguments of a tool may be an action that people approve.
  exactJson: true,
  // Each tool that writes is refused on its own.
  duringRestore: true,
  errors: ['forbidden'],
  body: jsonRpc,
  also: { 202: z.unknown(), 400: jsonRpcError },
  response: z.unknown(),
})
export const mcpIdentity = operation({
  summary: 'Call the MCP tools for registration and verification.',
  isProtectedResource: true,
  duringRestore: true,
  errors: ['forbidden'],
  showsSecret: true,
  body: jsonRpc,
  also: { 202: z.unknown(), 400: jsonRpcError },
  response: z.unknown(),
})

import type { Endpoint } from '@pohf/protocol'
import type { EndpointId } from './call.ts'

// What calls without a key cost, in milliseconds of CPU of api and PostgreSQL together. Measured with one call at a time on
// the machine of the reports and rounded up; a number that is a little wrong moves a limit a little. A declared cost is
// the same on every machine, so a client can learn what it may do, and a test does not depend on a clock.

/** A call that only passes the router: a page, an unknown address, a refusal before any work. */
const baseMs = 0.5
/** A row with a transaction of a few statements. */
const usualRowMs = 2

/** A key that is malformed or does not exist. */
export const failedKeyMs = 1

const rowCostsMs: Partial<Record<EndpointId, number>> = {
  'agents.register': 8,
  'agents.keys.recover': 5,
  'accounts.sign-in.sign-up': 5,
  'accounts.sign-in.sign-in': 5,
  'tracking.event': 1,
  'signing.jwks': 0.5,
  'credentials.forging.table': 0.5,
  'credentials.siteverify': 1,
  'discovery.mcp': 0.5,
  'discovery.mcp-identity': 0.5,
  'work.orders.create': 4,
  'work.workflows.available': 5,
  'purchases.buy': 3,
  'vhh.composite': 5,
  'vhh.catalogue': 5,
  'vhh.inputs': 5,
  'sessions.create': 5,
  'sessions.recording.telemetry': 3,
  'sessions.finish': 5,
}

/** Read, checked for its nesting, parsed, and checked by a schema. */
const bodyBytesPerMs = 65_536
/** Copied to the connection, and by the kernel. */
const answerBytesPerMs = 131_072

/** A message of MCP whose answer is constant, and one that the SDK answers. A tool adds the cost of its row. */
export const mcpCosts = { messageMs: 0.2, sdkMs: 2 } as const

export const rowCostMs = (endpoint: Endpoint | undefined): number =>
  endpoint ? (rowCostsMs[endpoint.id as EndpointId] ?? usualRowMs) : baseMs

/** A body without a length may be as long as the row permits. */
export const bodyCostMs = (
  { 'content-length': length, 'transfer-encoding': encoding }: Readonly<Record<string, unknown>>,
  limitBytes: number,
): number => {
  const bytes = encoding === undefined ? Number(length ?? 0) : limitBytes
  return Math.min(Number.isNaN(bytes) ? limitBytes : bytes, limitBytes) / bodyBytesPerMs
}

export const answerCostMs = (bytes: unknown): number => Number(bytes ?? 0) / answerBytesPerMs || 0

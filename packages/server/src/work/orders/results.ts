import type { UnitState } from '@pohf/protocol'
import { ApiResponse, type Agent } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { csvMediaType, writeRows } from '../../platform/http/csv.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { findOrder } from './store.ts'
import { presentUnits, type FindCredentialTokens } from './present.ts'
import { listUnits } from '../units/store.ts'

type Page = {
  readonly orderId: string
  readonly format?: 'json' | 'csv' | undefined
  readonly status?: UnitState | undefined
  readonly after?: number | undefined
  readonly limit?: number | undefined
}
type PresentedUnit = Awaited<ReturnType<typeof presentUnits>>[number]

/** Append-only: a column is never moved, renamed or dropped. Fields of the answer follow, in the order of the form. */
const columns = [
  'n',
  'status',
  'deliveredAt',
  'quality',
  'credentialId',
  'sessionId',
  'input',
  'rejectReason',
  'rejectNote',
  'pohf_jwt',
] as const
const csvValueOf = (value: unknown): string | number | null => {
  if (value === null || value === undefined) return null
  return typeof value === 'string' || typeof value === 'number' ? value : JSON.stringify(value)
}
const rowOf = (unit: PresentedUnit, fields: readonly string[]): (string | number | null)[] => {
  const answer = (unit.answer ?? {}) as Record<string, unknown>
  return [
    unit.n,
    unit.status,
    unit.deliveredAt,
    unit.quality,
    unit.credential?.credentialId ?? null,
    unit.sessionId,
    csvValueOf(unit.input),
    unit.rejection?.reason ?? null,
    unit.rejection?.note ?? null,
    unit.credential?.pohf_jwt ?? null,
    ...fields.map((field) => csvValueOf(answer[field])),
  ]
}

/** The answers with their credentials, unit by unit. */
export const orderResults = (ctx: Ctx, agent: Agent, findTokens: FindCredentialTokens, page: Page) =>
  inTransaction(ctx, agent.agentId, async (tx) => {
    const { status, limit = 100, after = 0 } = page
    const key = { agentId: agent.agentId, mode: agent.mode, orderId: page.orderId }
    const order = await findOrder(tx, key)
    if (!order) throw new Refusal('not_found', { message: 'No such order.' })
    const rows = await listUnits(tx, key, { status, after, limit })
    const units = await presentUnits(tx, order, rows, findTokens)
    const nextCursor = rows.length === limit ? (rows.at(-1)?.n ?? null) : null
    if (page.format !== 'csv')
      return new ApiResponse({ orderId: order.orderId, status: order.status, units, nextCursor })
    const fields = order.terms?.answerForm.map(({ name }) => name) ?? []
    const text = writeRows(
      [...columns, ...fields.map((field) => `answer.${field}`)],
      units.map((unit) => rowOf(unit, fields)),
    )
    return new ApiResponse(undefined, {
      raw: { mediaType: csvMediaType, text },
      headers: nextCursor === null ? {} : { 'x-next-cursor': String(nextCursor) },
    })
  })

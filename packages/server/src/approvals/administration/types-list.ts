import type { ActionTypeRecord } from '@pohf/protocol'
import { inTransaction } from '../../platform/db/db.ts'
import type { Agent } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { actionTypeOf, listNewestTypes, type TypeRow } from './store.ts'

export const presentType = (row: TypeRow): ActionTypeRecord => {
  const { labels, critical, ...shown } = actionTypeOf(row)
  return {
    ...shown,
    labels: { ...labels },
    critical: [...critical],
    schema: row.schema,
    policy: row.policy,
    createdAt: row.created_at.toISOString(),
    createdBy: row.created_by,
  }
}

/** The types in use, each with its newest version. */
export const typesList = (ctx: Ctx, agent: Agent) =>
  inTransaction(ctx, agent.agentId, async (tx) => {
    const rows = await listNewestTypes(tx, agent)
    return { types: rows.filter((row) => row.retired_at === null).map(presentType) }
  })

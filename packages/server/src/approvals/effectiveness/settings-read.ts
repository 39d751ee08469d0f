import { inTransaction } from '../../platform/db/db.ts'
import type { Agent } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { findSettings, type Settings } from './store.ts'

export const settingsOf = ({ changedAt, ...settings }: Settings) => ({
  ...settings,
  changedAt: changedAt?.toISOString() ?? null,
})

export const settingsRead = (ctx: Ctx, agent: Agent) =>
  inTransaction(ctx, agent.agentId, async (tx) => settingsOf(await findSettings(tx, agent)))

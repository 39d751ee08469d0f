import { inTransaction } from '../../platform/db/db.ts'
import type { Agent, StoreResult } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { administratorOf, logChange } from '../administration/administrator.ts'
import { settingsOf } from './settings-read.ts'
import { findSettings, upsertSettings } from './store.ts'

type Body = { readonly perPerson?: boolean | undefined; readonly decisionsPerHour?: number | undefined }

export const settingsWrite = (ctx: Ctx, agent: Agent, body: Body, storeResult: StoreResult) =>
  inTransaction(ctx, agent.agentId, async (tx) => {
    await upsertSettings(tx, agent, {
      perPerson: body.perPerson,
      decisionsPerHour: body.decisionsPerHour,
      changedBy: administratorOf(agent),
    })
    logChange(ctx, agent, { action: 'settings-write', target: JSON.stringify(body) })
    return storeResult(tx, settingsOf(await findSettings(tx, agent)))
  })

import type { Agent } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import { mailConfirmation } from './mails.ts'
import { confirmHours } from './rules.ts'
import { countRecentMailTokens, findAgent } from './store.ts'

const mailsPerHourMax = 5

/** Sends the confirmation mail again, unless the address is confirmed or was mailed often enough. */
export const emailResend = async (ctx: Ctx, caller: Agent) =>
  inTransaction(ctx, caller.agentId, async (tx) => {
    const agent = await findAgent(tx, caller.agentId)
    if (!agent || agent.email_confirmed_at !== null) return { sent: false }
    const recent = await countRecentMailTokens(tx, caller.agentId, 'confirm', confirmHours * 3_600)
    if (recent >= mailsPerHourMax) throw new Refusal('rate_limited', { headers: { 'retry-after': '3600' } })
    await mailConfirmation(tx, ctx, { agentId: caller.agentId, contactEmail: agent.contact_email })
    return { sent: true }
  })

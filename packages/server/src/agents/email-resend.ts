import type { Agent } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction, readNow } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import { mailConfirmation } from './mails.ts'
import { confirmHours } from './rules.ts'
import { countRecentMailTokens, findAgent } from './store.ts'

const mailsPerHourMax = 5
const dayMs = 86_400_000

/** The counts of mails to a recipient start again with the day (UTC). */
const secondsToNextDay = (at: Date): number => Math.ceil((dayMs - (at.getTime() % dayMs)) / 1_000)

/** Sends the confirmation mail again, unless the address is confirmed or was mailed often enough. */
export const emailResend = async (ctx: Ctx, caller: Agent) =>
  inTransaction(ctx, caller.agentId, async (tx) => {
    const agent = await findAgent(tx, caller.agentId)
    if (!agent || agent.email_confirmed_at !== null) return { sent: false }
    const recent = await countRecentMailTokens(tx, caller.agentId, 'confirm', confirmHours * 3_600)
    if (recent >= mailsPerHourMax) throw new Refusal('rate_limited', { headers: { 'retry-after': '3600' } })
    const recipient = { agentId: caller.agentId, contactEmail: agent.contact_email }
    if (await mailConfirmation(tx, ctx, recipient)) return { sent: true }
    throw new Refusal('rate_limited', {
      message:
        'This address has reached its limit of confirmation mails for today. Try again tomorrow (UTC).',
      headers: { 'retry-after': String(secondsToNextDay(await readNow(tx))) },
    })
  })

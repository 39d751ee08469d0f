import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { normaliseEmail } from '../../platform/net/mail-address.ts'
import { mailRecovery } from '../mails.ts'
import { recoverMinutes } from '../rules.ts'
import { countRecentMailTokens, listConfirmedAgentsByEmail } from '../store.ts'

const agentsPerMailMax = 10
const mailsPerHourMax = 3

/** Mails a link to every agent of a confirmed address. The response is the same whether there is one or not. */
export const keysRecover = async (ctx: Ctx, contactEmail: string) => {
  await inTransaction(ctx, 'system', async (tx) => {
    for (const agent of await listConfirmedAgentsByEmail(
      tx,
      normaliseEmail(contactEmail),
      agentsPerMailMax,
    )) {
      const recent = await countRecentMailTokens(tx, agent.agent_id, 'recover', recoverMinutes * 60)
      if (recent < mailsPerHourMax)
        await mailRecovery(tx, ctx, { agentId: agent.agent_id, contactEmail: agent.contact_email })
    }
  })
  return { ok: true as const, note: 'If a confirmed agent has this address, a link is on its way.' }
}

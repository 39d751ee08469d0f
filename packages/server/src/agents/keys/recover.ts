import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import { normaliseEmail } from '../../platform/net/mail-address.ts'
import { mailRecovery } from '../mails.ts'
import { recoverMinutes } from '../rules.ts'
import { countRecentMailTokens, listConfirmedAgentsByEmail } from '../store.ts'

const agentsPerMailMax = 10
const mailsPerHourMax = 3

/** Injected by the wiring: whether an account owns the agent. Then its owners make keys in the console, and no key is mailed. */
export type IsInAccount = (tx: Tx, agentId: string) => Promise<boolean>

/**
 * Mails a recovery link for each of the newest `agentsPerMailMax` agents that have this confirmed address and no account, at
 * most `mailsPerHourMax` within `recoverMinutes`. An agent of an account gets none: a person who left the account must not get
 * a key by the address. The response does not reveal whether an agent has the address.
 */
export const keysRecover = async (ctx: Ctx, isInAccount: IsInAccount, contactEmail: string) => {
  await inTransaction(ctx, 'system', async (tx) => {
    for (const agent of await listConfirmedAgentsByEmail(
      tx,
      normaliseEmail(contactEmail),
      agentsPerMailMax,
    )) {
      if (await isInAccount(tx, agent.agent_id)) continue
      const recent = await countRecentMailTokens(tx, agent.agent_id, 'recover', recoverMinutes * 60)
      if (recent < mailsPerHourMax)
        await mailRecovery(tx, ctx, { agentId: agent.agent_id, contactEmail: agent.contact_email })
    }
  })
  return { ok: true as const, note: 'If a confirmed agent has this address, a link is on its way.' }
}

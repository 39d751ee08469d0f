import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import { hashKey } from '../platform/ops/keys.ts'
import { publish } from '../platform/queue/outbox.ts'
import { findAgent, updateEmailConfirmed, updateMailTokenUsed } from './store.ts'

/** Confirms the address that the token was mailed to. */
export const emailConfirm = async (ctx: Ctx, token: string) =>
  inTransaction(ctx, 'system', async (tx) => {
    const agentId = await updateMailTokenUsed(tx, hashKey(token), 'confirm')
    const agent = agentId === undefined ? undefined : await findAgent(tx, agentId)
    if (!agent)
      throw new Refusal('not_found', {
        message: 'This link is invalid, already used or expired. Request a new one.',
      })
    if (await updateEmailConfirmed(tx, agent.agent_id)) {
      const mode = agent.mode
      await publish(tx, {
        agentId: agent.agent_id,
        mode,
        type: 'agent.email_confirmed',
        subject: agent.agent_id,
        data: { agentId: agent.agent_id },
      })
    }
    return { agentId: agent.agent_id, confirmed: true as const }
  })

import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { hashKey } from '../../platform/ops/keys.ts'
import { publish } from '../../platform/queue/outbox.ts'
import { addKey } from './key.ts'
import { allScopes } from '../rules.ts'
import { findAgent, updateAllKeysRevoked, updateMailTokenUsed } from '../store.ts'

/** Exchanges the mailed token for a new key, and revokes every other key of the agent, since it may be compromised. */
export const keysRecoverComplete = async (ctx: Ctx, token: string) =>
  inTransaction(ctx, 'system', async (tx) => {
    const agentId = await updateMailTokenUsed(tx, hashKey(token), 'recover')
    const agent = agentId === undefined ? undefined : await findAgent(tx, agentId)
    if (!agent)
      throw new Refusal('not_found', {
        message: 'This link is invalid, already used or expired. Request a new one.',
      })
    const mode = agent.mode
    for (const keyId of await updateAllKeysRevoked(tx, agent.agent_id)) {
      await publish(tx, {
        agentId: agent.agent_id,
        mode,
        type: 'key.revoked',
        subject: agent.agent_id,
        data: { keyId },
      })
    }
    const { apiKey } = await addKey(tx, {
      agentId: agent.agent_id,
      mode,
      cell: ctx.config.CELL,
      scopes: allScopes,
    })
    return { apiKey, agentId: agent.agent_id, mode }
  })

import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { consumeMailToken } from '../mail-token.ts'
import { addKey } from './key.ts'
import type { IsInAccount } from './recover.ts'
import { revokeAllKeys } from './revoke-all.ts'
import { allScopes } from '../rules.ts'

/** Exchanges the mailed token for a new key, and revokes every other key of the agent, since it may be compromised. */
export const keysRecoverComplete = async (ctx: Ctx, isInAccount: IsInAccount, token: string) =>
  inTransaction(ctx, 'system', async (tx) => {
    const agent = await consumeMailToken(tx, 'recover', token)
    const mode = agent.mode
    if (await isInAccount(tx, agent.agent_id))
      throw new Refusal('forbidden', {
        message: 'This agent belongs to an account. An owner creates its keys in the console.',
      })
    await revokeAllKeys(tx, { agentId: agent.agent_id, mode })
    const { apiKey } = await addKey(tx, {
      agentId: agent.agent_id,
      mode,
      cell: ctx.config.CELL,
      scopes: allScopes,
    })
    return { apiKey, agentId: agent.agent_id, mode }
  })

import type { Scope } from '@pohf/protocol'
import type { Agent } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { addKey, requireActiveKey } from './key.ts'
import { keysMax } from '../rules.ts'
import { countUsableKeys } from '../store.ts'

/** Creates a further key. It never has a scope that the calling key lacks. */
export const keysCreate = async (ctx: Ctx, agent: Agent, requestedScopes: readonly Scope[]) => {
  const missingScopes = requestedScopes.filter((scope) => !agent.scopes.includes(scope))
  if (missingScopes.length > 0)
    throw new Refusal('forbidden', {
      message: `The calling key lacks the scope "${missingScopes.join('", "')}".`,
    })
  return inTransaction(ctx, agent.agentId, async (tx) => {
    if ((await countUsableKeys(tx, agent.agentId)) >= keysMax)
      throw new Refusal('forbidden', { message: `An agent has at most ${keysMax} keys. Revoke one first.` })
    await requireActiveKey(tx, agent)
    const unique = [...new Set(requestedScopes)]
    const { apiKey, keyId } = await addKey(tx, {
      agentId: agent.agentId,
      mode: agent.mode,
      cell: ctx.config.CELL,
      scopes: unique,
    })
    return { apiKey, keyId, scopes: unique }
  })
}

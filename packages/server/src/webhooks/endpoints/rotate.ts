import type { Agent } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { unknownEndpoint } from './describe.ts'
import { newSecret } from './register.ts'
import { findEndpointLocked, updateSecret } from './store.ts'

type Rotation = { readonly webhookId: string; readonly overlapSeconds: number }

/** Replaces the signing secret; until the overlap ends every delivery is signed with both. */
export const rotate = async (ctx: Ctx, agent: Agent, { webhookId, overlapSeconds }: Rotation) => {
  const signingSecret = newSecret(ctx)
  return inTransaction(ctx, agent.agentId, async (tx) => {
    const endpoint = await findEndpointLocked(tx, agent, webhookId)
    if (!endpoint) throw unknownEndpoint()
    // A third secret would end the overlap of the first early.
    if (endpoint.previous_until && overlapSeconds > 0)
      throw new Refusal('forbidden', {
        message: `The secret was rotated before, and the old one signs until ${endpoint.previous_until.toISOString()}. Wait for that, or send overlapSeconds 0 to end both old ones now.`,
      })
    const previousUntil = await updateSecret(
      tx,
      { agentId: agent.agentId, endpointId: webhookId },
      {
        sealed: ctx.secrets.seal('webhook', signingSecret),
        previousSealed: endpoint.secret_sealed,
        overlapSeconds,
      },
    )
    return { id: webhookId, signingSecret, previousSecretUntil: previousUntil?.toISOString() ?? null }
  })
}

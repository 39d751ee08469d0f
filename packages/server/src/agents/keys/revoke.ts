import type { Agent } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { publish } from '../../platform/queue/outbox.ts'
import { updateKeyRevoked } from '../store.ts'

export const keysRevoke = async (ctx: Ctx, agent: Agent, keyId: string) =>
  inTransaction(ctx, agent.agentId, async (tx) => {
    if (!(await updateKeyRevoked(tx, agent.agentId, keyId))) throw new Refusal('not_found')
    await publish(tx, {
      agentId: agent.agentId,
      mode: agent.mode,
      type: 'key.revoked',
      subject: agent.agentId,
      data: { keyId },
    })
    return { keyId, revoked: true as const }
  })

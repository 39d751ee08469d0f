import type { Agent } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { publish } from '../../platform/queue/outbox.ts'
import { addKey } from './key.ts'
import { keysWithReplacedMax } from '../rules.ts'
import { countUsableKeys, updateKeyReplaced } from '../store.ts'

/** Replaces the calling key by a new one with the same scopes; the old one works until the overlap ends. */
export const keysRotate = async (ctx: Ctx, agent: Agent, overlapSeconds: number) =>
  inTransaction(ctx, agent.agentId, async (tx) => {
    if ((await countUsableKeys(tx, agent.agentId)) >= keysWithReplacedMax)
      throw new Refusal('forbidden', {
        message: 'Too many replaced keys are still valid. Revoke some first.',
      })
    const { apiKey, keyId } = await addKey(tx, {
      agentId: agent.agentId,
      mode: agent.mode,
      cell: ctx.config.CELL,
      scopes: agent.scopes,
    })
    const validUntil = await updateKeyReplaced(tx, agent.agentId, agent.keyId, { by: keyId, overlapSeconds })
    if (!validUntil)
      throw new Refusal('forbidden', { message: 'This key has already been replaced. Rotate the newer key.' })
    const data = { keyId, replacedKeyId: agent.keyId, validUntil: validUntil.toISOString() }
    await publish(tx, {
      agentId: agent.agentId,
      mode: agent.mode,
      type: 'key.rotated',
      subject: agent.agentId,
      data,
    })
    return { apiKey, ...data }
  })

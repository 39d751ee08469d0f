import type { Agent } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import type { Scope } from '@pohf/protocol'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { publish } from '../../platform/queue/outbox.ts'
import { addKey, requireActiveKey } from './key.ts'
import { keysWithReplacedMax } from '../rules.ts'
import { countUsableKeys, findKeyScopes, updateKeyReplaced } from '../store.ts'

type Rotation = { readonly overlapSeconds: number; readonly keyId?: string | undefined }

/** The scopes of the key that is replaced. A caller never gets a scope that it lacks. */
const scopesOf = async (tx: Tx, agent: Agent, keyId: string): Promise<readonly Scope[]> => {
  const scopes = await findKeyScopes(tx, agent.agentId, keyId)
  if (!scopes)
    throw new Refusal('not_found', { message: 'There is no such key. Name the key to replace in keyId.' })
  if (scopes.every((scope) => agent.scopes.includes(scope))) return scopes
  throw new Refusal('forbidden', { message: 'This key has a scope that the calling key lacks.' })
}

/** Replaces a key by a new one with the same scopes; the old one works until the overlap ends. */
export const keysRotate = async (
  ctx: Ctx,
  agent: Agent,
  { overlapSeconds, keyId: oldKeyId = agent.keyId }: Rotation,
) =>
  inTransaction(ctx, agent.agentId, async (tx) => {
    const scopes = await scopesOf(tx, agent, oldKeyId)
    if ((await countUsableKeys(tx, agent.agentId)) >= keysWithReplacedMax)
      throw new Refusal('forbidden', {
        message: 'Too many replaced keys are still valid. Revoke some first.',
      })
    await requireActiveKey(tx, agent)
    const { apiKey, keyId } = await addKey(tx, {
      agentId: agent.agentId,
      mode: agent.mode,
      cell: ctx.config.CELL,
      scopes,
    })
    const validUntil = await updateKeyReplaced(tx, agent.agentId, oldKeyId, { by: keyId, overlapSeconds })
    if (!validUntil)
      throw new Refusal('forbidden', { message: 'This key has already been replaced. Rotate the newer key.' })
    const data = { keyId, replacedKeyId: oldKeyId, validUntil: validUntil.toISOString() }
    await publish(tx, {
      agentId: agent.agentId,
      mode: agent.mode,
      type: 'key.rotated',
      subject: agent.agentId,
      data,
    })
    return { apiKey, ...data }
  })

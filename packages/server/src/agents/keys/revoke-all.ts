import type { Mode } from '@pohf/protocol'
import type { Tx } from '../../platform/db/db.ts'
import { publish } from '../../platform/queue/outbox.ts'
import { updateAllKeysRevoked } from '../store.ts'

/** Revokes every key of an agent, also those that were replaced and still work. Returns how many. */
export const revokeAllKeys = async (
  tx: Tx,
  { agentId, mode }: { readonly agentId: string; readonly mode: Mode },
): Promise<number> => {
  const keyIds = await updateAllKeysRevoked(tx, agentId)
  for (const keyId of keyIds)
    await publish(tx, { agentId, mode, type: 'key.revoked', subject: agentId, data: { keyId } })
  return keyIds.length
}

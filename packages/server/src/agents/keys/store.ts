import { now, type Tx } from '../../platform/db/db.ts'
import { keysWithReplacedMax } from '../rules.ts'

/** Whether a key works now. Under the lock of its agent, so that a revocation of all keys is before or after the caller. */
export const isKeyActive = async (tx: Tx, agentId: string, keyId: string): Promise<boolean> => {
  const row = await tx
    .selectFrom('api_keys')
    .select('key_id')
    .where('agent_id', '=', agentId)
    .where('key_id', '=', keyId)
    .where('revoked_at', 'is', null)
    .where((where) => where.or([where('expires_at', 'is', null), where('expires_at', '>', now())]))
    .executeTakeFirst()
  return row !== undefined
}

/** The keys that work now, newest first. */
export const listUsableKeys = async (tx: Tx, agentId: string) =>
  tx
    .selectFrom('api_keys')
    .select(['hint', 'created_at', 'last_used_at', 'expires_at'])
    .where('agent_id', '=', agentId)
    .where('revoked_at', 'is', null)
    .where((where) => where.or([where('expires_at', 'is', null), where('expires_at', '>', now())]))
    .orderBy('key_id', 'desc')
    .limit(keysWithReplacedMax)
    .execute()

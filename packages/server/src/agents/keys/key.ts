import { keyPrefixes, type Mode, type Scope } from '@pohf/protocol'
import type { Tx } from '../../platform/db/db.ts'
import { hashKey, makeKey } from '../../platform/ops/keys.ts'
import type { Agent } from '../../platform/http/call.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { insertKey } from '../store.ts'
import { isKeyActive } from './store.ts'

/**
 * Refuses a key that was revoked after this call was authenticated: a process knows a key for up to two seconds, and a revoked
 * key must not leave another one behind. The caller has locked the agent.
 */
export const requireActiveKey = async (tx: Tx, { agentId, keyId, console }: Agent): Promise<void> => {
  if (!console && !(await isKeyActive(tx, agentId, keyId))) throw new Refusal('invalid_api_key')
}

/** Creates a key of an agent and stores its hash; its text appears only in the response. */
export const addKey = async (
  tx: Tx,
  key: { agentId: string; mode: Mode; cell: string; scopes: readonly Scope[] },
): Promise<{ apiKey: string; keyId: string }> => {
  const apiKey = makeKey(keyPrefixes[key.mode], key.cell)
  const keyId = tx.ids.make('key_')
  await insertKey(tx, {
    agentId: key.agentId,
    keyId,
    hash: hashKey(apiKey),
    hint: apiKey.slice(-4),
    scopes: key.scopes,
  })
  return { apiKey, keyId }
}

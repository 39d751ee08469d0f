import { keyPrefixes, type Mode, type Scope } from '@pohf/protocol'
import type { Tx } from '../../platform/db/db.ts'
import { hashKey, makeKey } from '../../platform/ops/keys.ts'
import { insertKey } from '../store.ts'

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

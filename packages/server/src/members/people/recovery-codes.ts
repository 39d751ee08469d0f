import type { Tx } from '../../platform/db/db.ts'
import { makeRecoveryCode, recoveryCodeHashOf } from '../../platform/ops/tokens.ts'
import { recoveryCodesCount } from '../rules.ts'
import { insertRecoveryCodes } from './store.ts'

/** Creates recovery codes for a lost passkey. Only hashes are stored. */
export const makeRecoveryCodes = async (tx: Tx, personId: string): Promise<string[]> => {
  const codes = Array.from({ length: recoveryCodesCount }, () => makeRecoveryCode(tx.ids))
  const hashes = codes.flatMap((code) => recoveryCodeHashOf(tx.ids, code) ?? [])
  await insertRecoveryCodes(tx, personId, hashes)
  return codes
}

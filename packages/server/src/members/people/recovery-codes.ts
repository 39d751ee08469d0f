import type { Tx } from '../../platform/db/db.ts'
import { hashKey } from '../../platform/ops/keys.ts'
import { normaliseCode, recoveryCodeOf, recoveryCodesCount } from '../rules.ts'
import { insertRecoveryCodes } from './store.ts'

/** Creates recovery codes for a lost passkey. Only hashes are stored. */
export const makeRecoveryCodes = async (tx: Tx, personId: string): Promise<string[]> => {
  const codes = Array.from({ length: recoveryCodesCount }, () =>
    recoveryCodeOf(Buffer.from(tx.ids.token(), 'base64url')),
  )
  await insertRecoveryCodes(
    tx,
    personId,
    codes.map((code) => hashKey(normaliseCode(code))),
  )
  return codes
}

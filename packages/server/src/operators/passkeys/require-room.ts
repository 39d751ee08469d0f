import type { Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { passkeysMax } from '../rules.ts'
import { lockOperator } from '../store.ts'
import { listPasskeys } from './store.ts'

/** The passkeys of an operator who may add another. The lock keeps two calls from passing the limit together. */
export const requireRoom = async (tx: Tx, operatorId: string) => {
  if (!(await lockOperator(tx, operatorId))) throw new Refusal('invalid_api_key')
  const known = await listPasskeys(tx, operatorId)
  if (known.length >= passkeysMax)
    throw new Refusal('forbidden', {
      message: `An operator has at most ${passkeysMax} passkeys. Remove one first.`,
    })
  return known
}

import type { Operator } from '../platform/call.ts'
import type { Ctx } from '../platform/context.ts'
import { inTransaction } from '../platform/db.ts'
import { Refusal } from '../platform/errors.ts'
import { hashKey } from '../platform/keys.ts'
import { isOperatorKey } from './rules.ts'
import { findOperatorByKey } from './store.ts'

export const authenticate = async (ctx: Ctx, keyText: string): Promise<Operator> => {
  if (!isOperatorKey(keyText)) throw new Refusal('malformed_api_key')
  const row = await inTransaction(ctx, 'system', (tx) => findOperatorByKey(tx, hashKey(keyText)))
  if (!row) throw new Refusal('invalid_api_key')
  return { operatorId: row.operator_id, name: row.name }
}

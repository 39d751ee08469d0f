import type { Operator } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import { hashKey } from '../platform/ops/keys.ts'
import { isOperatorKey } from './rules.ts'
import { findOperatorByKey } from './store.ts'

export const authenticate = async (ctx: Ctx, keyText: string): Promise<Operator> => {
  if (!isOperatorKey(keyText)) throw new Refusal('malformed_api_key')
  const row = await inTransaction(ctx, 'system', (tx) => findOperatorByKey(tx, hashKey(keyText)))
  if (!row) throw new Refusal('invalid_api_key')
  return { operatorId: row.operator_id, name: row.name, madeBy: row.made_by ?? undefined }
}

import { keyPrefixes } from '@pohf/protocol'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction } from '../platform/db/db.ts'
import { hashKey, makeKey } from '../platform/ops/keys.ts'
import { insertAudit, insertOperator } from './store.ts'

/** The name of the command line in the audit log. */
const machine = 'machine'

/** Creates an operator and returns the key once. `by` is another operator's id, or `machine` for the command line. */
export const create = async (ctx: Ctx, by: string, name: string) =>
  inTransaction(ctx, 'system', async (tx) => {
    const operatorId = ctx.ids.make('opr_')
    const operatorKey = makeKey(keyPrefixes.operator, ctx.config.CELL)
    const madeBy = by === machine ? null : by
    await insertOperator(tx, { operatorId, name, keyHash: hashKey(operatorKey), madeBy })
    await insertAudit(tx, {
      operatorId: by,
      action: 'operator.create',
      target: operatorId,
      details: { name },
    })
    return { operatorId, name, operatorKey }
  })

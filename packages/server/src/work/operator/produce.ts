import type { Mode } from '@pohf/protocol'
import type { Audit, Operator, StoreResult } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { UnitDeps } from '../deps.ts'
import { createPlatformOrder } from '../orders/platform-order.ts'
import { requireItems, termsOf } from '../orders/create.ts'
import { usdOf } from '../rules.ts'
import { findWorkflow } from '../workflows/store.ts'

export type OperatorDeps = {
  readonly ctx: Ctx
  readonly audit: Audit
  readonly unitDeps: UnitDeps
}
type Input = {
  readonly workflowId: string
  readonly mode: Mode
  readonly quantity: number
  readonly items?: readonly unknown[] | undefined
  readonly instructions?: string | undefined
}

/** Orders units at the operator's cost. Accepted units become stock. */
export const operatorProduce = (
  { ctx, audit, unitDeps }: OperatorDeps,
  operator: Operator,
  input: Input,
  storeResult: StoreResult,
) =>
  inTransaction(ctx, 'system', async (tx) => {
    const { workflowId, mode, quantity, instructions } = input
    const workflow = await findWorkflow(tx, workflowId)
    if (!workflow?.active) throw new Refusal('not_found', { message: 'No such active workflow.' })
    const order = await createPlatformOrder(tx, unitDeps, {
      workflowId,
      terms: termsOf(workflow),
      mode,
      quantity,
      items: requireItems(workflow, input.items, quantity),
      instructions,
      purpose: 'stock',
    })
    const costUsd = usdOf(order.totalUsdCents)
    await audit(tx, {
      operatorId: operator.operatorId,
      action: 'work.produce',
      target: workflowId,
      details: { mode, quantity, orderId: order.orderId, costUsd },
    })
    return storeResult(tx, { orderId: order.orderId, quantity, costUsd })
  })

import type { Operator } from '../../platform/http/call.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { OperatorDeps } from './produce.ts'
import { updateWorkflowRetired } from '../workflows/store.ts'

/** Stops offering a workflow. Existing orders are completed. */
export const operatorWorkflowRetire = (
  { ctx, audit }: OperatorDeps,
  operator: Operator,
  workflowId: string,
) =>
  inTransaction(ctx, 'system', async (tx) => {
    if (!(await updateWorkflowRetired(tx, workflowId)))
      throw new Refusal('not_found', { message: 'No such workflow.' })
    await audit(tx, {
      operatorId: operator.operatorId,
      action: 'workflow.retire',
      target: workflowId,
      details: {},
    })
    return { workflowId, active: false }
  })

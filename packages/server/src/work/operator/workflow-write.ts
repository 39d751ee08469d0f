import type { Operator } from '../../platform/http/call.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { Refusal, type Detail } from '../../platform/http/errors.ts'
import { validateAnswer, normalizeItems } from '../workflows/forms.ts'
import type { OperatorDeps } from './produce.ts'
import { usdCentsOf } from '../rules.ts'
import { upsertWorkflow, type WorkflowTerms } from '../workflows/store.ts'

/** Errors of a workflow: a reward above the price, fields without options, known-answer items that match no form. */
const validateWorkflow = (workflow: WorkflowTerms): Detail[] => {
  const errors: Detail[] = []
  if (usdCentsOf(workflow.priceUsd) < 1n)
    errors.push({ path: 'body.priceUsd', code: 'too_small', message: 'must be at least one cent' })
  if (BigInt(workflow.rewardStars) > usdCentsOf(workflow.priceUsd))
    errors.push({
      path: 'body.rewardStars',
      code: 'too_big',
      message: 'must be at most the price of a unit: a Star is worth one cent',
    })
  for (const [index, field] of workflow.answerForm.entries())
    if ((field.type === 'choice' || field.type === 'many') && field.options === undefined)
      errors.push({ path: `body.answerForm.${index}.options`, code: 'missing', message: 'is required' })
  const names = [...workflow.inputForm, ...workflow.answerForm].length
  const distinctNames =
    new Set(workflow.inputForm.map(({ name }) => name)).size +
    new Set(workflow.answerForm.map(({ name }) => name)).size
  if (names !== distinctNames)
    errors.push({ path: 'body', code: 'twice', message: 'contains a field name twice' })
  for (const [index, item] of workflow.gold.entries()) {
    const input = normalizeItems(workflow.inputForm, [item.input], 1)
    const known = workflow.answerForm.map((field) => ({ ...field, required: false }))
    const itemErrors = [...('errors' in input ? input.errors : []), ...validateAnswer(known, item.answer)]
    errors.push(
      ...itemErrors.map((error) => ({
        ...error,
        path: `body.gold.${index}.${error.path.split('.').at(-1)}`,
      })),
    )
  }
  return errors.slice(0, 20)
}

/** Offers a workflow, or changes what is offered. Orders keep the terms that they were made with. */
export const operatorWorkflowWrite = (
  { ctx, audit }: OperatorDeps,
  operator: Operator,
  { workflowId, ...terms }: Omit<WorkflowTerms, 'id'> & { readonly workflowId: string },
) => {
  const workflow = { id: workflowId, ...terms }
  const details = validateWorkflow(workflow)
  if (details.length > 0) throw new Refusal('validation_failed', { details })
  return inTransaction(ctx, 'system', async (tx) => {
    await upsertWorkflow(tx, workflow)
    await audit(tx, {
      operatorId: operator.operatorId,
      action: 'workflow.write',
      target: workflowId,
      details: { priceUsd: workflow.priceUsd, rewardStars: workflow.rewardStars },
    })
    return { workflowId, active: true }
  })
}

import { sql } from 'kysely'
import type { AnswerForm, InputForm, Workflow } from '@pohf/protocol'
import type { Tx } from '../platform/db/db.ts'
import { usdCentsOf, usdOf } from './rules.ts'

const workflowColumns = [
  'workflow_id',
  'title',
  'description',
  'steps',
  'est_minutes',
  'reward_stars',
  'webcam_bonus',
  'dataset_optin',
  'category',
  'price_usd_cents',
  'input_form',
  'answer_form',
  'gold',
  'active',
] as const
const selectWorkflows = (tx: Tx) => tx.selectFrom('workflows').select(workflowColumns)
type WorkflowRow = Awaited<ReturnType<ReturnType<typeof selectWorkflows>['executeTakeFirstOrThrow']>>

const workflowOf = (row: WorkflowRow) => ({
  id: row.workflow_id,
  title: row.title,
  description: row.description,
  steps: row.steps,
  estMinutes: row.est_minutes,
  rewardStars: row.reward_stars,
  webcamBonus: row.webcam_bonus,
  datasetOptin: row.dataset_optin,
  category: row.category,
  priceUsdCents: row.price_usd_cents,
  priceUsd: usdOf(row.price_usd_cents),
  inputForm: row.input_form as InputForm,
  answerForm: row.answer_form as AnswerForm,
  gold: row.gold as KnownAnswerItem[],
  active: row.active,
})
export type KnownAnswerItem = { readonly input: unknown; readonly answer: unknown }
export type StoredWorkflow = ReturnType<typeof workflowOf>

/** The most that one answer lists. */
const workflowsMax = 1_000

/** What is offered now. */
export const listWorkflows = async (tx: Tx): Promise<Workflow[]> => {
  const rows = await selectWorkflows(tx)
    .where('active', '=', true)
    .orderBy('workflow_id')
    .limit(workflowsMax)
    .execute()
  return rows.map(workflowOf)
}
/** Everything that is or was offered. */
export const listAllWorkflows = async (tx: Tx): Promise<StoredWorkflow[]> =>
  (await selectWorkflows(tx).orderBy('workflow_id').limit(workflowsMax).execute()).map(workflowOf)

export type WorkflowTerms = Workflow & {
  readonly inputForm: InputForm
  readonly answerForm: AnswerForm
  readonly gold: readonly KnownAnswerItem[]
}
export const upsertWorkflow = async (tx: Tx, workflow: WorkflowTerms): Promise<void> => {
  const values = {
    title: workflow.title,
    description: workflow.description,
    steps: workflow.steps,
    est_minutes: workflow.estMinutes,
    reward_stars: workflow.rewardStars,
    webcam_bonus: workflow.webcamBonus,
    dataset_optin: workflow.datasetOptin,
    category: workflow.category,
    price_usd_cents: usdCentsOf(workflow.priceUsd),
    input_form: JSON.stringify(workflow.inputForm),
    answer_form: JSON.stringify(workflow.answerForm),
    gold: JSON.stringify(workflow.gold),
    active: true,
  }
  await tx
    .insertInto('workflows')
    .values({ workflow_id: workflow.id, ...values })
    .onConflict((conflict) => conflict.column('workflow_id').doUpdateSet(values))
    .execute()
}
/** Offers it no more; false where it is unknown. */
export const updateWorkflowRetired = async (tx: Tx, workflowId: string): Promise<boolean> => {
  const { numUpdatedRows } = await tx
    .updateTable('workflows')
    .set({ active: false })
    .where('workflow_id', '=', workflowId)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

export const findWorkflow = async (tx: Tx, workflowId: string): Promise<StoredWorkflow | undefined> => {
  const row = await selectWorkflows(tx).where('workflow_id', '=', workflowId).executeTakeFirst()
  return row && workflowOf(row)
}

/** The workflow of this id, else the cheapest of this category; undefined where the text names neither. */
export const findWorkflowByIdOrCategory = async (
  tx: Tx,
  taskType: string,
): Promise<StoredWorkflow | undefined> => {
  const row = await selectWorkflows(tx)
    .where('active', '=', true)
    .where((where) => where.or([where('workflow_id', '=', taskType), where('category', '=', taskType)]))
    .orderBy(sql`workflow_id = ${taskType}`, 'desc')
    .orderBy('price_usd_cents')
    .orderBy('workflow_id')
    .limit(1)
    .executeTakeFirst()
  return row && workflowOf(row)
}

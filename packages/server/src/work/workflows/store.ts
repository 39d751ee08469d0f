import { sql } from 'kysely'
import type { AnswerForm, InputForm, Mode, Workflow } from '@pohf/protocol'
import type { KnownAnswer } from '../../platform/db/columns.ts'
import type { Tx } from '../../platform/db/db.ts'
import { usdCentsOf, usdOf } from '../rules.ts'
import { unitKeyOf, unitUpdate, type UnitKey, type UnitKeyRow } from '../units/store.ts'

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
  inputForm: row.input_form,
  answerForm: row.answer_form,
  gold: [...row.gold],
  active: row.active,
})
export type StoredWorkflow = ReturnType<typeof workflowOf>

/** The largest list in one response. */
const workflowsMax = 1_000

/** The active workflows. */
export const listWorkflows = async (tx: Tx): Promise<Workflow[]> => {
  const rows = await selectWorkflows(tx)
    .where('active', '=', true)
    .orderBy('workflow_id')
    .limit(workflowsMax)
    .execute()
  return rows.map(workflowOf)
}
/** All workflows, retired ones included. */
export const listAllWorkflows = async (tx: Tx): Promise<StoredWorkflow[]> =>
  (await selectWorkflows(tx).orderBy('workflow_id').limit(workflowsMax).execute()).map(workflowOf)

export type WorkflowTerms = Workflow & {
  readonly inputForm: InputForm
  readonly answerForm: AnswerForm
  readonly gold: readonly KnownAnswer[]
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
/** Retires a workflow; false where it is unknown. */
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

type StockedUnit = UnitKey & { readonly answer: unknown; readonly sessionId: string }
/** Reserves the oldest unit in stock; locked units are skipped. */
export const claimStockUnit = async (
  tx: Tx,
  taskId: string,
  mode: Mode,
): Promise<StockedUnit | undefined> => {
  const { rows } = await sql<UnitKeyRow & { answer: unknown; session_id: string }>`
    with candidate as materialized (
      select agent_id, mode, order_id, n from order_units
      where task_id = ${taskId} and mode = ${mode} and stock = 'shelf'
      order by ended_at limit 1 for update skip locked)
    update order_units unit set stock = 'taken' from candidate
    where unit.agent_id = candidate.agent_id and unit.mode = candidate.mode and unit.order_id = candidate.order_id
      and unit.n = candidate.n
    returning unit.agent_id, unit.mode, unit.order_id, unit.n, unit.answer, unit.session_id`.execute(tx)
  const [row] = rows
  return row && { ...unitKeyOf(row), answer: row.answer, sessionId: row.session_id }
}
/** Returns a reserved unit to stock, or marks it as sold; false where it is not reserved. */
export const updateStock = async (tx: Tx, key: UnitKey, stock: 'shelf' | 'sold'): Promise<boolean> => {
  const { numUpdatedRows } = await unitUpdate(tx, key)
    .set({ stock })
    .where('stock', '=', 'taken')
    .executeTakeFirst()
  return numUpdatedRows === 1n
}
/** The state of a unit in stock, for the error where it is not as expected. */
export const findStockState = async (tx: Tx, key: UnitKey): Promise<string> => {
  const row = await tx
    .selectFrom('order_units')
    .select(['status', 'stock'])
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('order_id', '=', key.orderId)
    .where('n', '=', key.n)
    .executeTakeFirst()
  return row ? `${row.status}, stock ${row.stock ?? 'none'}` : 'not found'
}
export const existsInStock = async (tx: Tx, taskId: string, mode: Mode): Promise<boolean> => {
  const row = await tx
    .selectFrom('order_units')
    .select('n')
    .where('task_id', '=', taskId)
    .where('mode', '=', mode)
    .where('stock', '=', 'shelf')
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}
type StockCount = { readonly taskId: string; readonly mode: Mode; readonly count: number }
/** How many units of each task are in stock. */
export const countStockByTask = async (tx: Tx): Promise<StockCount[]> => {
  const { rows } = await sql<StockCount>`
    select task_id as "taskId", mode, count(*)::int as count from order_units
    where stock = 'shelf' group by task_id, mode`.execute(tx)
  return rows
}

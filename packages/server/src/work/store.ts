import { sql } from 'kysely'
import type { Mode, Workflow } from '@pohf/protocol'
import { now, readNow, type Tx } from '../platform/db.ts'
import { capCentsOf, orderDays, usdOf, type OrderState, type Price } from './rules.ts'

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
] as const

/** The most that one answer lists. */
const workflowsMax = 1_000

/** What is offered now. */
export const listWorkflows = async (tx: Tx): Promise<Workflow[]> => {
  const rows = await tx
    .selectFrom('workflows')
    .select(workflowColumns)
    .where('active', '=', true)
    .orderBy('workflow_id')
    .limit(workflowsMax)
    .execute()
  return rows.map((row) => ({
    id: row.workflow_id,
    title: row.title,
    description: row.description,
    steps: row.steps,
    estMinutes: row.est_minutes,
    rewardStars: row.reward_stars,
    webcamBonus: row.webcam_bonus,
    datasetOptin: row.dataset_optin,
    category: row.category,
    priceUsd: usdOf(row.price_usd_cents),
  }))
}

export const upsertWorkflow = async (tx: Tx, workflow: Workflow): Promise<void> => {
  const values = {
    title: workflow.title,
    description: workflow.description,
    steps: workflow.steps,
    est_minutes: workflow.estMinutes,
    reward_stars: workflow.rewardStars,
    webcam_bonus: workflow.webcamBonus,
    dataset_optin: workflow.datasetOptin,
    category: workflow.category,
    price_usd_cents: capCentsOf(workflow.priceUsd),
    active: true,
  }
  await tx
    .insertInto('workflows')
    .values({ workflow_id: workflow.id, ...values })
    .onConflict((conflict) => conflict.column('workflow_id').doUpdateSet(values))
    .execute()
}

/** The workflow of this id, else the cheapest of this category; undefined where the text names neither. */
export const findWorkflowFor = async (tx: Tx, taskType: string) =>
  tx
    .selectFrom('workflows')
    .select(['workflow_id', 'price_usd_cents'])
    .where('active', '=', true)
    .where((where) => where.or([where('workflow_id', '=', taskType), where('category', '=', taskType)]))
    .orderBy(sql`workflow_id = ${taskType}`, 'desc')
    .orderBy('price_usd_cents')
    .orderBy('workflow_id')
    .limit(1)
    .executeTakeFirst()

export type OrderKey = { readonly agentId: string; readonly mode: Mode; readonly orderId: string }
type NewOrder = Price & {
  readonly taskType: string
  readonly workflowId: string | undefined
  readonly quantity: number
  readonly capUsdCents: bigint | undefined
  readonly items: readonly unknown[] | undefined
  readonly instructions: string | undefined
  readonly callbackRef: string | undefined
}
/** Stores a new order and says when it ends unfunded. */
export const insertOrder = async (tx: Tx, key: OrderKey, order: NewOrder): Promise<Date> => {
  const row = await tx
    .insertInto('orders')
    .values({
      agent_id: key.agentId,
      mode: key.mode,
      order_id: key.orderId,
      task_type: order.taskType,
      workflow_id: order.workflowId ?? null,
      offer: order.offer,
      quantity: order.quantity,
      total_usd_cents: order.totalUsdCents,
      max_price_usd_cents: order.capUsdCents ?? null,
      items: order.items ? JSON.stringify(order.items) : null,
      instructions: order.instructions ?? null,
      callback_ref: order.callbackRef ?? null,
      expires_at: sql<Date>`pohf_now() + make_interval(days => ${orderDays})`,
    })
    .returning('expires_at')
    .executeTakeFirstOrThrow()
  return row.expires_at
}

const orderQuery = (tx: Tx, key: OrderKey) =>
  tx
    .selectFrom('orders')
    .select(['status', 'task_type', 'quantity', 'total_usd_cents'])
    .select(['checkout_id', 'checkout_url', 'checkout_expires_at'])
    .select([
      sql<boolean>`expires_at <= pohf_now()`.as('is_over'),
      sql<boolean>`coalesce(checkout_expires_at > pohf_now(), false)`.as('checkout_is_open'),
    ])
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('order_id', '=', key.orderId)

const orderOf = (row: Awaited<ReturnType<ReturnType<typeof orderQuery>['executeTakeFirst']>>) =>
  row && {
    status: row.status as OrderState,
    taskType: row.task_type,
    quantity: row.quantity,
    totalUsdCents: row.total_usd_cents,
    isOver: row.is_over,
    checkout:
      row.checkout_is_open && row.checkout_url !== null && row.checkout_expires_at !== null
        ? { checkoutUrl: row.checkout_url, expiresAt: row.checkout_expires_at }
        : undefined,
  }

export const findOrder = async (tx: Tx, key: OrderKey) =>
  orderOf(await orderQuery(tx, key).executeTakeFirst())

/** Locks the order, so that two calls cannot open two checkouts. */
export const findOrderForUpdate = async (tx: Tx, key: OrderKey) =>
  orderOf(await orderQuery(tx, key).forUpdate().executeTakeFirst())

export const updateOrderCheckout = async (
  tx: Tx,
  key: OrderKey,
  checkout: { readonly checkoutId: string; readonly checkoutUrl: string; readonly expiresAt: Date },
): Promise<void> => {
  await tx
    .updateTable('orders')
    .set({
      checkout_id: checkout.checkoutId,
      checkout_url: checkout.checkoutUrl,
      checkout_expires_at: checkout.expiresAt,
    })
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('order_id', '=', key.orderId)
    .execute()
}

/** One step of an order; the database refuses those that are not in its table. */
export const updateOrderStatus = async (tx: Tx, key: OrderKey, status: OrderState): Promise<void> => {
  await tx
    .updateTable('orders')
    .set({ status, ...(status === 'funded' ? { funded_at: now() } : {}) })
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('order_id', '=', key.orderId)
    .execute()
}

type TokenKey = { readonly agentId: string; readonly mode: Mode; readonly nonce: string }
/** Uses a token up; false where it was used before. */
export const insertTokenClaim = async (tx: Tx, token: TokenKey, expiresAt: Date): Promise<boolean> => {
  const result = await tx
    .insertInto('task_token_claims')
    .values({ agent_id: token.agentId, mode: token.mode, nonce: token.nonce, expires_at: expiresAt })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return result.numInsertedOrUpdatedRows === 1n
}

/** Forgets tokens that ended an hour ago, a batch at a time, and says how many. */
export const deleteOldTokenClaims = async (tx: Tx): Promise<number> => {
  const { numAffectedRows } = await sql`
    delete from task_token_claims where (agent_id, mode, nonce) in (
      select agent_id, mode, nonce from task_token_claims
      where expires_at < ${now()} - interval '1 hour' order by expires_at limit 1000 for update skip locked)`.execute(
    tx,
  )
  return Number(numAffectedRows ?? 0n)
}

type NewCompletion = {
  readonly agentId: string
  readonly mode: Mode
  readonly completionId: string
  readonly taskId: string
  readonly memberRef: string | undefined
  readonly answer: unknown
  readonly correct: boolean | null
  readonly attended: boolean
  readonly sessionId: string
  readonly verified: boolean
  readonly rewardStars: number
}
export const insertCompletion = async (tx: Tx, completion: NewCompletion): Promise<void> => {
  await tx
    .insertInto('task_completions')
    .values({
      agent_id: completion.agentId,
      completion_id: completion.completionId,
      at: await readNow(tx),
      mode: completion.mode,
      task_id: completion.taskId,
      member_ref: completion.memberRef ?? null,
      answer: completion.answer === undefined ? null : JSON.stringify(completion.answer),
      correct: completion.correct,
      attended: completion.attended,
      session_id: completion.sessionId,
      verified: completion.verified,
      reward_stars: completion.rewardStars,
    })
    .execute()
}

/** Erasure: whose completions they were, and what was answered. */
export const forgetCompletions = async (
  tx: Tx,
  member: { readonly agentId: string; readonly mode: Mode; readonly memberId: string },
): Promise<void> => {
  await tx
    .updateTable('task_completions')
    .set({ member_ref: null, answer: null })
    .where('agent_id', '=', member.agentId)
    .where('mode', '=', member.mode)
    .where('member_ref', '=', member.memberId)
    .execute()
}

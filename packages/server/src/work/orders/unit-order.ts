import type { AnswerForm } from '@pohf/protocol'
import type { Payments } from '../../payments/index.ts'
import type { Agent } from '../../platform/http/call.ts'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { publish } from '../../platform/queue/outbox.ts'
import { claimableUntil } from '../units/rules.ts'
import { requiresReview } from '../reviews/hold.ts'
import { findUnit } from '../units/store.ts'
import type { StoredWorkflow } from '../workflows/store.ts'
import { termsOf } from './create.ts'
import { fundSandbox, openCardCheckout } from './fund.ts'
import { presentUnits, type FindCredentialTokens } from './present.ts'
import { findOrder, insertOrder, listItems, type OrderKey } from './store.ts'

/** One unit of a workflow with an answer form of its own, to be answered by a time. */
export type UnitRequest = {
  readonly workflow: StoredWorkflow
  readonly item: Readonly<Record<string, string>>
  readonly answerForm: AnswerForm
  readonly answerBy: Date
  readonly capUsdCents: bigint
  /** The order stays unfunded: a purchase over HTTP 402 pays it. */
  readonly paidByPurchase: boolean
}

const createUnitOrder = async (tx: Tx, ctx: Ctx, key: OrderKey, request: UnitRequest): Promise<void> => {
  const { workflow, item, answerForm, answerBy, capUsdCents } = request
  const { orderId } = key
  const order = { taskType: workflow.id, quantity: 1 }
  await insertOrder(tx, key, {
    ...order,
    totalUsdCents: workflow.priceUsdCents,
    offer: false,
    workflowId: workflow.id,
    capUsdCents,
    items: [item],
    instructions: undefined,
    callbackRef: undefined,
    terms: { ...termsOf(workflow), answerForm, answerBy: answerBy.toISOString() },
    purpose: 'buyer',
    needsReview: await requiresReview(tx, ctx, key, { itemCount: 1, instructions: undefined, offer: false }),
  })
  const data = { orderId, ...order, status: 'created' }
  await publish(tx, { ...key, type: 'order.created', subject: orderId, data })
}

type UnitOrderDeps = { readonly ctx: Ctx; readonly payments: Payments }
/**
 * Creates and funds an order of one unit. In the sandbox both commit together with what `finish` writes. A live order
 * waits for the payment of its checkout: a call that is lost before `finish` leaves an order that nobody pays. An order
 * that a purchase pays has no checkout.
 */
export const placeUnitOrder = async <T>(
  { ctx, payments }: UnitOrderDeps,
  { agentId, mode }: Agent,
  request: UnitRequest,
  finish: (tx: Tx, key: OrderKey) => Promise<T>,
): Promise<T> => {
  const key = { agentId, mode, orderId: ctx.ids.make('ord_') }
  const { paidByPurchase } = request
  if (mode === 'live' && !paidByPurchase) {
    await inTransaction(ctx, agentId, (tx) => createUnitOrder(tx, ctx, key, request))
    await openCardCheckout({ ctx, payments, tenant: agentId, key })
    return inTransaction(ctx, 'system', (tx) => finish(tx, key))
  }
  return inTransaction(ctx, 'system', async (tx) => {
    await createUnitOrder(tx, ctx, key, request)
    if (!paidByPurchase) await fundSandbox(tx, { payments, key })
    return finish(tx, key)
  })
}

/** An order of one unit with a deadline, and its unit once it is paid; undefined for every other order. */
export const findUnitOrder = async (tx: Tx, findTokens: FindCredentialTokens, key: OrderKey) => {
  const order = await findOrder(tx, key)
  const answerBy = order?.terms?.answerBy
  if (!order || answerBy === undefined) return undefined
  const [input] = (await listItems(tx, key, [0])).values()
  const unit = await findUnit(tx, { ...key, n: 1 })
  const [presented] = unit ? await presentUnits(tx, order, [unit], findTokens) : []
  const openUntil = claimableUntil(answerBy)
  const isCancelledEarly = Boolean(unit?.endedAt && openUntil && unit.endedAt < openUntil)
  return { order, answerBy: new Date(answerBy), input, unit: presented, isCancelledEarly }
}

import type { Mode } from '@pohf/protocol'
import type { Agent, StoreResult } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { publish } from '../../platform/queue/outbox.ts'
import type { BuyerDeps } from '../deps.ts'
import { usdCentsOf, priceOf, rewardWarningsOf, unitUsdOf, usdOf } from '../rules.ts'
import { normalizeItems } from '../workflows/forms.ts'
import { orderTextErrors } from '../workflows/order-texts.ts'
import { requiresReview } from '../reviews/hold.ts'
import { insertOrder } from './store.ts'
import { findWorkflowByIdOrCategory, type StoredWorkflow } from '../workflows/store.ts'
import type { OrderTerms } from '../../platform/db/columns.ts'

type Input = {
  readonly taskType: string
  readonly quantity: number
  readonly maxPriceUsd?: number | undefined
  readonly items?: readonly unknown[] | undefined
  readonly instructions?: string | undefined
  readonly callbackRef?: string | undefined
}

/** The assumed price of an hour of work. */
const referenceUsdPerHour = (ctx: Ctx): number => ctx.config.REFERENCE_USD_PER_HOUR

/** The current terms of a workflow, copied into an order: later changes do not affect it. */
export const termsOf = (workflow: StoredWorkflow): OrderTerms => ({
  title: workflow.title,
  description: workflow.description,
  category: workflow.category,
  steps: workflow.steps,
  estMinutes: workflow.estMinutes,
  rewardStars: workflow.rewardStars,
  inputForm: workflow.inputForm,
  answerForm: workflow.answerForm,
  samples: workflow.gold.map(({ input }) => input),
})

/** The buyer's inputs by the field names of the workflow; refuses invalid ones. */
export const requireItems = (
  workflow: StoredWorkflow | undefined,
  items: readonly unknown[] | undefined,
  quantity: number,
): readonly unknown[] | undefined => {
  if (items === undefined || items.length === 0) return undefined
  const normalized = normalizeItems(workflow?.inputForm ?? [], items, quantity)
  if ('errors' in normalized) throw new Refusal('validation_failed', { details: normalized.errors })
  return normalized.items
}

/** The rules for the texts of a question hold also where it is placed as an order. */
const requireOrderTexts = (workflow: StoredWorkflow | undefined, input: Input): void => {
  const details = orderTextErrors(workflow?.id, input)
  if (details.length > 0) throw new Refusal('validation_failed', { details })
}

/** What an order costs; undefined where its cap does not allow it. */
const findPrice = async (
  tx: Tx,
  ctx: Ctx,
  mode: Mode,
  { taskType, quantity, maxPriceUsd }: Pick<Input, 'taskType' | 'quantity' | 'maxPriceUsd'>,
) => {
  const workflow = await findWorkflowByIdOrCategory(tx, taskType)
  const capUsdCents = maxPriceUsd === undefined ? undefined : usdCentsOf(maxPriceUsd)
  const price = priceOf({
    mode,
    quantity,
    unitUsdCents: workflow?.priceUsdCents,
    capUsdCents,
    referenceUsdPerHour: referenceUsdPerHour(ctx),
  })
  return { workflow, capUsdCents, price }
}

/** What this order would cost in live mode, the stricter one, in whole cents; undefined where it would be refused. */
export const quoteOrder = async (ctx: Ctx, input: Input): Promise<bigint | undefined> =>
  inTransaction(ctx, 'system', async (tx) => (await findPrice(tx, ctx, 'live', input)).price?.totalUsdCents)

/**
 * The part of the answer that only a buyer without a key gets. It is signed before the order exists, so that no order is
 * left that nobody can fund.
 */
const presentKeyless = async ({ keyless, agentId, mode }: Agent, orderId: string) =>
  keyless && {
    orderToken: await keyless.signOrderToken(orderId),
    agent: { agentId, mode, credential: keyless.kind, bodyBound: keyless.bodyBound },
  }

/** Creates an order for a workflow, a category or custom work. Nothing is paid yet. */
export const order = async (
  { ctx, forgingPriceUsd }: BuyerDeps,
  agent: Agent,
  input: Input,
  storeResult: StoreResult,
) => {
  const key = { agentId: agent.agentId, mode: agent.mode, orderId: ctx.ids.make('ord_') }
  const presented = await presentKeyless(agent, key.orderId)
  return inTransaction(ctx, agent.agentId, async (tx) => {
    const { taskType, quantity } = input
    const { workflow, capUsdCents, price } = await findPrice(tx, ctx, agent.mode, input)
    const items = requireItems(workflow, input.items, quantity)
    requireOrderTexts(workflow, input)
    if (!price) throw new Refusal('price_above_max')
    const { instructions } = input
    const content = { itemCount: items?.length ?? 0, instructions, offer: price.offer }
    const needsReview = await requiresReview(tx, ctx, agent, content)
    await agent.keyless?.use(tx, { taskType, quantity, totalUsdCents: price.totalUsdCents })
    const expiresAt = await insertOrder(tx, key, {
      ...price,
      taskType,
      workflowId: workflow?.id,
      quantity,
      capUsdCents,
      items,
      instructions,
      callbackRef: input.callbackRef,
      terms: workflow && termsOf(workflow),
      purpose: 'buyer',
      needsReview,
    })
    const { orderId } = key
    await publish(tx, {
      ...key,
      type: 'order.created',
      subject: orderId,
      data: { orderId, taskType, quantity, status: 'created' },
    })
    return storeResult(tx, {
      orderId,
      status: 'created' as const,
      taskType,
      quantity,
      unitPriceUsd: unitUsdOf(price.totalUsdCents, quantity),
      totalUsd: usdOf(price.totalUsdCents),
      custom: workflow === undefined,
      escrow: { status: 'unfunded' },
      expiresAt: expiresAt.toISOString(),
      fundUrl: `${ctx.config.BASE_URL}/api/agents/order/fund`,
      warnings: rewardWarningsOf(forgingPriceUsd, workflow?.rewardStars),
      ...presented,
    })
  })
}

import type { Agent, StoreResult } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { publish } from '../../platform/queue/outbox.ts'
import type { BuyerDeps } from '../deps.ts'
import { usdCentsOf, priceOf, rewardWarningsOf, unitUsdOf, usdOf } from '../rules.ts'
import { normalizeItems } from '../workflows/forms.ts'
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

/** The assumed price of an hour of work until the index has a value. */
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

/** Creates an order for a workflow, a category or custom work. Nothing is paid yet. */
export const order = async (
  { ctx, forgingPriceUsd }: BuyerDeps,
  agent: Agent,
  input: Input,
  storeResult: StoreResult,
) =>
  inTransaction(ctx, agent.agentId, async (tx) => {
    const { taskType, quantity } = input
    const workflow = await findWorkflowByIdOrCategory(tx, taskType)
    const capUsdCents = input.maxPriceUsd === undefined ? undefined : usdCentsOf(input.maxPriceUsd)
    const price = priceOf({
      mode: agent.mode,
      quantity,
      unitUsdCents: workflow?.priceUsdCents,
      capUsdCents,
      referenceUsdPerHour: referenceUsdPerHour(ctx),
    })
    const items = requireItems(workflow, input.items, quantity)
    if (!price) throw new Refusal('price_above_max')
    const key = { agentId: agent.agentId, mode: agent.mode, orderId: ctx.ids.make('ord_') }
    const expiresAt = await insertOrder(tx, key, {
      ...price,
      taskType,
      workflowId: workflow?.id,
      quantity,
      capUsdCents,
      items,
      instructions: input.instructions,
      callbackRef: input.callbackRef,
      terms: workflow && termsOf(workflow),
      purpose: 'buyer',
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
    })
  })

import type { Agent } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { publish } from '../../platform/queue/outbox.ts'
import { usdCentsOf, priceOf, unitUsdOf, usdOf } from '../rules.ts'
import { normalizeItems } from '../workflows/forms.ts'
import { insertOrder } from './store.ts'
import { findWorkflowByIdOrCategory, type StoredWorkflow } from '../store.ts'
import type { Terms } from '../units/rules.ts'

type Input = {
  readonly taskType: string
  readonly quantity: number
  readonly maxPriceUsd?: number | undefined
  readonly items?: readonly unknown[] | undefined
  readonly instructions?: string | undefined
  readonly callbackRef?: string | undefined
}

/** What an hour of human work is taken to cost until the index has a value. */
const referenceUsdPerHour = (ctx: Ctx): number => ctx.config.REFERENCE_USD_PER_HOUR

/** What people do in a workflow, as it is now: later changes touch no order. */
export const termsOf = (workflow: StoredWorkflow): Terms => ({
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

/** The buyer's inputs, as the form of the workflow names them. */
export const requireItems = (
  workflow: StoredWorkflow | undefined,
  items: readonly unknown[] | undefined,
  quantity: number,
): readonly unknown[] | undefined => {
  if (items === undefined || items.length === 0) return undefined
  const checked = normalizeItems(workflow?.inputForm ?? [], items, quantity)
  if ('faults' in checked) throw new Refusal('validation_failed', { details: checked.faults })
  return checked.items
}

/** Commissions work: of a workflow, of a category, or in the buyer's own words. Nothing is paid yet. */
export const order = async (ctx: Ctx, agent: Agent, input: Input) =>
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
    return {
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
    }
  })

import type { Agent } from '../platform/call.ts'
import type { Ctx } from '../platform/context.ts'
import { inTransaction } from '../platform/db.ts'
import { Refusal } from '../platform/errors.ts'
import { publish } from '../platform/outbox.ts'
import { capCentsOf, priceOf, unitUsdOf, usdOf } from './rules.ts'
import { findWorkflowFor, insertOrder } from './store.ts'

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

/** Commissions work: of a workflow, of a category, or in the buyer's own words. Nothing is paid yet. */
export const order = async (ctx: Ctx, agent: Agent, input: Input) =>
  inTransaction(ctx, agent.agentId, async (tx) => {
    const { taskType, quantity } = input
    const workflow = await findWorkflowFor(tx, taskType)
    const capUsdCents = input.maxPriceUsd === undefined ? undefined : capCentsOf(input.maxPriceUsd)
    const price = priceOf({
      mode: agent.mode,
      quantity,
      unitUsdCents: workflow?.price_usd_cents,
      capUsdCents,
      referenceUsdPerHour: referenceUsdPerHour(ctx),
    })
    if (!price) throw new Refusal('price_above_max')
    const key = { agentId: agent.agentId, mode: agent.mode, orderId: ctx.ids.make('ord_') }
    const expiresAt = await insertOrder(tx, key, {
      ...price,
      taskType,
      workflowId: workflow?.workflow_id,
      quantity,
      capUsdCents,
      items: input.items,
      instructions: input.instructions,
      callbackRef: input.callbackRef,
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

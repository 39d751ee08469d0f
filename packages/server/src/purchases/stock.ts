import type { Mode, Workflow } from '@pohf/protocol'
import {
  countStock,
  findTestWorkflow,
  findWorkflow,
  hasStock,
  isTestWorkflowId,
  listWorkflows,
  markStockUnitSold,
  releaseStockUnit,
  reserveStockUnit,
  usdCentsOf,
} from '../work/index.ts'
import { extensionsFor, networkOf, usdcMicroOf } from '../payments/index.ts'
import { inTransaction, type Tx } from '../platform/db/db.ts'
import type { Agent } from '../platform/http/call.ts'
import { checkAndNarrow } from '../platform/http/refusals.ts'
import type { Ctx } from '../platform/ops/context.ts'
import type { AgentId } from '../platform/ops/ids.ts'
import { purchaseResponseOf } from './answer.ts'
import type { Offer, PurchaseFlow, Product, Stock } from './flow.ts'
import { unitRefusals } from './refusals.ts'
import { modeOf } from './rules.ts'

/** What a test workflow delivers. No unit of stock is used. */
const testSnapshot = { answer: { text: 'Simulated: no person did this work.' }, session: null }

/** The stock of purchases: finished units, and on a test network test workflows, which are always in stock. */
export const stock: Stock = {
  reserve: async (tx, workflowId, mode) => {
    if (mode === 'test' && findTestWorkflow(workflowId)) return { unitRef: null, frozen: testSnapshot }
    const unit = await reserveStockUnit(tx, workflowId, mode)
    return unit && { unitRef: unit.unitRef, frozen: { answer: unit.answer, session: unit.session } }
  },
  release: async (tx, unitRef) => {
    if (unitRef !== null) await releaseStockUnit(tx, unitRef)
  },
  markSold: async (tx, unitRef) => {
    if (unitRef !== null) await markStockUnitSold(tx, unitRef)
  },
}

const workflowPattern = /^wf_[a-z0-9_]{1,64}$/

/** An active workflow with at least one unit in stock. */
const findWorkflowInStock = async (tx: Tx, workflowId: string, mode: Mode): Promise<Workflow | undefined> => {
  // The id comes from the caller unchecked, and PostgreSQL refuses NUL in text.
  const workflow = workflowPattern.test(workflowId) ? await findWorkflow(tx, workflowId) : undefined
  return workflow?.active && (await hasStock(tx, workflowId, mode)) ? workflow : undefined
}

type StockDeps = {
  readonly ctx: Ctx
  readonly purchaseFlow: PurchaseFlow | undefined
  /** The platform agent owns purchases without an API key. */
  readonly platformAgentId: (mode: Mode) => AgentId
}
type TestWorkflow = ReturnType<typeof findTestWorkflow>

const findOffer = async (
  { ctx, purchaseFlow }: StockDeps,
  workflowId: string,
  testWorkflow: TestWorkflow,
): Promise<Offer | undefined> => {
  const isUnknown = !purchaseFlow || isTestWorkflowId(workflowId)
  const workflow =
    testWorkflow || isUnknown
      ? testWorkflow?.workflow
      : await inTransaction(ctx, 'system', (tx) =>
          findWorkflowInStock(tx, workflowId, modeOf(networkOf(ctx.config))),
        )
  return (
    workflow && {
      title: workflow.title,
      amountUsdcMicro: usdcMicroOf(usdCentsOf(workflow.priceUsd)),
      outcome: testWorkflow?.outcome ?? 'settles',
    }
  )
}

/** One unit from stock. A test network sells test work, and no other network does. */
export const makeStockProduct = (deps: StockDeps, workflowId: string, agent: Agent | undefined) => {
  const { ctx, purchaseFlow } = deps
  const network = networkOf(ctx.config)
  const mode = modeOf(network)
  const agentId = agent?.mode === mode ? agent.agentId : deps.platformAgentId(mode)
  const testWorkflow = network.isTest ? findTestWorkflow(workflowId) : undefined
  return {
    workflowId,
    subject: workflowId,
    path: `/api/agent/tasks/${workflowId}/buy`,
    extensions: extensionsFor(workflowId),
    owner: { agentId, mode },
    isSettled: testWorkflow === undefined || testWorkflow.outcome === 'settles',
    isExact: false,
    findOffer: () => findOffer(deps, workflowId, testWorkflow),
    ready: async () => purchaseFlow?.mint.ready(),
    isForgotten: async (purchaseId) =>
      purchaseFlow !== undefined && (await purchaseFlow.mint.isForgotten({ agentId, mode, purchaseId })),
    reserve: async (tx) => {
      const reserved = { unit: await stock.reserve(tx, workflowId, mode) }
      const unit = checkAndNarrow(unitRefusals, reserved, (reservation) => reservation.unit)
      return { ...unit, orderId: null }
    },
    respond: async (purchase, caller) => purchaseResponseOf(ctx.config, purchase, caller),
  } satisfies Product
}

/** How many workflows are in stock. */
export const countPurchasable = async (tx: Tx, mode: Mode): Promise<number> => {
  const stocked = await countStock(tx)
  const offered = (await listWorkflows(tx)).filter(({ id }) => (stocked.get(id)?.[mode] ?? 0) > 0)
  return offered.length + (mode === 'test' ? 1 : 0)
}

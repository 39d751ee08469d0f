import type { Workflow } from '@pohf/protocol'
import {
  challengeHeaders,
  checkPayment,
  networkOf,
  parsePayment,
  requirementOf,
  usdcOf,
  type Payment,
} from '../payments/index.ts'
import { Answer } from '../platform/call.ts'
import type { Ctx } from '../platform/context.ts'
import { Refusal, errorBodyOf } from '../platform/errors.ts'
import { makePurchaseId, purchaseIdFault, type PurchaseTerms } from './purchase-id.ts'
import { capCentsOf } from './rules.ts'
import { findRehearsal } from './test-workflows.ts'

/** The request: which unit, and what its headers and query say about payment. */
type Buying = {
  readonly workflowId: string
  /** X-PAYMENT and PAYMENT-SIGNATURE; either may hold either version. */
  readonly payments: readonly (string | undefined)[]
  /** X-Purchase-Id, and purchase_id in query or body. */
  readonly purchaseIds: readonly (string | undefined)[]
  readonly requestId: string
}

const retryAfterSeconds = '60'

const challenge = (ctx: Ctx, workflow: Workflow, terms: PurchaseTerms, requestId: string) => {
  const at = ctx.clock.now()
  const purchaseId = makePurchaseId(ctx.secrets.derive('purchase'), terms, { id: ctx.ids.make('pur_'), at })
  const quote = {
    network: terms.network,
    amountUsdcMicro: terms.amountUsdcMicro,
    purchaseId,
    resource: `${ctx.config.BASE_URL}/api/agent/tasks/${workflow.id}/buy`,
    description: workflow.title,
  }
  const { error, ...words } = errorBodyOf(new Refusal('payment_required'), requestId, ctx.config.BASE_URL)
  return new Answer(
    { x402Version: 1 as const, error, accepts: [requirementOf(quote)], purchase_id: purchaseId, ...words },
    { status: 402, headers: challengeHeaders(quote) },
  )
}

const readPayment = (headers: readonly (string | undefined)[]): Payment | undefined => {
  const [header, ...more] = headers.filter((text) => text !== undefined)
  if (header === undefined) return undefined
  if (more.length > 0)
    throw new Refusal('payment_malformed', { message: 'Send X-PAYMENT or PAYMENT-SIGNATURE, not both.' })
  const payment = parsePayment(header)
  if (!payment) throw new Refusal('payment_malformed')
  return payment
}

/** The one id that header, query, body and payment name; undefined for a client that sends none. */
const readPurchaseId = (ids: readonly (string | undefined)[]): string | undefined => {
  const [purchaseId, ...others] = new Set(ids.filter((id) => id !== undefined))
  if (others.length > 0)
    throw new Refusal('purchase_conflict', {
      message: 'Header, query, body and payment name different purchases.',
    })
  return purchaseId
}

/**
 * Sells one unit over HTTP 402. A call without payment reads and writes nothing. The process's own clock is
 * enough here: it only bounds quotes, and the chain judges an authorization by its own time.
 */
export const taskBuy = async (ctx: Ctx, buying: Buying) => {
  const network = networkOf(ctx.config)
  const found = network.isTest ? findRehearsal(buying.workflowId) : undefined
  if (!found) throw new Refusal('out_of_stock')
  const { workflow, ending } = found
  const amountUsdcMicro = usdcOf(capCentsOf(workflow.priceUsd))
  const terms = { workflowId: workflow.id, amountUsdcMicro, network }

  const payment = readPayment(buying.payments)
  if (!payment) return challenge(ctx, workflow, terms, buying.requestId)

  const at = ctx.clock.now()
  const purchaseId = readPurchaseId([...buying.purchaseIds, payment.purchaseId])
  const fault =
    (purchaseId === undefined
      ? undefined
      : purchaseIdFault(ctx.secrets.derive('purchase'), terms, { purchaseId, at })) ??
    (await checkPayment(payment, { network, amountUsdcMicro, at }))
  if (fault !== undefined) throw new Refusal('payment_invalid', { message: fault })
  if (ending === 'fails')
    throw new Refusal('payment_invalid', {
      message: 'The payment is good; this task rehearses a settlement that fails. Nothing was charged.',
    })
  throw new Refusal('chain_unreachable', { headers: { 'retry-after': retryAfterSeconds } })
}

import type { Mode, Workflow } from '@pohf/protocol'
import {
  challengeHeaders,
  checkPayment,
  networkOf,
  parsePayment,
  requirementOf,
  usdcMicroOf,
  type Network,
  type Payment,
} from '../payments/index.ts'
import { ApiResponse, type Agent } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction } from '../platform/db/db.ts'
import { Refusal, errorBodyOf } from '../platform/http/errors.ts'
import { usdCentsOf, findTestWorkflow, isTestWorkflowId } from '../work/index.ts'
import { makePurchaseId, purchaseIdError, type PurchaseTerms } from './id.ts'
import { purchaseResponseOf, pendingResponse, type PurchaseCaller } from './answer.ts'
import { matchesSecretHash, publicIdOf } from './rules.ts'
import type { PurchaseFlow } from './flow.ts'
import type { Purchase } from './store.ts'
import { findWorkflowInStock } from './stock.ts'

/** The workflow to buy, and what headers, query and body say about payment. */
export type BuyRequest = {
  readonly workflowId: string
  /** X-PAYMENT and PAYMENT-SIGNATURE; either may hold either version. */
  readonly payments: Readonly<Record<PurchaseCaller['header'], string | undefined>>
  /** X-Purchase-Id, and purchase_id in query or body. */
  readonly purchaseIds: readonly (string | undefined)[]
  readonly agent: Agent | undefined
  readonly requestId: string
}
export type BuyDeps = {
  readonly ctx: Ctx
  /** Undefined where nothing settles: no chain, or nobody to pay the gas. */
  readonly purchaseFlow: PurchaseFlow | undefined
  /** The platform agent owns purchases without an API key. */
  readonly platformAgentId: (mode: Mode) => `agt_${string}`
}

const retryAfterSeconds = '60'

const challenge = (ctx: Ctx, workflow: Workflow, terms: PurchaseTerms, requestId: string) => {
  const purchaseId = newPurchaseId(ctx, terms)
  const quote = {
    network: terms.network,
    amountUsdcMicro: terms.amountUsdcMicro,
    purchaseId,
    resource: `${ctx.config.BASE_URL}/api/agent/tasks/${workflow.id}/buy`,
    description: workflow.title,
  }
  const { error, ...errorBody } = errorBodyOf(new Refusal('payment_required'), requestId, ctx.config.BASE_URL)
  return new ApiResponse(
    {
      x402Version: 1 as const,
      error,
      accepts: [requirementOf(quote)],
      purchase_id: purchaseId,
      ...errorBody,
    },
    { status: 402, headers: challengeHeaders(quote) },
  )
}

const newPurchaseId = (ctx: Ctx, terms: PurchaseTerms): string =>
  makePurchaseId(ctx.secrets.derive('purchase'), terms, { id: ctx.ids.make('pur_'), at: ctx.clock.now() })

type ReceivedPayment = { readonly payment: Payment; readonly header: PurchaseCaller['header'] }
const readPayment = (payments: BuyRequest['payments']): ReceivedPayment | undefined => {
  const { 'x-payment': first, 'payment-signature': second } = payments
  if (first !== undefined && second !== undefined)
    throw new Refusal('payment_malformed', { message: 'Send X-PAYMENT or PAYMENT-SIGNATURE, not both.' })
  const text = first ?? second
  if (text === undefined) return undefined
  const payment = parsePayment(text)
  if (!payment) throw new Refusal('payment_malformed')
  return { payment, header: first === undefined ? 'payment-signature' : 'x-payment' }
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

/** Whether the caller may receive the delivery; refuses one that names another purchase or task. */
const mayReceiveDelivery = (
  purchase: Purchase,
  request: BuyRequest,
  requestedPurchaseId: string | undefined,
): boolean => {
  if (purchase.workflowId !== request.workflowId)
    throw new Refusal('purchase_conflict', { message: 'The payment was for another task.' })
  if (requestedPurchaseId !== undefined) {
    if (!matchesSecretHash(requestedPurchaseId, purchase.secretHash)) throw new Refusal('purchase_conflict')
    // Anybody who saw the payment in a block before us could get a purchase id for it.
    return !purchase.needsWallet
  }
  if (purchase.needsWallet) return false
  return request.agent?.agentId === purchase.agentId && request.agent.mode === purchase.mode
}

/** A workflow that can be bought now. A test workflow needs no stock, and fixes the outcome of its settlement. */
type Offer = { readonly workflow: Workflow; readonly outcome: 'settles' | 'times_out' | 'fails' }
const findOffer = async (deps: BuyDeps, network: Network, workflowId: string): Promise<Offer> => {
  const testWorkflow = network.isTest ? findTestWorkflow(workflowId) : undefined
  if (testWorkflow) return testWorkflow
  const workflow =
    deps.purchaseFlow && !isTestWorkflowId(workflowId)
      ? await inTransaction(deps.ctx, 'system', (tx) => findWorkflowInStock(tx, workflowId, modeOf(network)))
      : undefined
  if (!workflow) throw new Refusal('out_of_stock')
  return { workflow, outcome: 'settles' }
}

/** A test network sells test work, and no other network does. */
const modeOf = (network: Network): Mode => (network.isTest ? 'test' : 'live')

const termsOf = ({ workflow }: Offer, network: Network): PurchaseTerms => ({
  workflowId: workflow.id,
  amountUsdcMicro: usdcMicroOf(usdCentsOf(workflow.priceUsd)),
  network,
})

const paymentRefusal = (message: string) => new Refusal('payment_invalid', { message })

/**
 * Validates a payment that is new to us against the current offer. The clock of the process is enough here: it only
 * bounds quotes, and the chain checks the validity of an authorization by its own time.
 */
const validatePurchase = async (
  deps: BuyDeps,
  request: BuyRequest,
  receivedPayment: ReceivedPayment,
  requestedPurchaseId: string | undefined,
) => {
  const { ctx, purchaseFlow } = deps
  const network = networkOf(ctx.config)
  const offer = await findOffer(deps, network, request.workflowId)
  const terms = termsOf(offer, network)
  const at = ctx.clock.now()
  const purchaseId = requestedPurchaseId ?? newPurchaseId(ctx, terms)
  const idError = purchaseIdError(ctx.secrets.derive('purchase'), terms, { purchaseId, at })
  if (idError !== undefined) throw paymentRefusal(idError)
  const checked = await checkPayment(receivedPayment.payment, {
    network,
    amountUsdcMicro: terms.amountUsdcMicro,
    at,
    acceptsContractWallets: purchaseFlow !== undefined,
  })
  if (checked.fault !== undefined) throw paymentRefusal(checked.fault)
  const mode = modeOf(network)
  const agentId = request.agent?.mode === mode ? request.agent.agentId : deps.platformAgentId(mode)
  const { outcome } = offer
  return { outcome, workflowId: terms.workflowId, purchaseId, payment: checked.signed, agentId, mode }
}

/** The response to a payment that no chain settles: test workflows that fail, and every payment without a chain. */
const respondUnsettled = async (
  deps: BuyDeps,
  request: BuyRequest,
  receivedPayment: ReceivedPayment,
  requestedPurchaseId: string | undefined,
) => {
  const { outcome, workflowId, purchaseId } = await validatePurchase(
    deps,
    request,
    receivedPayment,
    requestedPurchaseId,
  )
  if (outcome === 'fails')
    throw paymentRefusal(
      'The payment is good; this task rehearses a settlement that fails. Nothing was charged.',
    )
  if (outcome === 'settles')
    throw new Refusal('chain_unreachable', { headers: { 'retry-after': retryAfterSeconds } })
  const caller = {
    isBuyer: true,
    purchaseId,
    header: receivedPayment.header,
    network: receivedPayment.payment.network,
  }
  return pendingResponse(
    deps.ctx.config,
    { purchaseId: publicIdOf(purchaseId), workflowId, state: 'uncertain' },
    caller,
  )
}

/** Sells one unit over HTTP 402. A call without payment writes nothing, and one for a test workflow reads nothing. */
export const taskBuy = async (deps: BuyDeps, request: BuyRequest) => {
  const { ctx, purchaseFlow } = deps
  const network = networkOf(ctx.config)
  const receivedPayment = readPayment(request.payments)
  if (!receivedPayment) {
    const offer = await findOffer(deps, network, request.workflowId)
    return challenge(ctx, offer.workflow, termsOf(offer, network), request.requestId)
  }
  const { payment, header } = receivedPayment
  const requestedPurchaseId = readPurchaseId([...request.purchaseIds, payment.purchaseId])
  const testWorkflow = network.isTest ? findTestWorkflow(request.workflowId) : undefined
  if (!purchaseFlow || (testWorkflow && testWorkflow.outcome !== 'settles'))
    return respondUnsettled(deps, request, receivedPayment, requestedPurchaseId)

  let purchaseId = requestedPurchaseId
  const { purchase, sentByBuyer } = await purchaseFlow.buy(payment, async () => {
    const purchaseRequest = await validatePurchase(deps, request, receivedPayment, requestedPurchaseId)
    purchaseId = purchaseRequest.purchaseId
    return purchaseRequest
  })
  const isBuyer = mayReceiveDelivery(purchase, request, requestedPurchaseId) || sentByBuyer
  const isWholeId = purchaseId !== undefined && matchesSecretHash(purchaseId, purchase.secretHash)
  return purchaseResponseOf(ctx.config, purchase, {
    isBuyer,
    purchaseId: isBuyer && isWholeId ? purchaseId : undefined,
    header,
    network: payment.network,
  })
}

import type { Mode, Workflow } from '@pohf/protocol'
import {
  challengeHeaders,
  checkPayment,
  networkOf,
  parsePayment,
  requirementOf,
  usdcOf,
  type Network,
  type Payment,
} from '../payments/index.ts'
import { Answer, type Agent } from '../platform/call.ts'
import type { Ctx } from '../platform/context.ts'
import { inTransaction } from '../platform/db.ts'
import { Refusal, errorBodyOf } from '../platform/errors.ts'
import { makePurchaseId, purchaseIdFault, type PurchaseTerms } from './purchase-id.ts'
import { answerOf, pendingAnswer, type Asker } from './purchase/answer.ts'
import { isSecretOf, publicIdOf } from './purchase/rules.ts'
import type { Shop } from './purchase/shop.ts'
import type { Purchase } from './purchase/store.ts'
import { capCentsOf } from './rules.ts'
import { findInStock } from './stock.ts'
import { findRehearsal } from './test-workflows.ts'

/** The request: which unit, and what its headers and query say about payment. */
export type Buying = {
  readonly workflowId: string
  /** X-PAYMENT and PAYMENT-SIGNATURE; either may hold either version. */
  readonly payments: Readonly<Record<Asker['header'], string | undefined>>
  /** X-Purchase-Id, and purchase_id in query or body. */
  readonly purchaseIds: readonly (string | undefined)[]
  readonly agent: Agent | undefined
  readonly requestId: string
}
export type BuyDeps = {
  readonly ctx: Ctx
  /** Undefined where nothing settles: no chain, or nobody to pay the gas. */
  readonly shop: Shop | undefined
  /** The agent that stands for the operator: it owns purchases without a key. */
  readonly houseAgentId: (mode: Mode) => `agt_${string}`
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
  const { error, ...words } = errorBodyOf(new Refusal('payment_required'), requestId, ctx.config.BASE_URL)
  return new Answer(
    { x402Version: 1 as const, error, accepts: [requirementOf(quote)], purchase_id: purchaseId, ...words },
    { status: 402, headers: challengeHeaders(quote) },
  )
}

const newPurchaseId = (ctx: Ctx, terms: PurchaseTerms): string =>
  makePurchaseId(ctx.secrets.derive('purchase'), terms, { id: ctx.ids.make('pur_'), at: ctx.clock.now() })

type Paying = { readonly payment: Payment; readonly header: Asker['header'] }
const readPayment = (payments: Buying['payments']): Paying | undefined => {
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

/** Whether a caller may be given what a purchase delivered; refuses one who names another purchase or task. */
const isProven = (purchase: Purchase, buying: Buying, given: string | undefined): boolean => {
  if (purchase.workflowId !== buying.workflowId)
    throw new Refusal('purchase_conflict', { message: 'The payment was for another task.' })
  if (given !== undefined) {
    if (isSecretOf(given, purchase.secretHash)) return true
    throw new Refusal('purchase_conflict')
  }
  return buying.agent?.agentId === purchase.agentId && buying.agent.mode === purchase.mode
}

/** What is on sale under this id here; undefined where nothing is. */
const findOffer = async (
  ctx: Ctx,
  network: Network,
  workflowId: string,
): Promise<ReturnType<typeof findRehearsal>> => {
  const rehearsal = network.isTest ? findRehearsal(workflowId) : undefined
  if (rehearsal) return rehearsal
  // A text that is no id costs no read, and a network with real money sells no rehearsal.
  if (!/^wf_(?!test_)[a-z0-9_]{1,64}$/.test(workflowId)) return undefined
  const workflow = await inTransaction(ctx, 'system', (tx) =>
    findInStock(tx, workflowId, network.isTest ? 'test' : 'live'),
  )
  return workflow && { workflow, ending: 'settles' }
}

/**
 * Sells one unit over HTTP 402. A call without payment writes nothing. The process's own clock is enough here: it only
 * bounds quotes, and the chain judges an authorization by its own time.
 */
export const taskBuy = async (deps: BuyDeps, buying: Buying) => {
  const { ctx, shop } = deps
  const network = networkOf(ctx.config)
  const offer = await findOffer(ctx, network, buying.workflowId)
  if (!offer) throw new Refusal('out_of_stock')
  const { workflow, ending } = offer
  const amountUsdcMicro = usdcOf(capCentsOf(workflow.priceUsd))
  const terms = { workflowId: workflow.id, amountUsdcMicro, network }

  const paying = readPayment(buying.payments)
  if (!paying) return challenge(ctx, workflow, terms, buying.requestId)

  const { payment, header } = paying
  const at = ctx.clock.now()
  const given = readPurchaseId([...buying.purchaseIds, payment.purchaseId])
  const purchaseId = given ?? newPurchaseId(ctx, terms)
  const checked = await checkPayment(payment, {
    network,
    amountUsdcMicro,
    at,
    asksContracts: shop !== undefined,
  })
  const fault = purchaseIdFault(ctx.secrets.derive('purchase'), terms, { purchaseId, at }) ?? checked.fault
  const refuse = (message: string) => new Refusal('payment_invalid', { message })
  if (ending !== 'settles' || !shop) {
    if (fault !== undefined) throw refuse(fault)
    if (ending === 'fails')
      throw refuse('The payment is good; this task rehearses a settlement that fails. Nothing was charged.')
    const asker = { proven: true, purchaseId, header, network: payment.network }
    if (ending === 'times_out')
      return pendingAnswer(
        ctx.config,
        { purchaseId: publicIdOf(purchaseId), workflowId: workflow.id, state: 'uncertain' },
        asker,
      )
    throw new Refusal('chain_unreachable', { headers: { 'retry-after': retryAfterSeconds } })
  }

  const mode: Mode = network.isTest ? 'test' : 'live'
  const agentId = buying.agent?.mode === mode ? buying.agent.agentId : deps.houseAgentId(mode)
  const { purchase, trusted } = await shop.buy(payment, async () => {
    if (checked.fault !== undefined || fault !== undefined) throw refuse(fault ?? '')
    return { workflowId: workflow.id, purchaseId, payment: checked.signed, agentId, mode }
  })
  const proven = isProven(purchase, buying, given) || trusted
  const known = proven && isSecretOf(purchaseId, purchase.secretHash) ? purchaseId : undefined
  return answerOf(ctx.config, purchase, { proven, purchaseId: known, header, network: payment.network })
}

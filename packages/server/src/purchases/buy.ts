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
import { Answer, type Agent } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction } from '../platform/db/db.ts'
import { Refusal, errorBodyOf } from '../platform/http/errors.ts'
import { capCentsOf, findRehearsal, isRehearsalId } from '../work/index.ts'
import { makePurchaseId, purchaseIdFault, type PurchaseTerms } from './id.ts'
import { answerOf, pendingAnswer, type Asker } from './answer.ts'
import { isSecretOf, publicIdOf } from './rules.ts'
import type { Shop } from './flow.ts'
import type { Purchase } from './store.ts'
import { findInStock } from './stock.ts'

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
    if (!isSecretOf(given, purchase.secretHash)) throw new Refusal('purchase_conflict')
    // Whoever saw the payment in a block before us could take out an id for it.
    return !purchase.needsWallet
  }
  if (purchase.needsWallet) return false
  return buying.agent?.agentId === purchase.agentId && buying.agent.mode === purchase.mode
}

/** A workflow that can be bought here now. A rehearsal needs no look at the shelf, and says how it ends. */
type Offer = { readonly workflow: Workflow; readonly ending: 'settles' | 'times_out' | 'fails' }
const findOffer = async (deps: BuyDeps, network: Network, workflowId: string): Promise<Offer> => {
  const rehearsal = network.isTest ? findRehearsal(workflowId) : undefined
  if (rehearsal) return rehearsal
  const workflow =
    deps.shop && !isRehearsalId(workflowId)
      ? await inTransaction(deps.ctx, 'system', (tx) => findInStock(tx, workflowId, modeOf(network)))
      : undefined
  if (!workflow) throw new Refusal('out_of_stock')
  return { workflow, ending: 'settles' }
}

/** A test network sells test work, and nothing else does. */
const modeOf = (network: Network): Mode => (network.isTest ? 'test' : 'live')

const termsOf = ({ workflow }: Offer, network: Network): PurchaseTerms => ({
  workflowId: workflow.id,
  amountUsdcMicro: usdcOf(capCentsOf(workflow.priceUsd)),
  network,
})

const refuse = (message: string) => new Refusal('payment_invalid', { message })

/**
 * Checks a payment that nobody has shown before, against what is on sale now. The process's own clock is enough here: it
 * only bounds quotes, and the chain judges an authorization by its own time.
 */
const order = async (deps: BuyDeps, buying: Buying, paying: Paying, given: string | undefined) => {
  const { ctx, shop } = deps
  const network = networkOf(ctx.config)
  const offer = await findOffer(deps, network, buying.workflowId)
  const terms = termsOf(offer, network)
  const at = ctx.clock.now()
  const purchaseId = given ?? newPurchaseId(ctx, terms)
  const fault = purchaseIdFault(ctx.secrets.derive('purchase'), terms, { purchaseId, at })
  if (fault !== undefined) throw refuse(fault)
  const checked = await checkPayment(paying.payment, {
    network,
    amountUsdcMicro: terms.amountUsdcMicro,
    at,
    asksContracts: shop !== undefined,
  })
  if (checked.fault !== undefined) throw refuse(checked.fault)
  const mode = modeOf(network)
  const agentId = buying.agent?.mode === mode ? buying.agent.agentId : deps.houseAgentId(mode)
  const { ending } = offer
  return { ending, workflowId: terms.workflowId, purchaseId, payment: checked.signed, agentId, mode }
}

/** What a payment is answered that no chain settles: rehearsals of a bad end, and all where there is no chain. */
const answerUnsettled = async (deps: BuyDeps, buying: Buying, paying: Paying, given: string | undefined) => {
  const { ending, workflowId, purchaseId } = await order(deps, buying, paying, given)
  if (ending === 'fails')
    throw refuse('The payment is good; this task rehearses a settlement that fails. Nothing was charged.')
  if (ending === 'settles')
    throw new Refusal('chain_unreachable', { headers: { 'retry-after': retryAfterSeconds } })
  const asker = { proven: true, purchaseId, header: paying.header, network: paying.payment.network }
  return pendingAnswer(
    deps.ctx.config,
    { purchaseId: publicIdOf(purchaseId), workflowId, state: 'uncertain' },
    asker,
  )
}

/** Sells one unit over HTTP 402. A call without payment writes nothing, and a rehearsal does not even read. */
export const taskBuy = async (deps: BuyDeps, buying: Buying) => {
  const { ctx, shop } = deps
  const network = networkOf(ctx.config)
  const paying = readPayment(buying.payments)
  if (!paying) {
    const offer = await findOffer(deps, network, buying.workflowId)
    return challenge(ctx, offer.workflow, termsOf(offer, network), buying.requestId)
  }
  const { payment, header } = paying
  const given = readPurchaseId([...buying.purchaseIds, payment.purchaseId])
  const rehearsal = network.isTest ? findRehearsal(buying.workflowId) : undefined
  if (!shop || (rehearsal && rehearsal.ending !== 'settles'))
    return answerUnsettled(deps, buying, paying, given)

  let purchaseId = given
  const { purchase, trusted } = await shop.buy(payment, async () => {
    const wanted = await order(deps, buying, paying, given)
    purchaseId = wanted.purchaseId
    return wanted
  })
  const proven = isProven(purchase, buying, given) || trusted
  const isIts = purchaseId !== undefined && isSecretOf(purchaseId, purchase.secretHash)
  return answerOf(ctx.config, purchase, {
    proven,
    purchaseId: proven && isIts ? purchaseId : undefined,
    header,
    network: payment.network,
  })
}

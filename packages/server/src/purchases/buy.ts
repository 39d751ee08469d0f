import { setImmediate } from 'node:timers/promises'
import {
  checkSignature,
  networkOf,
  parsePayment,
  paymentTermsFault,
  withIdentifier,
  type Network,
  type Payment,
  type SignedPayment,
  type SimulationResult,
  type StoreIdentifier,
} from '../payments/index.ts'
import { inTransaction, type Tx } from '../platform/db/db.ts'
import type { Agent, Call } from '../platform/http/call.ts'
import { Refusal } from '../platform/http/errors.ts'
import { checkAndNarrow, checkRefusals, refusalOrThrow } from '../platform/http/refusals.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { challengeResponse, pendingResponse } from './answer.ts'
import type {
  Offer,
  PaymentInFlight,
  PurchaseCaller,
  PurchaseFlow,
  PurchaseOutcome,
  Product,
} from './flow.ts'
import { makePurchaseId, purchaseIdError, type PurchaseTerms } from './id.ts'
import { awaitOutcome, findPurchaseByPayment } from './known-payment.ts'
import * as refusals from './refusals.ts'
import { derivedNonceOf, matchesSecretHash, publicIdOf, secretHashOf } from './rules.ts'
import { applySettlementStatus, presignCredential } from './settle.ts'
import { insertPurchase, type Purchase } from './store.ts'

// The purchase over HTTP 402, from top to bottom: request, challenge, authorize, settle, deliver. `payFor` connects the
// steps, which follow in their order. Each gathers facts and then runs its list of `refusals.ts`.

export type BuyDeps = {
  readonly ctx: Ctx
  /** Undefined where nothing settles: no chain, or nobody to pay the gas. */
  readonly purchaseFlow: PurchaseFlow | undefined
}

/** Takes one payment over HTTP 402, for a unit from stock or for a question. */
export const payFor = async <Response>(deps: BuyDeps, request: BuyRequest<Response>) => {
  const { purchaseFlow } = deps
  const received = readRequest(request)
  checkRefusals(refusals.requestRefusals, received)
  const [sent] = received.sentPayments
  if (!sent?.payment) return challenge(deps, request)
  const { header, payment } = sent
  const attempt = { request, payment, header, requestedPurchaseId: received.purchaseIds[0] }
  if (!purchaseFlow || !request.product.isSettled) return respondUnsettled(deps, attempt)
  return deliver(request.product, attempt, await settleOnce(deps, purchaseFlow, attempt))
}

// 1. Request: which payment and which purchase id the caller sent.

/** What to pay for, and what headers, query and body say about payment. */
export type BuyRequest<Response = unknown> = {
  readonly product: Product<Response>
  /** X-PAYMENT and PAYMENT-SIGNATURE; either may hold either version. */
  readonly payments: Readonly<Record<PurchaseCaller['header'], string | undefined>>
  /** X-Purchase-Id, and purchase_id in query or body. */
  readonly purchaseIds: readonly (string | undefined)[]
  readonly agent: Agent | undefined
  /** The client address. Undefined for an endpoint that requires an API key: its calls are limited by the key. */
  readonly address?: Call<'purchases.buy'>['address'] | undefined
  readonly requestId: string
}

const paymentHeaders = ['x-payment', 'payment-signature'] as const

const readRequest = ({ payments, purchaseIds }: BuyRequest): refusals.ReceivedRequest => {
  const sentPayments = paymentHeaders.flatMap((header) => {
    const text = payments[header]
    return text === undefined ? [] : [{ header, payment: parsePayment(text) }]
  })
  const sentIds = [...purchaseIds, ...sentPayments.map(({ payment }) => payment?.purchaseId)]
  return { sentPayments, purchaseIds: [...new Set(sentIds.filter((id) => id !== undefined))] }
}

// 2. Challenge: the terms, for a call without payment. It writes nothing, and for a test workflow it reads nothing.

const requireOffer = async (product: Product): Promise<Offer> =>
  checkAndNarrow(refusals.offerRefusals, { offer: await product.findOffer() }, ({ offer }) => offer)

const termsOf = ({ subject }: Product, { amountUsdcMicro }: Offer, network: Network): PurchaseTerms => ({
  subject,
  amountUsdcMicro,
  network,
})
const makeWholePurchaseId = (ctx: Ctx, terms: PurchaseTerms): string =>
  makePurchaseId(ctx.secrets.accepted('purchase'), terms, { id: ctx.ids.make('pur_'), at: ctx.clock.now() })

const challenge = async ({ ctx }: BuyDeps, { product, requestId }: BuyRequest) => {
  const offer = await requireOffer(product)
  const terms = termsOf(product, offer, networkOf(ctx.config))
  const purchaseId = makeWholePurchaseId(ctx, terms)
  return challengeResponse(ctx.config, { product, title: offer.title, terms, purchaseId, requestId })
}

// 3. Authorize: a payment that is new to us must match the current offer.

type PaymentAttempt = {
  readonly request: BuyRequest
  readonly payment: Payment
  readonly header: PurchaseCaller['header']
  readonly requestedPurchaseId: string | undefined
}
type AuthorizedPurchase = {
  readonly outcome: Offer['outcome']
  readonly product: Product
  /** The whole id: the one that was quoted, or one made for a client that sent none. */
  readonly wholePurchaseId: string
  readonly payment: SignedPayment
  readonly address: BuyRequest['address']
}

/**
 * Checks a payment against the current offer. The clock of the process is enough here: it only bounds quotes, and the
 * chain checks the validity of an authorization by its own time.
 */
const authorize = async (deps: BuyDeps, attempt: PaymentAttempt): Promise<AuthorizedPurchase> => {
  const { ctx } = deps
  const { payment, requestedPurchaseId } = attempt
  const { product, address } = attempt.request
  const network = networkOf(ctx.config)
  const offer = await requireOffer(product)
  const terms = termsOf(product, offer, network)
  const at = ctx.clock.now()
  const wholePurchaseId = requestedPurchaseId ?? makeWholePurchaseId(ctx, terms)
  checkRefusals(refusals.quoteRefusals, {
    idError: purchaseIdError(ctx.secrets.accepted('purchase'), terms, { purchaseId: wholePurchaseId, at }),
    termsFault: paymentTermsFault(payment, { network, amountUsdcMicro: terms.amountUsdcMicro, at }),
  })
  const isOverpaid = product.isExact && payment.authorization.value > terms.amountUsdcMicro
  checkRefusals(refusals.exactAmountRefusals, { isOverpaid })
  // Last: it takes about 4 ms.
  const checked = await checkSignature(payment, {
    network,
    acceptsContractWallets: deps.purchaseFlow !== undefined,
  })
  const signed = checkAndNarrow(refusals.signatureRefusals, checked, (result) =>
    result.fault === undefined ? result.signed : undefined,
  )
  return { outcome: offer.outcome, product, wholePurchaseId, payment: signed, address }
}

// 4. Settle: each payment once, on the chain. Without a chain nothing is settled, and some test workflows are never settled.

/** The response to a payment that no chain settles: pending, for the test workflow whose settlement times out. */
const respondUnsettled = async (deps: BuyDeps, attempt: PaymentAttempt) => {
  const { outcome, product, wholePurchaseId } = await authorize(deps, attempt)
  checkRefusals(refusals.unsettledRefusals, { outcome })
  return pendingResponse(
    deps.ctx.config,
    { purchaseId: publicIdOf(wholePurchaseId), workflowId: product.workflowId, state: 'uncertain' },
    {
      isBuyer: true,
      purchaseId: wholePurchaseId,
      header: attempt.header,
      network: attempt.payment.network,
    },
  )
}

/** Settles a payment once: copies that arrive while the first is in flight wait for its outcome. */
const settleOnce = async (deps: BuyDeps, flow: PurchaseFlow, attempt: PaymentAttempt) => {
  const { authorization, signature } = attempt.payment
  const paymentKey = `${authorization.from} ${authorization.nonce} ${signature}`
  const first = flow.paymentsInFlight.get(paymentKey)
  const current: PaymentInFlight = first ?? {
    outcome: settleInFlight(deps, flow, attempt, paymentKey),
    isSubmitted: false,
  }
  // No await since the lookup above: two copies never both start.
  if (!first) flow.paymentsInFlight.set(paymentKey, current)
  const arrivedBeforeSubmit = !current.isSubmitted
  const { purchase, isNew, wholePurchaseId } = await current.outcome
  return {
    purchase,
    // Only the payer can have sent the payment before its signature was public.
    sentByBuyer: isNew && arrivedBeforeSubmit,
    wholePurchaseId: first ? undefined : wholePurchaseId,
  }
}

const settleInFlight = async (
  deps: BuyDeps,
  flow: PurchaseFlow,
  attempt: PaymentAttempt,
  paymentKey: string,
): Promise<PurchaseOutcome> => {
  try {
    return await settle(deps, flow, attempt, paymentKey)
  } finally {
    flow.paymentsInFlight.delete(paymentKey)
  }
}

const outcomeOfKnown = async (flow: PurchaseFlow, known: Purchase): Promise<PurchaseOutcome> => ({
  purchase: await awaitOutcome(flow, known),
  isNew: false,
  wholePurchaseId: undefined,
})

const settle = async (
  deps: BuyDeps,
  flow: PurchaseFlow,
  attempt: PaymentAttempt,
  paymentKey: string,
): Promise<PurchaseOutcome> => {
  const { ctx } = deps
  const lookup = findPurchaseByPayment(flow, attempt.payment)
  const authorizing = authorizeNextTurn(deps, attempt)
  // A payment that is already known gets its result, whatever its authorization says now.
  authorizing.catch(() => undefined)
  const known = await lookup
  if (known) return outcomeOfKnown(flow, known)
  const authorized = await authorizing.catch(refusalOrThrow)
  if (authorized instanceof Refusal) {
    // Another process may have claimed the payment since the lookup, and the offer was refused because of it.
    const claimed = await findPurchaseByPayment(flow, attempt.payment)
    if (!claimed) throw authorized
    return outcomeOfKnown(flow, claimed)
  }
  const identified = { payment: attempt.payment, subject: attempt.request.product.subject }
  return withIdentifier(ctx, identified, (storeIdentifier) =>
    settleNew(flow, authorized, { paymentKey, storeIdentifier }),
  )
}

type NewSettlement = { readonly paymentKey: string; readonly storeIdentifier: StoreIdentifier }

/** Settles an authorized payment that is new to us. */
const settleNew = async (
  flow: PurchaseFlow,
  authorized: AuthorizedPurchase,
  { paymentKey, storeIdentifier }: NewSettlement,
): Promise<PurchaseOutcome> => {
  const { payment, product, wholePurchaseId } = authorized
  const simulation = await requireAccepted(flow, authorized)
  const isUsed = simulation.kind === 'spent'
  checkRefusals(refusals.usedAuthorizationRefusals, {
    isUsed,
    isDerivedNonce: derivedNonceOf(wholePurchaseId) === payment.authorization.nonce,
    isForgotten: isUsed && (await product.isForgotten(publicIdOf(wholePurchaseId))),
  })
  const reservation = await inTransaction(flow.ctx, 'system', async (tx) => {
    const reserved = await reserve(tx, flow, authorized, simulation)
    if (reserved) await storeIdentifier(tx)
    return reserved
  })
  if (!reservation) {
    const found = { known: await findPurchaseByPayment(flow, payment) }
    const claimedBy = checkAndNarrow(refusals.claimRefusals, found, (claimed) => claimed.known)
    return outcomeOfKnown(flow, claimedBy)
  }
  markSubmitted(flow, paymentKey)
  const purchase = await submit(flow, authorized, simulation, reservation)
  return { purchase, isNew: true, wholePurchaseId }
}

/** Lets one turn of the event loop pass first: `authorize` blocks this thread for milliseconds. */
const authorizeNextTurn = async (deps: BuyDeps, attempt: PaymentAttempt): Promise<AuthorizedPurchase> => {
  await setImmediate()
  return authorize(deps, attempt)
}

/** A payment that the chain would accept, or has accepted already. */
type AcceptedPayment = Extract<SimulationResult, { readonly kind: 'good' | 'spent' }>

const countForPayer = ({ attemptLimits }: PurchaseFlow, { authorization }: SignedPayment): void =>
  checkRefusals(refusals.payerRefusals, attemptLimits.byPayer(authorization.from))

/** Refuses a payment that cannot be submitted now. The chain is asked last. */
const requireAccepted = async (
  flow: PurchaseFlow,
  { payment, product, address }: AuthorizedPurchase,
): Promise<AcceptedPayment> => {
  const isProvenByKey = payment.form === 'key'
  if (isProvenByKey) countForPayer(flow, payment)
  const signerRefusal = await product.ready().then(() => undefined, refusalOrThrow)
  checkRefusals(refusals.signerRefusals, { signerRefusal })
  checkRefusals(refusals.networkRefusals, flow.attemptLimits.byNetwork(payment, address))
  const simulated = await flow.settlement.verify(payment)
  const accepted = checkAndNarrow(refusals.simulationRefusals, simulated, (result) =>
    result.kind === 'good' || result.kind === 'spent' ? result : undefined,
  )
  // A used authorization is public: who sends it proves nothing and pays nothing.
  if (accepted.kind === 'good') {
    if (!isProvenByKey) countForPayer(flow, payment)
    flow.attemptLimits.release(payment, address)
  }
  return accepted
}

/**
 * Claims the payment, reserves what is sold and stores the transaction to submit, in one database transaction. Undefined
 * where the payment or the purchase id is claimed already.
 */
const reserve = async (
  tx: Tx,
  { settlement, ctx }: PurchaseFlow,
  { payment, product, wholePurchaseId }: AuthorizedPurchase,
  simulation: AcceptedPayment,
) => {
  const purchaseId = publicIdOf(wholePurchaseId)
  const { prepared } = simulation
  if (!(await settlement.claim(tx, payment, { prepared, reference: purchaseId }))) return undefined
  checkRefusals(refusals.contractPayerRefusals, {
    payerCheck: await settlement.checkPayer(tx, payment, prepared),
  })
  const reserved = await product.reserve(tx)
  const purchase = {
    ...product.owner,
    purchaseId,
    secretHash: secretHashOf(wholePurchaseId),
    workflowId: product.workflowId,
    network: networkOf(ctx.config).caip2,
    payer: payment.authorization.from,
    amountUsdcMicro: payment.authorization.value,
    ...reserved,
  }
  await insertPurchase(tx, purchase)
  // A payment that is in a block already needs no transaction of ours.
  if (simulation.kind === 'spent') return { purchase, submission: undefined }
  const preparation = await settlement.prepare(tx, payment, purchaseId, prepared)
  const { submission } = checkAndNarrow(refusals.gasRefusals, preparation, (result) =>
    result.kind === 'prepared' ? result : undefined,
  )
  return { purchase, submission }
}

type Reservation = NonNullable<Awaited<ReturnType<typeof reserve>>>

/** From here on the signature may be public: a copy of the payment that arrives later may be a stranger's. */
const markSubmitted = ({ paymentsInFlight }: PurchaseFlow, paymentKey: string): void => {
  const current = paymentsInFlight.get(paymentKey)
  if (current) current.isSubmitted = true
}

/** Sends the payment to the chain, signs the credential meanwhile, and delivers once the payment is proven. */
const submit = async (
  flow: PurchaseFlow,
  { payment }: AuthorizedPurchase,
  simulation: AcceptedPayment,
  reservation: Reservation,
): Promise<Purchase> => {
  const at = flow.ctx.clock.now()
  const purchase: Purchase = {
    ...reservation.purchase,
    needsWallet: false,
    state: 'reserved',
    transactionHash: null,
    credentialId: null,
    response: null,
    reason: null,
    createdAt: at,
    changedAt: at,
    attempts: 0,
  }
  if (simulation.kind === 'spent')
    return applySettlementStatus(flow, purchase, { kind: 'settled', proof: simulation.proof }, undefined)
  const { submission } = reservation
  const reference = purchase.purchaseId
  const submitted = flow.settlement.submit({ payment, reference, prepared: simulation.prepared, submission })
  const presigned = submission && presignCredential(flow, purchase, submission.hash)
  return applySettlementStatus(flow, purchase, await submitted, presigned)
}

// 5. Deliver: to the buyer, proven by the whole purchase id, the agent's key, or a payment that was not public.

/** Whether the caller shows that the purchase is its own. */
const ownsPurchase = (purchase: Purchase, { request, requestedPurchaseId }: PaymentAttempt): boolean => {
  if (purchase.needsWallet) return false
  // The refusals have compared the id with that of the purchase.
  if (requestedPurchaseId !== undefined) return true
  return request.agent?.agentId === purchase.agentId && request.agent.mode === purchase.mode
}

const deliver = async <Response>(
  product: Product<Response>,
  attempt: PaymentAttempt,
  settled: Awaited<ReturnType<typeof settleOnce>>,
): Promise<Response> => {
  const { purchase, sentByBuyer } = settled
  const { requestedPurchaseId, header, payment } = attempt
  checkRefusals(refusals.responseRefusals, { purchase, subject: product.subject, requestedPurchaseId })
  const isBuyer = ownsPurchase(purchase, attempt) || sentByBuyer
  const purchaseId = requestedPurchaseId ?? settled.wholePurchaseId
  const isWholeId = purchaseId !== undefined && matchesSecretHash(purchaseId, purchase.secretHash)
  return product.respond(purchase, {
    isBuyer,
    purchaseId: isBuyer && isWholeId ? purchaseId : undefined,
    header,
    network: payment.network,
  })
}

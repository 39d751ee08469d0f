import type {
  ContractPayerCheck,
  Payment,
  PreparedSubmission,
  SignatureCheckResult,
  SimulationResult,
} from '../payments/index.ts'
import { Refusal } from '../platform/http/errors.ts'
import type { RateLimitResult } from '../platform/http/rate-limiter.ts'
import type { Refusals } from '../platform/http/refusals.ts'
import type { Offer, PurchaseCaller, Stock } from './flow.ts'
import { matchesSecretHash, subjectOf } from './rules.ts'
import type { Purchase } from './store.ts'

const paymentInvalid = (message: string) => new Refusal('payment_invalid', { message })
const purchaseConflict = (message: string) => new Refusal('purchase_conflict', { message })
const chainUnreachable = (retryAfterSeconds: number) =>
  new Refusal('chain_unreachable', { headers: { 'retry-after': String(retryAfterSeconds) } })

/** What a call sent. */
export type ReceivedRequest = {
  /** One entry for each payment header; `payment` is undefined where the header cannot be read. */
  readonly sentPayments: readonly {
    readonly header: PurchaseCaller['header']
    readonly payment: Payment | undefined
  }[]
  /** The different ids in header, query, body and payment. */
  readonly purchaseIds: readonly string[]
}

const refuseTwoHeaders = ({ sentPayments }: ReceivedRequest) =>
  sentPayments.length > 1
    ? new Refusal('payment_malformed', { message: 'Send X-PAYMENT or PAYMENT-SIGNATURE, not both.' })
    : undefined
const refuseUnreadablePayment = ({ sentPayments }: ReceivedRequest) =>
  sentPayments.some(({ payment }) => payment === undefined) ? new Refusal('payment_malformed') : undefined
const refuseTwoPurchaseIds = ({ sentPayments, purchaseIds }: ReceivedRequest) =>
  sentPayments.length > 0 && purchaseIds.length > 1
    ? purchaseConflict('Header, query, body and payment name different purchases.')
    : undefined
export const requestRefusals: Refusals<ReceivedRequest> = [
  ['two_payment_headers', refuseTwoHeaders],
  ['payment_unreadable', refuseUnreadablePayment],
  ['different_purchase_ids', refuseTwoPurchaseIds],
]

type OfferLookup = { readonly offer: Offer | undefined }

const refuseOutOfStock = ({ offer }: OfferLookup) => (offer ? undefined : new Refusal('out_of_stock'))
/** For a call without payment, and for a payment that is new to us. */
export const offerRefusals: Refusals<OfferLookup> = [['out_of_stock', refuseOutOfStock]]

type Quote = { readonly idError: string | undefined; readonly termsFault: string | undefined }

const refusePurchaseId = ({ idError }: Quote) => (idError === undefined ? undefined : paymentInvalid(idError))
const refuseTerms = ({ termsFault }: Quote) =>
  termsFault === undefined ? undefined : paymentInvalid(termsFault)
export const quoteRefusals: Refusals<Quote> = [
  ['purchase_id_not_issued', refusePurchaseId],
  ['payment_terms_differ', refuseTerms],
]

type Amount = { readonly isOverpaid: boolean }

const refuseOverpayment = ({ isOverpaid }: Amount) =>
  isOverpaid ? paymentInvalid('The amount is too large; a question is paid exactly.') : undefined
/** After those of the quote, for a product with an exact price: a question. */
export const exactAmountRefusals: Refusals<Amount> = [['amount_not_exact', refuseOverpayment]]

const refuseSignature = ({ fault }: SignatureCheckResult) =>
  fault === undefined ? undefined : paymentInvalid(fault)
export const signatureRefusals: Refusals<SignatureCheckResult> = [['signature_invalid', refuseSignature]]

const refuseTestSettlement = ({ outcome }: Pick<Offer, 'outcome'>) =>
  outcome === 'fails'
    ? paymentInvalid(
        'The payment is valid. This test workflow simulates a failed settlement. Nothing was charged.',
      )
    : undefined
const refuseWithoutChain = ({ outcome }: Pick<Offer, 'outcome'>) =>
  outcome === 'settles' ? chainUnreachable(60) : undefined
/** For a payment that no chain settles. */
export const unsettledRefusals: Refusals<Pick<Offer, 'outcome'>> = [
  ['test_settlement_fails', refuseTestSettlement],
  ['chain_not_configured', refuseWithoutChain],
]

/** Undefined where nothing is limited. */
type Rate = RateLimitResult | undefined

const refuseRate = (rate: Rate) =>
  rate?.allowed === false ? new Refusal('rate_limited', { headers: rate.headers }) : undefined
export const networkRefusals: Refusals<Rate> = [['network_rate_limited', refuseRate]]
/** Once the payer is proven: before the chain is asked where a key signed, and after it for a contract. */
export const payerRefusals: Refusals<Rate> = [['payer_rate_limited', refuseRate]]

type SignerTest = { readonly signerRefusal: Refusal | undefined }

/** An unreachable signer stops a purchase before anything is charged. */
export const signerRefusals: Refusals<SignerTest> = [
  ['signer_not_ready', ({ signerRefusal }) => signerRefusal],
]

const refuseUnreachableChain = ({ kind }: SimulationResult) =>
  kind === 'unreachable' ? chainUnreachable(5) : undefined
const refuseFailedSimulation = (simulation: SimulationResult) =>
  simulation.kind === 'refused'
    ? paymentInvalid(`The chain would refuse the payment: ${simulation.reason} Nothing was charged.`)
    : undefined
export const simulationRefusals: Refusals<SimulationResult> = [
  ['chain_unreachable', refuseUnreachableChain],
  ['simulation_failed', refuseFailedSimulation],
]

type UsedAuthorization = {
  readonly isUsed: boolean
  readonly isDerivedNonce: boolean
  /** The purchase was delivered, and a restored database does not have it. */
  readonly isForgotten: boolean
}

const refuseUsedAuthorization = ({ isUsed, isDerivedNonce }: UsedAuthorization) =>
  isUsed && !isDerivedNonce
    ? purchaseConflict(
        'The authorization was used on the chain before it was sent here, so it does not pay for this purchase. Nothing was charged now.',
      )
    : undefined
const refuseForgotten = ({ isForgotten }: UsedAuthorization) =>
  isForgotten
    ? purchaseConflict(
        'This payment was delivered before the database was restored. The credential is not stored any more. Nothing was charged now.',
      )
    : undefined
/**
 * For an authorization that is in a block before any purchase has it. It may have paid for something else, at another
 * deployment with the same recipient. Only a nonce that derives from the purchase id shows what it paid for.
 */
export const usedAuthorizationRefusals: Refusals<UsedAuthorization> = [
  ['authorization_used_before', refuseUsedAuthorization],
  ['delivered_before_restore', refuseForgotten],
]

type ClaimedPayment = { readonly known: Purchase | undefined }

const refusePaidPurchaseId = ({ known }: ClaimedPayment) =>
  known
    ? undefined
    : purchaseConflict('The purchase id was paid for with another authorization. Nothing was charged now.')
/** For a payment or a purchase id that was claimed between the lookup and the reservation. */
export const claimRefusals: Refusals<ClaimedPayment> = [['purchase_id_paid', refusePaidPurchaseId]]

type CheckedPayer = { readonly payerCheck: ContractPayerCheck }

const refuseFailedPayer = ({ payerCheck }: CheckedPayer) =>
  payerCheck === 'payer_refused' ? new Refusal('contract_wallet_refused') : undefined
const refusePendingPayer = ({ payerCheck }: CheckedPayer) =>
  payerCheck === 'payer_pending'
    ? new Refusal('contract_wallet_busy', { headers: { 'retry-after': '5' } })
    : undefined
const refuseWithoutGasBudget = ({ payerCheck }: CheckedPayer) =>
  payerCheck === 'budget_used'
    ? new Refusal('contract_wallets_paused', { headers: { 'retry-after': '3600' } })
    : undefined
/** For a payer with code, in the transaction that reserves. */
export const contractPayerRefusals: Refusals<CheckedPayer> = [
  ['contract_wallet_refused', refuseFailedPayer],
  ['contract_wallet_busy', refusePendingPayer],
  ['contract_wallets_paused', refuseWithoutGasBudget],
]

type Reservation = { readonly unit: Awaited<ReturnType<Stock['reserve']>> }

const refuseWithoutUnit = ({ unit }: Reservation) =>
  unit
    ? undefined
    : new Refusal('out_of_stock', { message: 'The task is out of stock. Nothing was charged.' })
/** In the transaction that reserves: a refusal undoes the claim of the payment. */
export const unitRefusals: Refusals<Reservation> = [['no_unit_left', refuseWithoutUnit]]

const refuseWithoutGas = ({ kind }: PreparedSubmission) =>
  kind === 'exhausted' ? chainUnreachable(5) : undefined
/** In the same transaction, last: the preparation locks the gas account. */
export const gasRefusals: Refusals<PreparedSubmission> = [['no_gas_account', refuseWithoutGas]]

type DeliveryRequest = {
  readonly purchase: Purchase
  /** The workflow or question that the call wants to pay. */
  readonly subject: string
  readonly requestedPurchaseId: string | undefined
}

const refuseOtherTask = ({ purchase, subject }: DeliveryRequest) =>
  subjectOf(purchase) === subject
    ? undefined
    : purchaseConflict('The payment was for another task or question. Nothing was charged now.')
const refuseOtherPurchase = ({ purchase, requestedPurchaseId }: DeliveryRequest) =>
  requestedPurchaseId === undefined || matchesSecretHash(requestedPurchaseId, purchase.secretHash)
    ? undefined
    : new Refusal('purchase_conflict')
const refuseVoid = ({ purchase }: DeliveryRequest) =>
  purchase.state === 'void'
    ? paymentInvalid(
        `The payment did not settle: ${purchase.reason ?? 'it ended'}. Nothing was charged. Sign a new one.`,
      )
    : undefined
/** For a new purchase after its settlement, and for a payment that was known before. */
export const responseRefusals: Refusals<DeliveryRequest> = [
  ['other_task', refuseOtherTask],
  ['other_purchase', refuseOtherPurchase],
  ['payment_void', refuseVoid],
]

/** Every refusal of a purchase from stock, in the order in which `buy.ts` checks them. */
export const purchaseRefusals = [
  ...requestRefusals,
  ...offerRefusals,
  ...quoteRefusals,
  ...signatureRefusals,
  ...unsettledRefusals,
  ...payerRefusals,
  ...signerRefusals,
  ...networkRefusals,
  ...simulationRefusals,
  ...usedAuthorizationRefusals,
  ...claimRefusals,
  ...contractPayerRefusals,
  ...unitRefusals,
  ...gasRefusals,
  ...responseRefusals,
] as const

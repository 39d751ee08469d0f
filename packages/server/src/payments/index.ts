export type { PaidCheckout, ReversalChange, Settler, Settlers } from './card/apply.ts'
export type { ReversedParts } from './card/facts.ts'
export { makeCardProvider } from './card/provider.ts'
export { checkoutRefusals, makePayments, type Payments } from './card/checkout.ts'
export { jobs } from './jobs.ts'
export { pages } from './card/pages.ts'
export { requestRefund } from './refunds/request-refund.ts'
export { countFailedRefunds } from './refunds/store.ts'
export { operatorRoutes, routes } from './routes.ts'
export { findPaidCheckout, listPaidBetween, listPaidCheckouts, listPaidAmong } from './store.ts'
export { listUnmatchedEvents } from './card/store.ts'
export { challengeHeaders, requirementOf } from './x402/challenge.ts'
export { extensionsFor, extensionsForPayment } from './x402/extensions.ts'
export { withIdentifier, type StoreIdentifier } from './x402/payment-identifier.ts'
export {
  checkSignature,
  paymentTermsFault,
  type SignatureCheckResult,
  type SignedPayment,
} from './x402/check.ts'
export {
  makeSettlement,
  type Settlement,
  type SettlementStatus,
  type SimulationResult,
} from './x402/settlement.ts'
export type { ContractPayerCheck } from './x402/contract-payers.ts'
export type { PreparedSubmission } from './x402/submitter.ts'
export type { SettlementProof } from './x402/chain.ts'
export { networkOf, usdCentsOfMicro, usdcMicroOf, type Network } from './x402/network.ts'
export { parsePayment, type Payment } from './x402/parse.ts'
export {
  countGasKeys,
  listUnfinalized as listUnfinalizedPayments,
  updateChecked as markPaymentChecked,
  updateSettled as markPaymentSettled,
  updateVoid as markPaymentVoid,
} from './x402/store.ts'

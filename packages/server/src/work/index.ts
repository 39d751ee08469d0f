export { makeCardSettler } from './orders/card-settler.ts'
export { quoteOrder } from './orders/create.ts'
export {
  fundByPurchase,
  lockOrderToPay,
  refundByPurchase,
  reverseByPurchase,
} from './orders/purchase-payment.ts'
export { findUnitOrder, placeUnitOrder } from './orders/unit-order.ts'
export { findWorkRef, type WorkRef, type WorkRefKey } from './references.ts'
export { jobs } from './jobs.ts'
export { pages } from './pages.ts'
export { escrowReconciliation } from './orders/reconcile-escrow.ts'
export { operatorRoutes, routes } from './routes.ts'
export { countWaitingOffers } from './orders/store.ts'
export { countReviews } from './reviews/store.ts'
export { presentReview } from './reviews/present.ts'
export { countAppealed } from './units/store.ts'
export { seedWorkflows } from './workflows/seed.ts'
export { makeCompletedWork } from './workers/completed-work.ts'
export { listPayoutRisks } from './workers/payout-risk.ts'
export { claimSimulated, deliverSimulated, type SimulatedWorkerDeps } from './workers/simulated-worker.ts'
export { findAnswerTime } from './workers/time/store.ts'
export { makeFindRecordingOwner } from './workers/recording-owner.ts'
export type { FindCredentialTokens } from './orders/present.ts'
export { findWorkHistory } from './workers/history.ts'
export { isAssignmentSession, payeeRefOf } from './units/rules.ts'
export { findWorkflow, listWorkflows } from './workflows/store.ts'
export { rewardWarningsOf, usdCentsOf, usdOf } from './rules.ts'
export type { BuyerDeps, ReturnPurchase, UnitDeps } from './deps.ts'
export {
  countStock,
  hasStock,
  listSoldWork,
  markStockUnitSold,
  releaseStockUnit,
  reserveStockUnit,
} from './workflows/stock.ts'
export { findTestWorkflow, isTestWorkflowId } from './workflows/test-workflows.ts'
export { listSettledUnits } from './settled/store.ts'

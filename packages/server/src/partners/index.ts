export { fundStars, returnStars } from './funding.ts'
export { makeRequestWorkerPayout } from './payout-request.ts'
export {
  deleteOldAccounts,
  eraseAccounts,
  findPayoutRoot,
  listAccounts,
  type PayoutRoot,
} from './accounts/store.ts'
export type { ListPayoutRisks } from './payout-list.ts'
export { operatorRoutes, routes } from './routes.ts'
export { accounts, conversionLines, userAccountOf } from './rules.ts'
export { countOpenPayouts, findPayoutSums, voidApprovals } from './store.ts'

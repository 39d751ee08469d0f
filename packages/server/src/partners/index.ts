export { requestPayout } from './payout-request.ts'
export { operatorRoutes, routes } from './routes.ts'
export { userAccountOf } from './rules.ts'
export { findPayoutSums } from './store.ts'

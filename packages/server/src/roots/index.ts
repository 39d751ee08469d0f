export { jobs } from './jobs.ts'
export { recordLosses } from './losses.ts'
export { makeRoots, type Roots, type SessionRef } from './roots.ts'
export { operatorRoutes } from './routes.ts'
export {
  deviceFacts,
  payoutFacts,
  reservationMs,
  secondsUntilOpen,
  type HumanLimit,
  type RootCharge,
  type ShownRoot,
} from './rules.ts'
export { findSiteFactor, listSuspendedFrom, sealedColumns } from './store.ts'

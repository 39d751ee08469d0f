export { balanceOf, balancesOf, balancesOfAgents } from './balances.ts'
export { findPosting, post } from './post.ts'
export { listOpenDrift, listReferences } from './store.ts'
export { measureDrift, reconcile, reconcileJob, type Comparison } from './reconcile.ts'
export { operatorRoutes } from './routes.ts'
export {
  listConsumption,
  listEntriesOfKind,
  listLineReferences,
  listPostedEntries,
  listUnpostedReferences,
  type PostedEntry,
} from './store.ts'
export { balanceAfter, InsufficientBalance, type Line, type Posting } from './rules.ts'

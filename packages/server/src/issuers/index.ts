export {
  beginCheck,
  finishCheck,
  refusalOf,
  requirePresent,
  type CheckDeps,
  type CheckedProof,
  type CheckSubject,
} from './check.ts'
export { makeOwnIssuers } from './companies/own-issuers.ts'
export { recheckJob } from './companies/recheck.ts'
export { sealedColumns } from './companies/store.ts'
export { adapters, readIssuersFile } from './file.ts'
export { makeIssuers, type Issuers } from './issuers.ts'
export { pages } from './pages.ts'
export { refused, type OutsideIssuer, type Shown, type Subject } from './port.ts'
export { routes } from './routes.ts'
export { returnPath } from './rules.ts'
export { deleteOldRequests, deleteRequests, voidRequests } from './store.ts'

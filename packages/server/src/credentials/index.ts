export { debitReconciliation } from './mint/debits.ts'
export {
  makePurchaseMint,
  WorkEvidenceMissing,
  type PurchaseCredential,
  type PurchaseMint,
  type SignedPurchaseCredential,
} from './mint/purchase.ts'
export {
  makeApprovalMint,
  type ApprovalMint,
  type AttendedDecision,
  type SignedApprovalCredential,
} from './mint/approval.ts'
export { makeChangeCredentialState, type ChangeCredentialState } from './status/change-state.ts'
export { makeWorkMint, type SignedWorkCredential, type WorkMint, type WorkMintResult } from './mint/work.ts'
export { operatorRoutes, routes } from './routes.ts'
export { readForgingFile } from './forging/prices.ts'
export { forgingPriceUsd } from './forging/rules.ts'
export { makeReadVerdict } from './verdict.ts'
export { makeListSeenHeads } from './restore/seen-heads.ts'
export { makeRestoreParts } from './restore/parts.ts'
export { countLostByHour } from './restore/store.ts'
export { statusListJob } from './status/build.ts'
export { elsewhereJob } from './status/elsewhere.ts'
export { measurePendingRevocations } from './status/measure.ts'
export { makeStatusIndexes } from './status/indexes.ts'
export { listSignedTokens } from './onchain/token.ts'
export { listMintedCredentials } from './store.ts'
export { deleteExpiredWallets, eraseCredentialLinks } from './store.ts'
export { hasPublishedList } from './status/store.ts'

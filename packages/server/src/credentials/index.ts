export { debitComparison } from './mint/debits.ts'
export {
  makePurchaseMint,
  WorkGone,
  type PurchaseCredential,
  type PurchaseMint,
  type SignedSale,
} from './mint/purchase.ts'
export { revokeByMachine } from './status/operator-revoke.ts'
export { makeWorkMint, type WorkMint } from './mint/work.ts'
export { operatorRoutes, routes } from './routes.ts'
export { statusDuty } from './status/build.ts'
export { makeStatusIndexes } from './status/indexes.ts'
export { listSigned } from './onchain/token.ts'
export { listStored } from './store.ts'
export { deleteEndedWallets, forgetCredentials } from './store.ts'

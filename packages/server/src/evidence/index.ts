export { routes } from './routes.ts'
export { resolveSession, simulatedAttention } from './sandbox.ts'
export { makeScoring } from './score-session.ts'
export { deleteOldNonces } from './store.ts'
export { recordTaskSession } from './task-session.ts'
export {
  consumeWalletNonce,
  findWalletChallenge,
  proveByContract,
  proveByKey,
  type BoundWallet,
  type WalletProof,
} from './wallet.ts'
export { evidenceItem } from './proof.ts'

export { operatorRoutes, routes } from './routes.ts'
export {
  insertSimulatedSession,
  isReservedSession,
  resolveSession,
  simulatedAttention,
} from './scoring/sandbox.ts'
export { rejectionOf } from './scoring/rejection.ts'
export { makeScoring } from './scoring/score-session.ts'
export {
  deleteOldAttestations,
  deleteUnusedStepUpKeys,
  findDevice,
  findDevices,
  listAdmitted,
  type Device,
} from './devices/store.ts'
export { pages } from './devices/step-up-page.ts'
export { stepUpWays } from './devices/step-up-token.ts'
export { deleteOldNonces, listMemberTraces, voidNonces } from './store.ts'
export { eraseEvidence } from './erase.ts'
export { makePasskeyVerifier } from './devices/passkey-verifier.ts'
export { checkDeviceTrust, makeLoadDeviceTrust, type LoadDeviceTrust } from './devices/device-trust.ts'
export { holdTaskAttention, recordHeldTask, recordTaskSession } from './scoring/task-session.ts'
export { claimRecordings } from './scoring/store.ts'
export {
  consumeWalletNonce,
  findWalletChallenge,
  proveByContract,
  proveByKey,
  type ProvenWallet,
  type WalletProof,
} from './wallets/wallet.ts'
export { listPhotoNames } from './presence/store.ts'
export { evidenceItem } from './proof.ts'
export { assuranceOf, isHardware, memberVerdictMs, orderRoots, proofRoot } from './rules.ts'

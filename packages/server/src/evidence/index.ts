export { routes } from './routes.ts'
export { resolveSession, simulatedAttention } from './sandbox.ts'
export { makeScoring } from './score-session.ts'
export {
  deleteOldAttestations,
  deleteOldNonces,
  findDevice,
  findDevices,
  listMemberTraces,
  type Device,
} from './store.ts'
export { forgetEvidence } from './forget.ts'
export { makePasskeyJudge } from './passkey-judge.ts'
export { loadDeviceTrust } from './attestation-trust.ts'
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
export { assuranceOf, isHardware } from './rules.ts'

export {
  assurances,
  credentialKinds,
  rootClasses,
  rootKinds,
  type Assurance,
  type Claims,
  type CredentialKind,
  type Root,
  type RootClass,
  type RootKind,
} from './claims.ts'
export { verifyCredential, type Result } from './credential.ts'
export {
  findForgingEntry,
  reachesForging,
  readForgingTable,
  type ForgingTable,
  type ForgingTableResult,
} from './forging.ts'
export { decodeUnverified } from './jws.ts'
export type { Fetch, Options, Policy, TableOptions } from './policy.ts'
export {
  costPer1000,
  forgingClasses,
  forgingClassOf,
  forgingEntries,
  solverFamily,
  roundDownToPowerOfTen,
  type ForgingClass,
  type ForgingEntry,
  type ForgingFamily,
  type ForgingInputs,
} from './price.ts'
export { checkNames, type Check, type CheckName, type Reason } from './refusal.ts'
export { readRecording } from './recording.ts'
export {
  checkChunks,
  openChunk,
  type CheckChunksResult,
  type OpenChunkResult,
  type OpenedRecord,
  type Recording,
  type SealedChunk,
  type TelemetryClaim,
  type TelemetryOpening,
  type TelemetryReason,
} from './telemetry.ts'
export { verifyWebhook, type WebhookInput, type WebhookReason, type WebhookResult } from './webhook.ts'

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
export { readForgingTable, type ForgingTable, type ForgingTableResult } from './forging.ts'
export { decodeUnverified } from './jws.ts'
export type { ApprovalPolicy, Fetch, Options, Policy, TableOptions } from './policy.ts'
export {
  attentionCost,
  costOf1000Acts,
  costOf1000Humans,
  forgingClasses,
  forgingClassOf,
  forgingEntries,
  priceOf,
  priceOfRoots,
  reachesForging,
  roundDownToPowerOfTen,
  scriptCost,
  type ClaimedRoot,
  type CredentialPrice,
  type ForgingClass,
  type ForgingCost,
  type ForgingEntry,
  type ForgingFamily,
  type ForgingInputs,
  type ForgingLevel,
  type ForgingPrice,
  type ForgingRoot,
  type ForgingWay,
  type HumansPrice,
  type PricedClaims,
  type PricedKind,
  type Prices,
  type Trust,
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

export { assurances, credentialKinds, type Assurance, type Claims, type CredentialKind } from './claims.ts'
export { verifyCredential, type Result } from './credential.ts'
export { decodeUnverified } from './jws.ts'
export type { Fetch, Options, Policy } from './policy.ts'
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

export { readChunks } from './recording/chunks.ts'
export type { FindRecordingOwner, FindSite } from './create.ts'
export { jobs } from './jobs.ts'
export { readRecords, type DecryptedSession } from './recording/open-records.ts'
export { routes } from './routes.ts'
export {
  makeViewToken,
  readViewToken,
  type EvidenceItem,
  type SessionMeasurement,
  type Session,
  type SessionKind,
  type Telemetry,
  type View,
} from './rules.ts'
export {
  findSession,
  eraseSession,
  findSessions,
  findViewSummary,
  insertScoredSession,
  insertUnscoredSession,
  listClosedSessions,
  listSessionsOfMember,
  listViews,
  memberSessionsMax,
  updateSessionMember,
  updateSessionScored,
  type SessionKey,
  type SessionRowKey,
} from './store.ts'

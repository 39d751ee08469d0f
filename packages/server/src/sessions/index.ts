export { readChunks } from './recording/chunks.ts'
export type { FindSite } from './create.ts'
export { duties } from './jobs.ts'
export { readRecords, type OpenedSession } from './recording/open-records.ts'
export { routes } from './routes.ts'
export {
  makeViewToken,
  readViewToken,
  type EvidenceItem,
  type Measured,
  type Session,
  type SessionKind,
  type Telemetry,
  type View,
} from './rules.ts'
export {
  findSession,
  forgetSession,
  findSessions,
  findViewSummary,
  insertScoredSession,
  insertUnscoredSession,
  listClosed,
  listSessionsOfMember,
  listViews,
  ofMemberMax,
  updateSessionMember,
  updateSessionScored,
  type SessionKey,
} from './store.ts'

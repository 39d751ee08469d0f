export {
  makeViewToken,
  readViewToken,
  type Components,
  type EvidenceItem,
  type Measured,
  type Session,
  type SessionKind,
  type Telemetry,
  type View,
} from './rules.ts'
export {
  findSession,
  findSessions,
  findViewSummary,
  insertScoredSession,
  insertUnscoredSession,
  listViews,
  type SessionKey,
} from './store.ts'

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
  findViewSummary,
  insertScoredSession,
  insertUnscoredSession,
  listViews,
  updateSessionSealed,
  type SessionKey,
} from './store.ts'

export { readChunks } from './recording/chunks.ts'
export { sealedColumns, voidSessions } from './recording/store.ts'
export {
  findClosedRecording,
  listClosedSessions,
  updateSessionsScored,
  type ClosedRecording,
  type SessionScoreUpdate,
} from './closing/store.ts'
export type { ScoredRecording, ScoringInput } from './closing/score-recording.ts'
export { makeRecordingScorer, type RecordingScorer } from './closing/scorer.ts'
export type { FindDecisionOwner, FindRecordingOwner, FindSite } from './create.ts'
export { jobs } from './jobs.ts'
export {
  between,
  height,
  renderPicture,
  seededRandom,
  shuffled,
  width,
  type Ring,
  type Stroke,
} from './recording/picture.ts'
export { readRecords, type DecryptedSession } from './recording/open-records.ts'
export { openSubjectKey } from './recording/records.ts'
export { routes } from './routes.ts'
export {
  faultFlags,
  hostnameOf,
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
  insertScoredSession,
  insertUnscoredSession,
  listSessionsOfMember,
  findViewPageEnd,
  listViews,
  memberSessionsMax,
  updateSessionMember,
  updateSessionRedeemed,
  type ListedView,
  type SessionKey,
  type SessionRowKey,
} from './store.ts'
export {
  findSegmentNames,
  splitWindow,
  inHours,
  inSegments,
  requireExactFilter,
  type SegmentNames,
  type ViewWindow,
} from './views/segments/store.ts'
export { countVerifiedViews, findViewFigures, findViewSummary, type ViewSummary } from './views/store.ts'
export { listRefusedByReason, listSessionFigures, type BucketWindow } from './hours/store.ts'

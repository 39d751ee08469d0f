export { compareEnvelope, type EnvelopeComparison } from './approvals/compare-envelope.ts'
export {
  decisionChallenge,
  envelopeHash,
  type ActionType,
  type ApprovalPolicy,
  type DecisionInput,
  type Envelope,
} from './approvals/envelope.ts'
export { findBelowTeam, knownBadMin, shareOf, type Share } from './approvals/figures.ts'
export {
  actionBytesMax,
  actionDepthMax,
  canonicalJson,
  jsonFault,
  jsonTextFault,
  type Json,
  type JsonFault,
  type JsonTextFault,
} from './approvals/json.ts'
export { readEnvelope } from './approvals/read-envelope.ts'
export {
  approvalReasons,
  verifyApproval,
  type ApprovalOptions,
  type ApprovalReason,
  type ApprovalResult,
} from './approvals/verify-approval.ts'
export {
  approvalView,
  refusedField,
  viewHash,
  viewName,
  type ApprovalView,
  type ShownField,
  type ValueKind,
} from './approvals/view.ts'
export { visibleText, type TextNote } from './approvals/visible-text.ts'
export {
  verifyReport,
  type ReportCheck,
  type ReportToVerify,
  type ReportVerification,
} from './approvals/verify-report.ts'

export { errorCatalogue, errorCodes, type ErrorCode } from './platform/errors.ts'
export { errorBody } from './platform/fields.ts'
export {
  base32Alphabet,
  cellOf,
  cellTagPattern,
  idPrefixes,
  isId,
  keyPrefixes,
  modes,
  scopes,
  tokenPrefixes,
  type IdPrefix,
  type Mode,
  type Scope,
  type TokenPrefix,
} from './platform/ids.ts'
export {
  eventCatalogue,
  events,
  eventEnvelope,
  type EventData,
  type EventEnvelope,
  type EventType,
} from './platform/events.ts'
export {
  consoleBrowserCookie,
  consoleCookie,
  errorsOf,
  memberCookie,
  operatorBrowserCookie,
  operatorCookie,
  secretErrors,
  takesPayment,
  usualBodyLimitBytes,
  type Auth,
  type Endpoint,
} from './platform/endpoint.ts'
export {
  additions,
  apiVersion,
  endpoints,
  operationNameOf,
  operatorEndpoints,
  specification,
} from './endpoints.ts'
export { overviewCountMax } from './operators/overview.ts'
export { accountRoles, type AccountRole } from './accounts/operations.ts'
export { openApiDocument, unsharedOpenApiDocument } from './platform/openapi.ts'
export { resolveReferences } from './platform/openapi-references.ts'
export {
  assurances,
  credentialKinds,
  credentialPolicy,
  credentialStatuses,
  forgingClasses,
  keyPurposes,
  rails,
  rootClasses,
  rootKinds,
  siteverifyCodes,
  uniquenessLevels,
  type Assurance,
  type Credential,
  type CallFloor,
  type CredentialFloor,
  type CredentialKind,
  type CredentialPolicy,
  type RootClass,
  type RootKind,
  type SiteverifyRefusal,
} from './credentials/operations.ts'
export {
  classOfRoot,
  credentialClaims,
  forgingClaims,
  forgingDays,
  forgingFamilies,
  forgingFile,
  lifetimeDays,
  onchainClaims,
  testLifetimeDays,
  type CredentialClaims,
  type ForgingFile,
  type OnchainClaims,
  rootsMax,
  type RootClaim,
} from './credentials/claims.ts'
export {
  confirmationStep,
  freePlanCondition,
  freeSealsPerMonth,
  disputesShownMax,
  packNames,
  packs,
  qualityBins,
  usageBuckets,
  usageBucketsMax,
  type PackName,
  type Usage,
} from './credits/operations.ts'
export {
  companiesMax,
  companyFaults,
  companyStates,
  recordHost,
  type CompanyFault,
} from './issuers/companies.ts'
export { scimMediaType } from './issuers/scim.ts'
export { issuerRules, type IssuerRule } from './issuers/operations.ts'
export {
  approvalDecisions,
  approvalPasskeys,
  approvalStates,
  approverWays,
  approversMax,
  sandboxPolicy,
  sandboxTypePrefix,
  simulatedApprovers,
  strictestPolicy,
  type Approval,
  type ApprovalState,
  type ApproverWay,
} from './approvals/operations.ts'
export { type ActionTypeRecord } from './approvals/administration.ts'
export {
  approvalReportClaims,
  reportDaysMax,
  reportDecisionsMax,
  reportMethod,
  type ApprovalFigures,
  type ApprovalReport,
} from './approvals/effectiveness.ts'
export { deviceAssurances, sandboxProfiles } from './evidence/operations.ts'
export { campaignStates, type CampaignState } from './microtasks/campaigns.ts'
export { payoutStates, type NamedAccount, type PayoutRisk, type PayoutState } from './partners/operations.ts'
export { normalizePayoutAccount } from './partners/payout-account.ts'
export {
  purchasePurposes,
  purchaseStates,
  type PaymentRequirement,
  type Purchase,
} from './purchases/operations.ts'
export { askWorkflowId, questionStates, type Question, type QuestionState } from './questions/operations.ts'
export { requestDays, type LoggedRequest } from './requests/operations.ts'
export {
  attentionDaysMax,
  attentionFlagsMax,
  attentionPagesMax,
  funnelSteps,
  qualityBuckets,
  type AttentionReport,
  type MetricsRow,
} from './tracking/operations.ts'
export { forwardStatuses, type Epoch, type ForwardOrder } from './vhh/operations.ts'
export { type WorkflowWithWarnings, type Workflow } from './work/workflows.ts'
export { type WorkWarning } from './work/warnings.ts'
export { type AnswerForm, type InputForm } from './work/forms.ts'
export {
  mandateCharsMax,
  orderStates,
  rejectReasons,
  reviewCauses,
  reviewDecisions,
  unitStates,
  type Order,
  type OrderState,
  type OrderUnit,
  type RejectReason,
  type UnitState,
} from './work/orders.ts'
export {
  type Appeal,
  type OperatorOrder,
  type OperatorWorkflow,
  type OrderReview,
  type OrderReviewSummary,
  type WorkflowTerms,
} from './work/operator.ts'
export { trustRootKinds, type TrustRoot, type TrustRootKind } from './trust/operations.ts'
export { assignmentStates, reportReasons, type ReleaseReason } from './work/workers.ts'
export {
  sessionKinds,
  sessionStatuses,
  type Probe,
  type Receipt,
  type SessionRecord,
  type SessionVerdict,
} from './sessions/operations.ts'
export { verdictReasons, type SessionReason, type VerdictReason } from './sessions/reasons.ts'
export { attestationSettings, type AttestationSettings } from './agents/operations.ts'
export { deliveryStates, type WebhookDelivery, type WebhookEndpoint } from './webhooks/operations.ts'

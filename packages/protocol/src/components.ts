import type { z } from 'zod'
import * as accounts from './accounts/operations.ts'
import * as agents from './agents/operations.ts'
import * as approvalAdministration from './approvals/administration.ts'
import * as approvalEffectiveness from './approvals/effectiveness.ts'
import * as approvals from './approvals/operations.ts'
import * as credentials from './credentials/operations.ts'
import * as discovery from './discovery/operations.ts'
import * as evidence from './evidence/operations.ts'
import * as companies from './issuers/companies.ts'
import * as members from './members/operations.ts'
import * as campaigns from './microtasks/campaigns.ts'
import { errorBody, instant } from './platform/fields.ts'
import * as purchases from './purchases/operations.ts'
import * as questions from './questions/operations.ts'
import * as sessions from './sessions/operations.ts'
import * as tracking from './tracking/operations.ts'
import * as vhh from './vhh/operations.ts'
import * as webhooks from './webhooks/operations.ts'
import * as forms from './work/forms.ts'
import * as workOrders from './work/orders.ts'
import * as warnings from './work/warnings.ts'
import * as workers from './work/workers.ts'

/**
 * The schemas that the OpenAPI document states once and refers to, by the name that they have there. Generators of
 * clients make a type of each name, so a name stays as it is. A function, so that bundlers leave it out of web pages.
 */
export const sharedSchemas = (): Readonly<Record<string, z.ZodType>> => ({
  Error: errorBody,
  Instant: instant(),
  AccountRole: accounts.role,
  LinkSent: accounts.linkSent,
  AgentProfile: agents.profile.response,
  AttestationSettings: agents.attestationSettings,
  ActionType: approvalAdministration.actionType,
  Approver: approvalAdministration.approver,
  ApproverGroup: approvalAdministration.group,
  ApprovalReport: approvalEffectiveness.report,
  ApprovalFigures: approvalEffectiveness.figures,
  ApprovalShare: approvalEffectiveness.share,
  KnownBadRequest: approvalEffectiveness.knownBad,
  KnownBadSettings: approvalEffectiveness.settings,
  ActionTypeView: approvals.actionTypeView,
  Approval: approvals.approval,
  ApprovalDecision: approvals.decision,
  ApprovalEnvelope: approvals.envelope,
  ApprovalPolicy: approvals.approvalPolicy,
  WaitingApproval: approvals.waiting,
  CredentialFloor: credentials.kindFloor,
  CredentialPolicy: credentials.credentialPolicy,
  SiteverifyResponse: credentials.siteverify.response,
  TelemetryCommitment: credentials.telemetry,
  JsonRpcError: discovery.jsonRpcError,
  EvidenceComponents: evidence.components,
  CompanySignIn: companies.company,
  Member: members.member,
  Campaign: campaigns.campaign,
  PaymentChallenge: purchases.paymentChallenge,
  PaymentRequirement: purchases.paymentRequirement,
  PurchaseDelivery: purchases.purchaseDelivery,
  PurchasePending: purchases.purchasePending,
  PurchaseReceipt: purchases.receipt,
  PurchaseRecovery: purchases.recovery,
  Question: questions.questionRecord,
  Probe: sessions.probe,
  SessionReceipt: sessions.receipt,
  ViewSummary: tracking.viewSummary,
  IndexCounts: vhh.counts,
  IndexEpoch: vhh.epoch,
  IndexEpochWithInputs: vhh.epochWithInputs,
  IndexInputs: vhh.inputsDocument,
  IndexMonthToDate: vhh.monthToDate,
  WebhookEndpoint: webhooks.endpoint,
  AnswerField: forms.answerField,
  AnswerForm: forms.answerForm,
  InputField: forms.inputField,
  InputForm: forms.inputForm,
  Order: workOrders.orderRecord,
  OrderUnit: workOrders.unit,
  WorkWarning: warnings.workWarning,
  WorkWarnings: warnings.workWarnings,
  Assignment: workers.assignment,
  AssignmentSummary: workers.assignmentSummary,
})

/** The same for schemas of what a caller sends: fields with a default may be left out, and unknown fields are ignored. */
export const sharedRequestSchemas = (): Readonly<Record<string, z.ZodType>> => ({
  SiteverifyRequest: credentials.siteverify.body,
})

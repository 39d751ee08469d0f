export { errorCatalogue, errorCodes, type ErrorCode } from './errors.ts'
export { errorBody } from './fields.ts'
export {
  base32Alphabet,
  cellTagPattern,
  idPrefixes,
  isId,
  modes,
  scopes,
  type IdPrefix,
  type Mode,
  type Scope,
} from './ids.ts'
export {
  eventCatalogue,
  events,
  eventEnvelope,
  type EventData,
  type EventEnvelope,
  type EventType,
} from './events.ts'
export { errorsOf, memberCookie, type Auth, type Endpoint } from './endpoint.ts'
export { additions, apiVersion, endpoints, operatorEndpoints, specification } from './endpoints.ts'
export { openApiDocument } from './openapi.ts'
export {
  assurances,
  credentialKinds,
  keyPurposes,
  rails,
  uniquenessLevels,
  type Assurance,
  type CredentialKind,
} from './credentials.ts'
export {
  credentialClaims,
  lifetimeDays,
  onchainClaims,
  testLifetimeDays,
  type CredentialClaims,
  type OnchainClaims,
} from './claims.ts'
export { freeSealsPerMonth, packNames, packs, type PackName } from './credits.ts'
export { deviceAssurances, sandboxProfiles } from './evidence.ts'
export { payoutStates, type PayoutState } from './partners.ts'
export { purchaseStates, type Purchase } from './purchases.ts'
export { type MetricsRow } from './tracking.ts'
export { type Epoch } from './vhh.ts'
export { orderStates, type PaymentRequirement, type Workflow } from './work.ts'
export { type AnswerForm, type InputForm } from './work-forms.ts'
export {
  rejectReasons,
  unitStates,
  type Order,
  type OrderState,
  type OrderUnit,
  type RejectReason,
  type UnitState,
} from './work-orders.ts'
export {
  type Appeal,
  type OperatorOrder,
  type OperatorWorkflow,
  type WorkflowTerms,
} from './work-operators.ts'
export { assignmentStates } from './worker.ts'
export { sessionKinds, type Probe, type Receipt } from './sessions.ts'
export { attestationSettings, type AttestationSettings } from './agents.ts'
export { deliveryStates, type WebhookDelivery, type WebhookEndpoint } from './webhooks.ts'

import * as agents from './agents.ts'
import * as credentials from './credentials.ts'
import * as credits from './credits.ts'
import * as discovery from './discovery.ts'
import type { Endpoint } from './endpoint.ts'
import * as evidence from './evidence.ts'
import * as members from './members.ts'
import * as operators from './operators.ts'
import * as partners from './partners.ts'
import * as sessions from './sessions.ts'
import * as payments from './payments.ts'
import * as purchases from './purchases.ts'
import * as tracking from './tracking.ts'
import * as vhh from './vhh.ts'
import * as webhooks from './webhooks.ts'
import * as work from './work.ts'
import * as workOperators from './work-operators.ts'
import * as workOrders from './work-orders.ts'
import * as worker from './worker.ts'

/** THE TABLE: every endpoint of the specification, in its order. `id` is the file that holds the operation. */
// prettier-ignore
export const specification = [
  { id: 'agents.register', method: 'POST', path: '/api/agents/register', auth: 'public', status: 'built', ...agents.register },
  { id: 'credits.buy', method: 'POST', path: '/api/agents/credits/buy', auth: 'bearer', scope: 'credits', status: 'built', ...credits.buy },
  { id: 'credits.balance', method: 'GET', path: '/api/agents/credits/balance', auth: 'bearer', scope: 'credits', status: 'built', ...credits.balance },
  { id: 'credentials.verify', method: 'POST', path: '/api/agents/verify', auth: 'bearer', scope: 'verify', status: 'built', ...credentials.verify },
  { id: 'credentials.verify-personhood', method: 'POST', path: '/api/agents/verify-personhood', auth: 'bearer', scope: 'verify', status: 'built', ...credentials.verifyPersonhood },
  { id: 'evidence.wallet-challenge', method: 'POST', path: '/api/agents/wallet/challenge', auth: 'bearer', scope: 'evidence', status: 'built', ...evidence.walletChallenge },
  { id: 'evidence.kinetic-submit', method: 'POST', path: '/api/kinetic/submit', auth: 'bearer', scope: 'evidence', status: 'built', ...evidence.kineticSubmit },
  { id: 'evidence.attest-challenge', method: 'POST', path: '/api/agents/attest/challenge', auth: 'bearer', scope: 'evidence', status: 'built', ...evidence.attestChallenge },
  { id: 'evidence.attest-verify', method: 'POST', path: '/api/agents/attest/verify', auth: 'bearer', scope: 'evidence', status: 'built', ...evidence.attestVerify },
  { id: 'tracking.event', method: 'POST', path: '/api/track/event', auth: 'public', status: 'built', ...tracking.event },
  { id: 'tracking.conversion', method: 'POST', path: '/api/agents/track/conversion', auth: 'bearer', scope: 'tracking', status: 'built', ...tracking.conversion },
  { id: 'tracking.metrics', method: 'GET', path: '/api/agents/metrics', auth: 'bearer', scope: 'tracking', status: 'built', ...tracking.metrics },
  { id: 'tracking.funnel', method: 'GET', path: '/api/agents/metrics/funnel', auth: 'bearer', scope: 'tracking', status: 'built', ...tracking.funnel },
  { id: 'work.tasks-next', method: 'GET', path: '/api/tasks/next', auth: 'public', status: 'built', ...work.tasksNext },
  { id: 'work.tasks-complete', method: 'POST', path: '/api/tasks/complete', auth: 'public', status: 'built', ...work.tasksComplete },
  { id: 'webhooks.register', method: 'POST', path: '/api/agents/webhooks', auth: 'bearer', scope: 'webhooks', status: 'built', ...webhooks.register },
  { id: 'partners.points-convert', method: 'POST', path: '/api/partner/points/convert', auth: 'bearer', scope: 'partners', status: 'built', ...partners.pointsConvert },
  { id: 'partners.payout-request', method: 'POST', path: '/api/partner/payout/request', auth: 'bearer', scope: 'partners', status: 'built', ...partners.payoutRequest },
  { id: 'signing.jwks', method: 'GET', path: '/.well-known/jwks.json', auth: 'public', status: 'built', ...credentials.jwks },
  { id: 'work.workflows-available', method: 'GET', path: '/api/workflows/available', auth: 'optional', status: 'built', ...work.workflowsAvailable },
  { id: 'work.order', method: 'POST', path: '/api/agents/order', auth: 'order', scope: 'work', status: 'built', ...work.order },
  { id: 'work.order-fund', method: 'POST', path: '/api/agents/order/fund', auth: 'bearer', scope: 'work', status: 'built', ...work.orderFund },
  { id: 'work.task-buy', method: 'GET', path: '/api/agent/tasks/{workflowId}/buy', auth: 'optional', status: 'built', ...work.taskBuy },
  { id: 'work.task-buy', method: 'POST', path: '/api/agent/tasks/{workflowId}/buy', auth: 'optional', status: 'built', ...work.taskBuy },
  { id: 'credentials.bind-transaction', method: 'POST', path: '/api/agents/bind-transaction', auth: 'bearer', scope: 'verify', status: 'built', ...credentials.bindTransaction },
  { id: 'vhh.catalogue', method: 'GET', path: '/api/index', auth: 'public', status: 'built', ...vhh.catalogue },
  { id: 'vhh.composite', method: 'GET', path: '/api/index/vhh', auth: 'optional', status: 'built', ...vhh.composite },
  { id: 'vhh.series', method: 'GET', path: '/api/index/{code}', auth: 'licensed', scope: 'index', status: 'built', ...vhh.series },
  { id: 'vhh.forwards-order', method: 'POST', path: '/api/forwards/order', auth: 'public', status: 'built', ...vhh.forwardsOrder },
  { id: 'discovery.manifest', method: 'GET', path: '/api/agents/discovery', auth: 'optional', status: 'built', ...discovery.manifest },
  { id: 'discovery.mcp', method: 'POST', path: '/mcp', auth: 'optional', status: 'built', ...discovery.mcp },
  { id: 'discovery.mcp', method: 'POST', path: '/api/mcp', auth: 'optional', status: 'built', ...discovery.mcp },
] as const satisfies readonly Endpoint[]

/** What we add for agents; a client of the specification never needs it. */
// prettier-ignore
export const additions = [
  { id: 'agents.profile', method: 'GET', path: '/api/agents/me', auth: 'bearer', scope: 'keys', status: 'built', ...agents.profile },
  { id: 'agents.profile-update', method: 'PATCH', path: '/api/agents/me', auth: 'bearer', scope: 'keys', status: 'built', ...agents.profileUpdate },
  { id: 'agents.email-confirm', method: 'POST', path: '/api/agents/email/confirm', auth: 'public', status: 'built', ...agents.emailConfirm },
  { id: 'agents.email-resend', method: 'POST', path: '/api/agents/email/resend', auth: 'bearer', scope: 'keys', status: 'built', ...agents.emailResend },
  { id: 'agents.keys-list', method: 'GET', path: '/api/agents/keys', auth: 'bearer', scope: 'keys', status: 'built', ...agents.keysList },
  { id: 'agents.keys-create', method: 'POST', path: '/api/agents/keys', auth: 'bearer', scope: 'keys', status: 'built', ...agents.keysCreate },
  { id: 'agents.keys-rotate', method: 'POST', path: '/api/agents/keys/rotate', auth: 'bearer', scope: 'keys', status: 'built', ...agents.keysRotate },
  { id: 'agents.keys-revoke', method: 'POST', path: '/api/agents/keys/revoke', auth: 'bearer', scope: 'keys', status: 'built', ...agents.keysRevoke },
  { id: 'agents.keys-recover', method: 'POST', path: '/api/agents/keys/recover', auth: 'public', status: 'built', ...agents.keysRecover },
  { id: 'agents.keys-recover-complete', method: 'POST', path: '/api/agents/keys/recover/complete', auth: 'public', status: 'built', ...agents.keysRecoverComplete },
  { id: 'sessions.create', method: 'POST', path: '/api/sessions', auth: 'public', status: 'built', ...sessions.create },
  { id: 'sessions.telemetry', method: 'POST', path: '/api/sessions/{sessionId}/telemetry', auth: 'public', status: 'built', ...sessions.telemetry },
  { id: 'sessions.finish', method: 'POST', path: '/api/sessions/{sessionId}/finish', auth: 'public', status: 'built', ...sessions.finish },
  { id: 'sessions.read', method: 'GET', path: '/api/agents/sessions/{sessionId}', auth: 'bearer', scope: 'evidence', status: 'built', ...sessions.read },
  { id: 'sessions.chunks', method: 'GET', path: '/api/agents/sessions/{sessionId}/chunks', auth: 'bearer', scope: 'evidence', status: 'built', ...sessions.chunks },
  { id: 'members.create', method: 'POST', path: '/api/agents/members', auth: 'bearer', scope: 'evidence', status: 'built', ...members.create },
  { id: 'members.list', method: 'GET', path: '/api/agents/members', auth: 'bearer', scope: 'evidence', status: 'built', ...members.list },
  { id: 'members.read', method: 'GET', path: '/api/agents/members/{memberId}', auth: 'bearer', scope: 'evidence', status: 'built', ...members.read },
  { id: 'members.act-once', method: 'POST', path: '/api/agents/members/{memberId}/acts', auth: 'bearer', scope: 'evidence', status: 'built', ...members.actOnce },
  { id: 'members.passkey-options', method: 'POST', path: '/api/members/passkey-options', auth: 'public', status: 'built', ...members.passkeyOptions },
  { id: 'members.enrol', method: 'POST', path: '/api/members/enrol', auth: 'public', status: 'built', ...members.enrol },
  { id: 'members.attention', method: 'POST', path: '/api/members/attention', auth: 'public', status: 'built', ...members.attention },
  { id: 'members.sign-in', method: 'POST', path: '/api/members/sign-in', auth: 'public', status: 'built', ...members.signIn },
  { id: 'members.sign-out', method: 'POST', path: '/api/members/sign-out', auth: 'public', status: 'built', ...members.signOut },
  { id: 'members.me', method: 'GET', path: '/api/members/me', auth: 'public', status: 'built', ...members.me },
  { id: 'members.recording', method: 'GET', path: '/api/members/me/sessions/{sessionId}/chunks', auth: 'public', status: 'built', ...members.recording },
  { id: 'members.export', method: 'GET', path: '/api/members/me/export', auth: 'public', status: 'built', ...members.exportAll },
  { id: 'members.withdraw', method: 'POST', path: '/api/members/me/withdraw', auth: 'public', status: 'built', ...members.withdraw },
  { id: 'members.erase', method: 'POST', path: '/api/members/me/erase', auth: 'public', status: 'built', ...members.erase },
  { id: 'members.proof-add', method: 'POST', path: '/api/members/me/proofs', auth: 'public', status: 'built', ...members.proofAdd },
  { id: 'members.codes-renew', method: 'POST', path: '/api/members/me/recovery-codes', auth: 'public', status: 'built', ...members.codesRenew },
  { id: 'members.passkey-add', method: 'POST', path: '/api/members/me/passkeys', auth: 'public', status: 'built', ...members.passkeyAdd },
  { id: 'evidence.test-session', method: 'POST', path: '/api/test/sessions', auth: 'bearer', scope: 'evidence', status: 'built', ...evidence.testSession },
  { id: 'work.purchase-read', method: 'GET', path: '/api/agent/purchases/{purchaseId}', auth: 'public', status: 'built', ...purchases.purchaseRead },
  { id: 'work.purchases-list', method: 'GET', path: '/api/agents/purchases', auth: 'bearer', scope: 'work', status: 'built', ...purchases.purchasesList },
  { id: 'work.orders-list', method: 'GET', path: '/api/agents/orders', auth: 'bearer', scope: 'work', status: 'built', ...workOrders.ordersList },
  { id: 'work.order-read', method: 'GET', path: '/api/agents/orders/{orderId}', auth: 'bearer', scope: 'work', status: 'built', ...workOrders.orderRead },
  { id: 'work.order-results', method: 'GET', path: '/api/agents/orders/{orderId}/results', auth: 'bearer', scope: 'work', status: 'built', ...workOrders.orderResults },
  { id: 'work.order-cancel', method: 'POST', path: '/api/agents/orders/{orderId}/cancel', auth: 'bearer', scope: 'work', status: 'built', ...workOrders.orderCancel },
  { id: 'work.unit-accept', method: 'POST', path: '/api/agents/orders/{orderId}/units/{n}/accept', auth: 'bearer', scope: 'work', status: 'built', ...workOrders.unitAccept },
  { id: 'work.unit-reject', method: 'POST', path: '/api/agents/orders/{orderId}/units/{n}/reject', auth: 'bearer', scope: 'work', status: 'built', ...workOrders.unitReject },
  { id: 'work.worker-tasks', method: 'GET', path: '/api/work/tasks', auth: 'public', status: 'built', ...worker.workerTasks },
  { id: 'work.worker-claim', method: 'POST', path: '/api/work/claim', auth: 'public', status: 'built', ...worker.workerClaim },
  { id: 'work.worker-assignment', method: 'GET', path: '/api/work/assignments/{assignmentId}', auth: 'public', status: 'built', ...worker.workerAssignment },
  { id: 'work.worker-deliver', method: 'POST', path: '/api/work/assignments/{assignmentId}/deliver', auth: 'public', status: 'built', ...worker.workerDeliver },
  { id: 'work.worker-return', method: 'POST', path: '/api/work/assignments/{assignmentId}/return', auth: 'public', status: 'built', ...worker.workerReturn },
  { id: 'work.worker-appeal', method: 'POST', path: '/api/work/assignments/{assignmentId}/appeal', auth: 'public', status: 'built', ...worker.workerAppeal },
  { id: 'work.worker-earnings', method: 'GET', path: '/api/work/earnings', auth: 'public', status: 'built', ...worker.workerEarnings },
  { id: 'work.worker-payout', method: 'POST', path: '/api/work/payout', auth: 'public', status: 'built', ...worker.workerPayout },
  { id: 'webhooks.list', method: 'GET', path: '/api/agents/webhooks', auth: 'bearer', scope: 'webhooks', status: 'built', ...webhooks.list },
  { id: 'webhooks.update', method: 'PATCH', path: '/api/agents/webhooks/{webhookId}', auth: 'bearer', scope: 'webhooks', status: 'built', ...webhooks.update },
  { id: 'webhooks.remove', method: 'DELETE', path: '/api/agents/webhooks/{webhookId}', auth: 'bearer', scope: 'webhooks', status: 'built', ...webhooks.remove },
  { id: 'webhooks.rotate', method: 'POST', path: '/api/agents/webhooks/{webhookId}/rotate', auth: 'bearer', scope: 'webhooks', status: 'built', ...webhooks.rotate },
  { id: 'webhooks.send-test', method: 'POST', path: '/api/agents/webhooks/{webhookId}/test', auth: 'bearer', scope: 'webhooks', status: 'built', ...webhooks.sendTest },
  { id: 'webhooks.recover', method: 'POST', path: '/api/agents/webhooks/{webhookId}/recover', auth: 'bearer', scope: 'webhooks', status: 'built', ...webhooks.recover },
  { id: 'webhooks.deliveries', method: 'GET', path: '/api/agents/webhooks/{webhookId}/deliveries', auth: 'bearer', scope: 'webhooks', status: 'built', ...webhooks.deliveries },
  { id: 'webhooks.replay', method: 'POST', path: '/api/agents/webhooks/deliveries/{deliveryId}/replay', auth: 'bearer', scope: 'webhooks', status: 'built', ...webhooks.replay },
  { id: 'webhooks.read-events', method: 'GET', path: '/api/agents/events', auth: 'bearer', scope: 'webhooks', status: 'built', ...webhooks.readEvents },
  { id: 'webhooks.trigger', method: 'POST', path: '/api/test/events', auth: 'bearer', scope: 'webhooks', status: 'built', ...webhooks.trigger },
  { id: 'webhooks.catalog', method: 'GET', path: '/api/events/catalog', auth: 'public', status: 'built', ...webhooks.catalog },
  { id: 'credentials.status-list', method: 'GET', path: '/status/{list}', auth: 'public', status: 'built', ...credentials.statusList },
  { id: 'payments.card-webhook', method: 'POST', path: '/api/payments/card/webhook', auth: 'public', status: 'built', ...payments.cardWebhook },
  { id: 'discovery.mcp-identity', method: 'POST', path: '/mcp/identity', auth: 'optional', status: 'built', ...discovery.mcpIdentity },
  { id: 'discovery.mcp-identity', method: 'POST', path: '/api/mcp/identity', auth: 'optional', status: 'built', ...discovery.mcpIdentity },
] as const satisfies readonly Endpoint[]

/** What operators call, on their own listener. */
// prettier-ignore
export const operatorEndpoints = [
  { id: 'operators.list', method: 'GET', path: '/operator/operators', auth: 'operator', status: 'built', ...operators.operatorList },
  { id: 'operators.create', method: 'POST', path: '/operator/operators', auth: 'operator', status: 'built', ...operators.operatorCreate },
  { id: 'operators.revoke', method: 'POST', path: '/operator/operators/{operatorId}/revoke', auth: 'operator', status: 'built', ...operators.operatorRevoke },
  { id: 'operators.audit', method: 'GET', path: '/operator/audit', auth: 'operator', status: 'built', ...operators.auditList },
  { id: 'agents.operator-list', method: 'GET', path: '/operator/agents', auth: 'operator', status: 'built', ...operators.agentsList },
  { id: 'agents.operator-suspend', method: 'POST', path: '/operator/agents/{agentId}/suspend', auth: 'operator', status: 'built', ...operators.agentSuspend },
  { id: 'signing.keys-list', method: 'GET', path: '/operator/keys', auth: 'operator', status: 'built', ...operators.signingKeysList },
  { id: 'signing.keys-onchain', method: 'GET', path: '/operator/keys/onchain', auth: 'operator', status: 'built', ...operators.signingKeysOnchain },
  { id: 'signing.keys-rotate', method: 'POST', path: '/operator/keys/rotate', auth: 'operator', status: 'built', ...operators.signingKeysRotate },
  { id: 'signing.keys-revoke', method: 'POST', path: '/operator/keys/{kid}/revoke', auth: 'operator', status: 'built', ...operators.signingKeysRevoke },
  { id: 'credentials.operator-revoke', method: 'POST', path: '/operator/credentials/{credentialId}/revoke', auth: 'operator', status: 'built', ...credentials.operatorRevoke },
  { id: 'credentials.operator-suspend', method: 'POST', path: '/operator/credentials/{credentialId}/suspend', auth: 'operator', status: 'built', ...credentials.operatorSuspend },
  { id: 'credentials.operator-reinstate', method: 'POST', path: '/operator/credentials/{credentialId}/reinstate', auth: 'operator', status: 'built', ...credentials.operatorReinstate },
  { id: 'signing.keys-check', method: 'GET', path: '/operator/keys/check', auth: 'operator', status: 'built', ...operators.signingKeysCheck },
  { id: 'members.operator-erase', method: 'POST', path: '/operator/agents/{agentId}/members/{memberId}/erase', auth: 'operator', status: 'built', ...members.operatorErase },
  { id: 'credits.operator-check', method: 'GET', path: '/operator/credits/check', auth: 'operator', status: 'built', ...operators.creditsCheck },
  { id: 'payments.operator-refunds', method: 'GET', path: '/operator/refunds', auth: 'operator', status: 'built', ...payments.operatorRefunds },
  { id: 'payments.operator-refund', method: 'POST', path: '/operator/refunds', auth: 'operator', status: 'built', ...payments.operatorRefund },
  { id: 'payments.operator-refund-retry', method: 'POST', path: '/operator/refunds/{refundId}/retry', auth: 'operator', status: 'built', ...payments.operatorRefundRetry },
  { id: 'ledger.operator-check', method: 'GET', path: '/operator/ledger/check', auth: 'operator', status: 'built', ...operators.ledgerCheck },
  { id: 'partners.payout-list', method: 'GET', path: '/operator/payouts', auth: 'operator', status: 'built', ...partners.payoutList },
  { id: 'partners.payout-review', method: 'POST', path: '/operator/payouts/{requestId}/review', auth: 'operator', status: 'built', ...partners.payoutReview },
  { id: 'partners.payout-approve', method: 'POST', path: '/operator/payouts/{requestId}/approve', auth: 'operator', status: 'built', ...partners.payoutApprove },
  { id: 'partners.payout-pay', method: 'POST', path: '/operator/payouts/{requestId}/pay', auth: 'operator', status: 'built', ...partners.payoutPay },
  { id: 'partners.payout-reject', method: 'POST', path: '/operator/payouts/{requestId}/reject', auth: 'operator', status: 'built', ...partners.payoutReject },
  { id: 'work.operator-purchases', method: 'GET', path: '/operator/purchases', auth: 'operator', status: 'built', ...purchases.operatorPurchases },
  { id: 'work.operator-refund', method: 'POST', path: '/operator/purchases/{purchaseId}/refund', auth: 'operator', status: 'built', ...purchases.operatorRefund },
  { id: 'work.operator-workflows', method: 'GET', path: '/operator/workflows', auth: 'operator', status: 'built', ...workOperators.operatorWorkflows },
  { id: 'work.operator-workflow-write', method: 'POST', path: '/operator/workflows/{workflowId}', auth: 'operator', status: 'built', ...workOperators.operatorWorkflowWrite },
  { id: 'work.operator-workflow-retire', method: 'POST', path: '/operator/workflows/{workflowId}/retire', auth: 'operator', status: 'built', ...workOperators.operatorWorkflowRetire },
  { id: 'work.operator-orders', method: 'GET', path: '/operator/orders', auth: 'operator', status: 'built', ...workOperators.operatorOrders },
  { id: 'work.operator-offer-accept', method: 'POST', path: '/operator/agents/{agentId}/orders/{orderId}/accept', auth: 'operator', status: 'built', ...workOperators.operatorOfferAccept },
  { id: 'work.operator-offer-decline', method: 'POST', path: '/operator/agents/{agentId}/orders/{orderId}/decline', auth: 'operator', status: 'built', ...workOperators.operatorOfferDecline },
  { id: 'work.operator-appeals', method: 'GET', path: '/operator/appeals', auth: 'operator', status: 'built', ...workOperators.operatorAppeals },
  { id: 'work.operator-appeal-decide', method: 'POST', path: '/operator/appeals/{assignmentId}/decide', auth: 'operator', status: 'built', ...workOperators.operatorAppealDecide },
  { id: 'work.operator-produce', method: 'POST', path: '/operator/work/produce', auth: 'operator', status: 'built', ...workOperators.operatorProduce },
] as const satisfies readonly Endpoint[]

export const endpoints: readonly Endpoint[] = [...specification, ...additions]

export const apiVersion = '1.0.0'

import * as accounts from './accounts/operations.ts'
import * as agents from './agents/operations.ts'
import * as credentials from './credentials/operations.ts'
import * as credits from './credits/operations.ts'
import * as discovery from './discovery/operations.ts'
import type { Endpoint } from './platform/endpoint.ts'
import * as evidence from './evidence/operations.ts'
import * as approvalAdministration from './approvals/administration.ts'
import * as approvalEffectiveness from './approvals/effectiveness.ts'
import * as approvals from './approvals/operations.ts'
import * as companies from './issuers/companies.ts'
import * as issuers from './issuers/operations.ts'
import * as scim from './issuers/scim.ts'
import * as members from './members/operations.ts'
import * as campaigns from './microtasks/campaigns.ts'
import * as microtasks from './microtasks/operations.ts'
import * as operatorAgents from './operators/agents.ts'
import * as operators from './operators/operations.ts'
import { operatorOverview } from './operators/overview.ts'
import * as operatorSignIn from './operators/sign-in.ts'
import * as partners from './partners/operations.ts'
import * as questions from './questions/operations.ts'
import * as requests from './requests/operations.ts'
import * as roots from './roots/operations.ts'
import * as sessions from './sessions/operations.ts'
import * as payments from './payments/operations.ts'
import * as purchases from './purchases/operations.ts'
import * as tracking from './tracking/operations.ts'
import * as trust from './trust/operations.ts'
import * as vhh from './vhh/operations.ts'
import * as webhooks from './webhooks/operations.ts'
import * as workflows from './work/workflows.ts'
import * as workOperators from './work/operator.ts'
import * as workOrders from './work/orders.ts'
import * as worker from './work/workers.ts'

/**
 * THE TABLE: every endpoint of the specification, in its order. `id` is the file that holds the operation and follows
 * it when it moves; `publicId` is what clients, dashboards and documents know the row by and never changes.
 */
// prettier-ignore
export const specification = [
  { id: 'agents.register', publicId: 'agents.register', method: 'POST', path: '/api/agents/register', auth: 'public', ...agents.register },
  { id: 'credits.buy', publicId: 'credits.buy', method: 'POST', path: '/api/agents/credits/buy', auth: 'bearer', scope: 'credits', ownerInLive: true, ...credits.buy },
  { id: 'credits.balance', publicId: 'credits.balance', method: 'GET', path: '/api/agents/credits/balance', auth: 'bearer', scope: 'credits', ...credits.balance },
  { id: 'credentials.verify', publicId: 'credentials.verify', method: 'POST', path: '/api/agents/verify', auth: 'bearer', scope: 'verify', ...credentials.verify },
  { id: 'credentials.verify-personhood', publicId: 'credentials.verify-personhood', method: 'POST', path: '/api/agents/verify-personhood', auth: 'bearer', scope: 'verify', ...credentials.verifyPersonhood },
  { id: 'evidence.wallets.challenge', publicId: 'evidence.wallet-challenge', method: 'POST', path: '/api/agents/wallet/challenge', auth: 'bearer', scope: 'evidence', ...evidence.walletChallenge },
  { id: 'evidence.presence.submit', publicId: 'evidence.kinetic-submit', method: 'POST', path: '/api/kinetic/submit', auth: 'bearer', scope: 'evidence', ...evidence.kineticSubmit },
  { id: 'evidence.devices.challenge', publicId: 'evidence.attest-challenge', method: 'POST', path: '/api/agents/attest/challenge', auth: 'bearer', scope: 'evidence', ...evidence.attestChallenge },
  { id: 'evidence.devices.verify', publicId: 'evidence.attest-verify', method: 'POST', path: '/api/agents/attest/verify', auth: 'bearer', scope: 'evidence', ...evidence.attestVerify },
  { id: 'tracking.event', publicId: 'tracking.event', method: 'POST', path: '/api/track/event', auth: 'public', ...tracking.event },
  { id: 'tracking.conversion', publicId: 'tracking.conversion', method: 'POST', path: '/api/agents/track/conversion', auth: 'bearer', scope: 'tracking', ...tracking.conversion },
  { id: 'tracking.metrics', publicId: 'tracking.metrics', method: 'GET', path: '/api/agents/metrics', auth: 'bearer', scope: 'tracking', ...tracking.metrics },
  { id: 'tracking.funnel', publicId: 'tracking.funnel', method: 'GET', path: '/api/agents/metrics/funnel', auth: 'bearer', scope: 'tracking', ...tracking.funnel },
  { id: 'microtasks.next', publicId: 'work.tasks-next', method: 'GET', path: '/api/tasks/next', auth: 'public', ...microtasks.tasksNext },
  { id: 'microtasks.complete', publicId: 'work.tasks-complete', method: 'POST', path: '/api/tasks/complete', auth: 'public', ...microtasks.tasksComplete },
  { id: 'webhooks.endpoints.register', publicId: 'webhooks.register', method: 'POST', path: '/api/agents/webhooks', auth: 'bearer', scope: 'webhooks', needsRecentSignIn: true, ...webhooks.register },
  { id: 'partners.points-convert', publicId: 'partners.points-convert', method: 'POST', path: '/api/partner/points/convert', auth: 'bearer', scope: 'partners', ownerInLive: true, ...partners.pointsConvert },
  { id: 'partners.payout-request', publicId: 'partners.payout-request', method: 'POST', path: '/api/partner/payout/request', auth: 'bearer', scope: 'partners', ownerInLive: true, ...partners.payoutRequest },
  { id: 'signing.jwks', publicId: 'signing.jwks', method: 'GET', path: '/.well-known/jwks.json', auth: 'public', ...credentials.jwks },
  { id: 'work.workflows.available', publicId: 'work.workflows-available', method: 'GET', path: '/api/workflows/available', auth: 'optional', ...workflows.workflowsAvailable },
  { id: 'work.orders.create', publicId: 'work.order', method: 'POST', path: '/api/agents/order', auth: 'order', scope: 'work', ...workOrders.order },
  { id: 'work.orders.fund', publicId: 'work.order-fund', method: 'POST', path: '/api/agents/order/fund', auth: 'bearer', scope: 'work', ownerInLive: true, ...workOrders.orderFund },
  { id: 'purchases.buy', publicId: 'work.task-buy', method: 'GET', path: '/api/agent/tasks/{workflowId}/buy', auth: 'optional', writes: true, ...purchases.taskBuy },
  { id: 'purchases.buy', publicId: 'work.task-buy-post', method: 'POST', path: '/api/agent/tasks/{workflowId}/buy', auth: 'optional', ...purchases.taskBuy },
  { id: 'credentials.binding.bind', publicId: 'credentials.bind-transaction', method: 'POST', path: '/api/agents/bind-transaction', auth: 'bearer', scope: 'verify', ...credentials.bindTransaction },
  { id: 'vhh.catalogue', publicId: 'vhh.catalogue', method: 'GET', path: '/api/index', auth: 'public', ...vhh.catalogue },
  { id: 'vhh.composite', publicId: 'vhh.composite', method: 'GET', path: '/api/index/vhh', auth: 'optional', ...vhh.composite },
  { id: 'vhh.series', publicId: 'vhh.series', method: 'GET', path: '/api/index/{code}', auth: 'licensed', scope: 'index', ...vhh.series },
  { id: 'vhh.forwards-order', publicId: 'vhh.forwards-order', method: 'POST', path: '/api/forwards/order', auth: 'public', ...vhh.forwardsOrder },
  { id: 'discovery.manifest', publicId: 'discovery.manifest', method: 'GET', path: '/api/agents/discovery', auth: 'optional', ...discovery.manifest },
  { id: 'discovery.mcp', publicId: 'discovery.mcp', method: 'POST', path: '/mcp', auth: 'optional', ...discovery.mcp },
  { id: 'discovery.mcp', publicId: 'discovery.api-mcp', method: 'POST', path: '/api/mcp', auth: 'optional', ...discovery.mcp },
] as const satisfies readonly Endpoint[]

/** Endpoints beyond the specification; a client of the specification never needs them. */
// prettier-ignore
export const additions = [
  { id: 'agents.profile', publicId: 'agents.profile', method: 'GET', path: '/api/agents/me', auth: 'bearer', scope: 'keys', ...agents.profile },
  { id: 'agents.profile-update', publicId: 'agents.profile-update', method: 'PATCH', path: '/api/agents/me', auth: 'bearer', scope: 'keys', needsRecentSignIn: true, ...agents.profileUpdate },
  { id: 'agents.email-confirm', publicId: 'agents.email-confirm', method: 'POST', path: '/api/agents/email/confirm', auth: 'public', ...agents.emailConfirm },
  { id: 'agents.email-resend', publicId: 'agents.email-resend', method: 'POST', path: '/api/agents/email/resend', auth: 'bearer', scope: 'keys', ...agents.emailResend },
  { id: 'agents.keys.list', publicId: 'agents.keys-list', method: 'GET', path: '/api/agents/keys', auth: 'bearer', scope: 'keys', ...agents.keysList },
  { id: 'agents.keys.create', publicId: 'agents.keys-create', method: 'POST', path: '/api/agents/keys', auth: 'bearer', scope: 'keys', ownerInLive: true, needsRecentSignIn: true, ...agents.keysCreate },
  { id: 'agents.keys.rotate', publicId: 'agents.keys-rotate', method: 'POST', path: '/api/agents/keys/rotate', auth: 'bearer', scope: 'keys', ownerInLive: true, needsRecentSignIn: true, ...agents.keysRotate },
  { id: 'agents.keys.revoke', publicId: 'agents.keys-revoke', method: 'POST', path: '/api/agents/keys/revoke', auth: 'bearer', scope: 'keys', ownerInLive: true, needsRecentSignIn: true, ...agents.keysRevoke },
  { id: 'agents.keys.recover', publicId: 'agents.keys-recover', method: 'POST', path: '/api/agents/keys/recover', auth: 'public', ...agents.keysRecover },
  { id: 'agents.keys.recover-complete', publicId: 'agents.keys-recover-complete', method: 'POST', path: '/api/agents/keys/recover/complete', auth: 'public', ...agents.keysRecoverComplete },
  { id: 'sessions.create', publicId: 'sessions.create', method: 'POST', path: '/api/sessions', auth: 'public', ...sessions.create },
  { id: 'sessions.recording.telemetry', publicId: 'sessions.telemetry', method: 'POST', path: '/api/sessions/{sessionId}/telemetry', auth: 'public', ...sessions.telemetry },
  { id: 'sessions.finish', publicId: 'sessions.finish', method: 'POST', path: '/api/sessions/{sessionId}/finish', auth: 'public', ...sessions.finish },
  { id: 'sessions.read', publicId: 'sessions.read', method: 'GET', path: '/api/agents/sessions/{sessionId}', auth: 'bearer', scope: 'evidence', ...sessions.read },
  { id: 'sessions.recording.chunks', publicId: 'sessions.chunks', method: 'GET', path: '/api/agents/sessions/{sessionId}/chunks', auth: 'bearer', scope: 'evidence', ...sessions.chunks },
  { id: 'sessions.list', publicId: 'sessions.list', method: 'GET', path: '/api/agents/sessions', auth: 'bearer', scope: 'evidence', ...sessions.list },
  { id: 'members.membership.create', publicId: 'members.create', method: 'POST', path: '/api/agents/members', auth: 'bearer', scope: 'evidence', ...members.create },
  { id: 'members.membership.list', publicId: 'members.list', method: 'GET', path: '/api/agents/members', auth: 'bearer', scope: 'evidence', ...members.list },
  { id: 'members.membership.read', publicId: 'members.read', method: 'GET', path: '/api/agents/members/{memberId}', auth: 'bearer', scope: 'evidence', ...members.read },
  { id: 'members.membership.act-once', publicId: 'members.act-once', method: 'POST', path: '/api/agents/members/{memberId}/acts', auth: 'bearer', scope: 'evidence', ...members.actOnce },
  // Public: a person who enrols or signs in has no login yet.
  { id: 'members.people.passkey-options', publicId: 'members.passkey-options', method: 'POST', path: '/api/members/passkey-options', auth: 'public', ...members.passkeyOptions },
  // Public: the invitation authorizes, and it signs a new person in.
  { id: 'members.membership.enrol', publicId: 'members.enrol', method: 'POST', path: '/api/members/enrol', auth: 'public', ...members.enrol },
  { id: 'members.membership.attention', publicId: 'members.attention', method: 'POST', path: '/api/members/attention', auth: 'member', ...members.attention },
  // Public: it creates the login.
  { id: 'members.people.sign-in', publicId: 'members.sign-in', method: 'POST', path: '/api/members/sign-in', auth: 'public', ...members.signIn },
  // Public: it succeeds for a person who is signed out already.
  { id: 'members.people.sign-out', publicId: 'members.sign-out', method: 'POST', path: '/api/members/sign-out', auth: 'public', ...members.signOut },
  { id: 'members.people.me', publicId: 'members.me', method: 'GET', path: '/api/members/me', auth: 'member', ...members.me },
  { id: 'members.people.recording', publicId: 'members.recording', method: 'GET', path: '/api/members/me/sessions/{sessionId}/chunks', auth: 'member', ...members.recording },
  { id: 'members.people.export', publicId: 'members.export', method: 'GET', path: '/api/members/me/export', auth: 'member', ...members.exportAll },
  { id: 'members.membership.withdraw', publicId: 'members.withdraw', method: 'POST', path: '/api/members/me/withdraw', auth: 'member', ...members.withdraw },
  { id: 'members.people.erase', publicId: 'members.erase', method: 'POST', path: '/api/members/me/erase', auth: 'member', ...members.erase },
  { id: 'members.people.proof-begin', publicId: 'members.proof-begin', method: 'POST', path: '/api/members/me/proofs/begin', auth: 'member', ...members.proofBegin },
  { id: 'members.people.proof-finish', publicId: 'members.proof-finish', method: 'POST', path: '/api/members/me/proofs/finish', auth: 'member', ...members.proofFinish },
  { id: 'members.people.codes-renew', publicId: 'members.codes-renew', method: 'POST', path: '/api/members/me/recovery-codes', auth: 'member', ...members.codesRenew },
  { id: 'members.people.passkey-add', publicId: 'members.passkey-add', method: 'POST', path: '/api/members/me/passkeys', auth: 'member', ...members.passkeyAdd },
  { id: 'evidence.devices.step-up-link', publicId: 'evidence.step-up-link', method: 'POST', path: '/api/agents/step-up', auth: 'bearer', scope: 'evidence', ...evidence.stepUpLink },
  { id: 'evidence.devices.step-up-options', publicId: 'evidence.step-up-options', method: 'POST', path: '/api/step-up/options', auth: 'public', ...evidence.stepUpOptions },
  { id: 'evidence.devices.step-up', publicId: 'evidence.step-up', method: 'POST', path: '/api/step-up', auth: 'public', ...evidence.stepUp },
  { id: 'evidence.scoring.test-session', publicId: 'evidence.test-session', method: 'POST', path: '/api/test/sessions', auth: 'bearer', scope: 'evidence', ...evidence.testSession },
  { id: 'vhh.inputs', publicId: 'vhh.inputs', method: 'GET', path: '/api/index/vhh/inputs', auth: 'public', ...vhh.inputs },
  { id: 'vhh.series-inputs', publicId: 'vhh.series-inputs', method: 'GET', path: '/api/index/{code}/inputs', auth: 'licensed', scope: 'index', ...vhh.seriesInputs },
  { id: 'purchases.read', publicId: 'work.purchase-read', method: 'GET', path: '/api/agent/purchases/{purchaseId}', auth: 'public', ...purchases.purchaseRead },
  { id: 'purchases.list', publicId: 'work.purchases-list', method: 'GET', path: '/api/agents/purchases', auth: 'bearer', scope: 'work', ...purchases.purchasesList },
  { id: 'work.orders.list', publicId: 'work.orders-list', method: 'GET', path: '/api/agents/orders', auth: 'bearer', scope: 'work', ...workOrders.ordersList },
  { id: 'work.orders.read', publicId: 'work.order-read', method: 'GET', path: '/api/agents/orders/{orderId}', auth: 'bearer', scope: 'work', ...workOrders.orderRead },
  { id: 'work.orders.results', publicId: 'work.order-results', method: 'GET', path: '/api/agents/orders/{orderId}/results', auth: 'bearer', scope: 'work', ...workOrders.orderResults },
  { id: 'work.orders.cancel', publicId: 'work.order-cancel', method: 'POST', path: '/api/agents/orders/{orderId}/cancel', auth: 'bearer', scope: 'work', ...workOrders.orderCancel },
  { id: 'work.units.accept', publicId: 'work.unit-accept', method: 'POST', path: '/api/agents/orders/{orderId}/units/{n}/accept', auth: 'bearer', scope: 'work', ...workOrders.unitAccept },
  { id: 'work.units.reject', publicId: 'work.unit-reject', method: 'POST', path: '/api/agents/orders/{orderId}/units/{n}/reject', auth: 'bearer', scope: 'work', ...workOrders.unitReject },
  { id: 'work.workers.tasks', publicId: 'work.worker-tasks', method: 'GET', path: '/api/work/tasks', auth: 'member', ...worker.workerTasks },
  { id: 'work.workers.claim', publicId: 'work.worker-claim', method: 'POST', path: '/api/work/claim', auth: 'member', ...worker.workerClaim },
  { id: 'work.workers.assignment', publicId: 'work.worker-assignment', method: 'GET', path: '/api/work/assignments/{assignmentId}', auth: 'member', ...worker.workerAssignment },
  { id: 'work.workers.image', publicId: 'work.worker-image', method: 'GET', path: '/api/work/assignments/{assignmentId}/images/{field}', auth: 'member', ...worker.workerImage },
  { id: 'work.workers.deliver', publicId: 'work.worker-deliver', method: 'POST', path: '/api/work/assignments/{assignmentId}/deliver', auth: 'member', ...worker.workerDeliver },
  { id: 'work.workers.return', publicId: 'work.worker-return', method: 'POST', path: '/api/work/assignments/{assignmentId}/return', auth: 'member', ...worker.workerReturn },
  { id: 'work.workers.report', publicId: 'work.worker-report', method: 'POST', path: '/api/work/assignments/{assignmentId}/report', auth: 'member', ...worker.workerReport },
  { id: 'work.workers.appeal', publicId: 'work.worker-appeal', method: 'POST', path: '/api/work/assignments/{assignmentId}/appeal', auth: 'member', ...worker.workerAppeal },
  { id: 'work.workers.earnings', publicId: 'work.worker-earnings', method: 'GET', path: '/api/work/earnings', auth: 'member', ...worker.workerEarnings },
  { id: 'work.workers.payout', publicId: 'work.worker-payout', method: 'POST', path: '/api/work/payout', auth: 'member', ...worker.workerPayout },
  { id: 'microtasks.campaigns.create', publicId: 'tasks.campaign-create', method: 'POST', path: '/api/agents/campaigns', auth: 'bearer', scope: 'partners', ownerInLive: true, ...campaigns.campaignCreate },
  { id: 'microtasks.campaigns.list', publicId: 'tasks.campaigns-list', method: 'GET', path: '/api/agents/campaigns', auth: 'bearer', scope: 'partners', ...campaigns.campaignList },
  { id: 'microtasks.campaigns.read', publicId: 'tasks.campaign-read', method: 'GET', path: '/api/agents/campaigns/{campaignId}', auth: 'bearer', scope: 'partners', ...campaigns.campaignRead },
  { id: 'microtasks.campaigns.update', publicId: 'tasks.campaign-update', method: 'PATCH', path: '/api/agents/campaigns/{campaignId}', auth: 'bearer', scope: 'partners', ...campaigns.campaignUpdate },
  { id: 'microtasks.campaigns.visitor', publicId: 'tasks.visitor', method: 'POST', path: '/api/agents/tasks/visitor', auth: 'bearer', scope: 'partners', ...campaigns.visitorToken },
  { id: 'partners.statement', publicId: 'partners.statement', method: 'GET', path: '/api/partner/statement', auth: 'bearer', scope: 'partners', ...partners.partnerStatement },
  { id: 'webhooks.endpoints.list', publicId: 'webhooks.list', method: 'GET', path: '/api/agents/webhooks', auth: 'bearer', scope: 'webhooks', ...webhooks.list },
  { id: 'webhooks.endpoints.update', publicId: 'webhooks.update', method: 'PATCH', path: '/api/agents/webhooks/{webhookId}', auth: 'bearer', scope: 'webhooks', needsRecentSignIn: true, ...webhooks.update },
  { id: 'webhooks.endpoints.remove', publicId: 'webhooks.remove', method: 'DELETE', path: '/api/agents/webhooks/{webhookId}', auth: 'bearer', scope: 'webhooks', ...webhooks.remove },
  { id: 'webhooks.endpoints.rotate', publicId: 'webhooks.rotate', method: 'POST', path: '/api/agents/webhooks/{webhookId}/rotate', auth: 'bearer', scope: 'webhooks', needsRecentSignIn: true, ...webhooks.rotate },
  { id: 'webhooks.endpoints.send-test', publicId: 'webhooks.send-test', method: 'POST', path: '/api/agents/webhooks/{webhookId}/test', auth: 'bearer', scope: 'webhooks', ...webhooks.sendTest },
  { id: 'webhooks.endpoints.recover', publicId: 'webhooks.recover', method: 'POST', path: '/api/agents/webhooks/{webhookId}/recover', auth: 'bearer', scope: 'webhooks', needsRecentSignIn: true, ...webhooks.recover },
  { id: 'webhooks.delivery.deliveries', publicId: 'webhooks.deliveries', method: 'GET', path: '/api/agents/webhooks/{webhookId}/deliveries', auth: 'bearer', scope: 'webhooks', ...webhooks.deliveries },
  { id: 'webhooks.delivery.replay', publicId: 'webhooks.replay', method: 'POST', path: '/api/agents/webhooks/deliveries/{deliveryId}/replay', auth: 'bearer', scope: 'webhooks', ...webhooks.replay },
  { id: 'webhooks.delivery.read-events', publicId: 'webhooks.read-events', method: 'GET', path: '/api/agents/events', auth: 'bearer', scope: 'webhooks', ...webhooks.readEvents },
  { id: 'webhooks.endpoints.trigger', publicId: 'webhooks.trigger', method: 'POST', path: '/api/test/events', auth: 'bearer', scope: 'webhooks', ...webhooks.trigger },
  { id: 'webhooks.endpoints.catalog', publicId: 'webhooks.catalog', method: 'GET', path: '/api/events/catalog', auth: 'public', ...webhooks.catalog },
  { id: 'credentials.issued.list', publicId: 'credentials.list', method: 'GET', path: '/api/agents/credentials', auth: 'bearer', scope: 'verify', ...credentials.list },
  { id: 'credentials.issued.read', publicId: 'credentials.read', method: 'GET', path: '/api/agents/credentials/{credentialId}', auth: 'bearer', scope: 'verify', ...credentials.read },
  { id: 'credits.usage', publicId: 'credits.usage', method: 'GET', path: '/api/agents/usage', auth: 'bearer', scope: 'credits', ...credits.usage },
  { id: 'tracking.attention', publicId: 'tracking.attention', method: 'GET', path: '/api/agents/metrics/attention', auth: 'bearer', scope: 'tracking', ...tracking.attention },
  { id: 'requests.list', publicId: 'requests.list', method: 'GET', path: '/api/agents/requests', auth: 'bearer', scope: 'keys', ...requests.list },
  { id: 'credentials.forging.table', publicId: 'credentials.forging-table', method: 'GET', path: '/.well-known/pohf-forging.json', auth: 'public', ...credentials.forgingTable },
  { id: 'credentials.status.list', publicId: 'credentials.status-list', method: 'GET', path: '/status/{list}', auth: 'public', ...credentials.statusList },
  // Three addresses, so that a client of another service changes its host and nothing else.
  { id: 'credentials.siteverify', publicId: 'credentials.siteverify', method: 'POST', path: '/siteverify', auth: 'secret', scope: 'verify', ...credentials.siteverify },
  { id: 'credentials.siteverify', publicId: 'credentials.recaptcha-siteverify', method: 'POST', path: '/recaptcha/api/siteverify', auth: 'secret', scope: 'verify', ...credentials.siteverify },
  { id: 'credentials.siteverify', publicId: 'credentials.turnstile-siteverify', method: 'POST', path: '/turnstile/v0/siteverify', auth: 'secret', scope: 'verify', ...credentials.siteverify },
  { id: 'payments.card.webhook', publicId: 'payments.card-webhook', method: 'POST', path: '/api/payments/card/webhook', auth: 'public', ...payments.cardWebhook },
  { id: 'discovery.mcp-identity', publicId: 'discovery.mcp-identity', method: 'POST', path: '/mcp/identity', auth: 'optional', ...discovery.mcpIdentity },
  { id: 'discovery.mcp-identity', publicId: 'discovery.api-mcp-identity', method: 'POST', path: '/api/mcp/identity', auth: 'optional', ...discovery.mcpIdentity },
  // Public: who asks for a link has no session yet, and the browser that asked is bound by a cookie.
  { id: 'accounts.sign-in.sign-up', publicId: 'accounts.sign-up', method: 'POST', path: '/console/sign-up', auth: 'public', ...accounts.signUp },
  { id: 'accounts.sign-in.sign-in', publicId: 'accounts.sign-in', method: 'POST', path: '/console/sign-in', auth: 'public', ...accounts.signIn },
  // Public: the link authorizes, and it creates the session.
  { id: 'accounts.sign-in.link', publicId: 'accounts.link', method: 'POST', path: '/console/link', auth: 'public', ...accounts.link },
  // Public: it succeeds for a person who is signed out already.
  { id: 'accounts.sign-in.sign-out', publicId: 'accounts.sign-out', method: 'POST', path: '/console/sign-out', auth: 'public', ...accounts.signOut },
  { id: 'accounts.account', publicId: 'accounts.account', method: 'GET', path: '/console/account', auth: 'console', ...accounts.account },
  { id: 'accounts.token', publicId: 'accounts.token', method: 'POST', path: '/console/token', auth: 'console', ...accounts.consoleToken },
  { id: 'accounts.switch', publicId: 'accounts.switch', method: 'POST', path: '/console/switch', auth: 'console', ...accounts.switchAccount },
  { id: 'accounts.claim', publicId: 'accounts.claim', method: 'POST', path: '/console/claim', auth: 'console', ...accounts.claim },
  { id: 'accounts.people.join', publicId: 'accounts.join', method: 'POST', path: '/console/join', auth: 'console', ...accounts.join },
  { id: 'accounts.people.list', publicId: 'accounts.people-list', method: 'GET', path: '/console/people', auth: 'console', ...accounts.peopleList },
  { id: 'accounts.people.invite', publicId: 'accounts.people-invite', method: 'POST', path: '/console/people', auth: 'console', ...accounts.peopleInvite },
  { id: 'accounts.people.change', publicId: 'accounts.people-change', method: 'PATCH', path: '/console/people/{personId}', auth: 'console', ...accounts.peopleChange },
  { id: 'accounts.people.remove', publicId: 'accounts.people-remove', method: 'DELETE', path: '/console/people/{personId}', auth: 'console', ...accounts.peopleRemove },
  { id: 'accounts.people.withdraw', publicId: 'accounts.invitation-remove', method: 'DELETE', path: '/console/invitations/{invitationId}', auth: 'console', ...accounts.invitationRemove },
  { id: 'accounts.sign-in.sessions', publicId: 'accounts.sessions-list', method: 'GET', path: '/console/sessions', auth: 'console', ...accounts.sessionsList },
  { id: 'accounts.sign-in.session-end', publicId: 'accounts.session-end', method: 'DELETE', path: '/console/sessions/{sessionId}', auth: 'console', ...accounts.sessionEnd },
  { id: 'accounts.passkeys.list', publicId: 'accounts.passkeys-list', method: 'GET', path: '/console/passkeys', auth: 'console', ...accounts.passkeysList },
  { id: 'accounts.passkeys.options', publicId: 'accounts.passkey-options', method: 'POST', path: '/console/passkeys/options', auth: 'console', ...accounts.passkeyOptions },
  { id: 'accounts.passkeys.register', publicId: 'accounts.passkey-register', method: 'POST', path: '/console/passkeys/register', auth: 'console', ...accounts.passkeyRegister },
  { id: 'accounts.passkeys.remove', publicId: 'accounts.passkey-remove', method: 'DELETE', path: '/console/passkeys/{passkeyId}', auth: 'console', ...accounts.passkeyRemove },
  // Public: they create the session.
  { id: 'accounts.passkeys.sign-in-options', publicId: 'accounts.passkey-sign-in-options', method: 'POST', path: '/console/passkeys/sign-in-options', auth: 'public', ...accounts.passkeySignInOptions },
  { id: 'accounts.passkeys.sign-in', publicId: 'accounts.passkey-sign-in', method: 'POST', path: '/console/passkeys/sign-in', auth: 'public', ...accounts.passkeySignIn },
  { id: 'questions.quote', publicId: 'questions.quote', method: 'POST', path: '/api/agents/questions/quote', auth: 'bearer', scope: 'work', ...questions.quote },
  { id: 'questions.ask', publicId: 'questions.ask', method: 'POST', path: '/api/agents/questions', auth: 'bearer', scope: 'work', ownerInLive: true, ...questions.ask },
  { id: 'questions.pay', publicId: 'questions.pay', method: 'POST', path: '/api/agents/questions/{questionId}/pay', auth: 'bearer', scope: 'work', ownerInLive: true, ...questions.pay },
  { id: 'questions.read', publicId: 'questions.read', method: 'GET', path: '/api/agents/questions/{questionId}', auth: 'bearer', scope: 'work', ...questions.read },
  { id: 'approvals.requests.create', publicId: 'approvals.create', method: 'POST', path: '/api/agents/approvals', auth: 'bearer', scope: 'approvals', ...approvals.create },
  { id: 'approvals.requests.list', publicId: 'approvals.list', method: 'GET', path: '/api/agents/approvals', auth: 'bearer', scope: 'approvals', ...approvals.list },
  { id: 'approvals.requests.read', publicId: 'approvals.read', method: 'GET', path: '/api/agents/approvals/{approvalId}', auth: 'bearer', scope: 'approvals', ...approvals.read },
  { id: 'approvals.requests.consume', publicId: 'approvals.consume', method: 'POST', path: '/api/agents/approvals/{approvalId}/consume', auth: 'bearer', scope: 'approvals', ...approvals.consume },
  { id: 'approvals.administration.types-list', publicId: 'approvals.types-list', method: 'GET', path: '/api/agents/approval-types', auth: 'bearer', scope: 'approvals', ...approvalAdministration.typesList },
  { id: 'approvals.administration.types-write', publicId: 'approvals.types-write', method: 'POST', path: '/api/agents/approval-types/{type}', auth: 'bearer', administratorOnly: true, ...approvalAdministration.typesWrite },
  { id: 'approvals.administration.types-retire', publicId: 'approvals.types-retire', method: 'DELETE', path: '/api/agents/approval-types/{type}', auth: 'bearer', administratorOnly: true, ...approvalAdministration.typesRetire },
  { id: 'issuers.list', publicId: 'issuers.list', method: 'GET', path: '/api/agents/issuers', auth: 'bearer', scope: 'approvals', ...issuers.list },
  { id: 'issuers.scim.config', publicId: 'issuers.scim-config', method: 'GET', path: '/api/scim/{issuer}/ServiceProviderConfig', auth: 'directory', ...scim.config },
  { id: 'issuers.scim.find', publicId: 'issuers.scim-find', method: 'GET', path: '/api/scim/{issuer}/Users', auth: 'directory', ...scim.find },
  { id: 'issuers.scim.create', publicId: 'issuers.scim-create', method: 'POST', path: '/api/scim/{issuer}/Users', auth: 'directory', ...scim.create },
  { id: 'issuers.scim.read', publicId: 'issuers.scim-read', method: 'GET', path: '/api/scim/{issuer}/Users/{userId}', auth: 'directory', ...scim.read },
  { id: 'issuers.scim.replace', publicId: 'issuers.scim-replace', method: 'PUT', path: '/api/scim/{issuer}/Users/{userId}', auth: 'directory', ...scim.replace },
  { id: 'issuers.scim.change', publicId: 'issuers.scim-change', method: 'PATCH', path: '/api/scim/{issuer}/Users/{userId}', auth: 'directory', ...scim.change },
  { id: 'issuers.scim.remove', publicId: 'issuers.scim-remove', method: 'DELETE', path: '/api/scim/{issuer}/Users/{userId}', auth: 'directory', ...scim.remove },
  { id: 'approvals.administration.approvers-list', publicId: 'approvals.approvers-list', method: 'GET', path: '/api/agents/approvers', auth: 'bearer', scope: 'approvals', ...approvalAdministration.approversList },
  { id: 'approvals.administration.approvers-invite', publicId: 'approvals.approvers-invite', method: 'POST', path: '/api/agents/approvers', auth: 'bearer', administratorOnly: true, ...approvalAdministration.approversInvite },
  { id: 'approvals.administration.approvers-remove', publicId: 'approvals.approvers-remove', method: 'DELETE', path: '/api/agents/approvers/{approver}', auth: 'bearer', administratorOnly: true, ...approvalAdministration.approversRemove },
  { id: 'approvals.administration.groups-list', publicId: 'approvals.groups-list', method: 'GET', path: '/api/agents/approver-groups', auth: 'bearer', scope: 'approvals', ...approvalAdministration.groupsList },
  { id: 'approvals.administration.groups-write', publicId: 'approvals.groups-write', method: 'POST', path: '/api/agents/approver-groups/{name}', auth: 'bearer', administratorOnly: true, ...approvalAdministration.groupsWrite },
  { id: 'approvals.administration.groups-remove', publicId: 'approvals.groups-remove', method: 'DELETE', path: '/api/agents/approver-groups/{name}', auth: 'bearer', administratorOnly: true, ...approvalAdministration.groupsRemove },
  { id: 'approvals.effectiveness.settings-read', publicId: 'approvals.settings-read', method: 'GET', path: '/api/agents/approval-settings', auth: 'bearer', administratorOnly: true, ...approvalEffectiveness.settingsRead },
  { id: 'approvals.effectiveness.settings-write', publicId: 'approvals.settings-write', method: 'POST', path: '/api/agents/approval-settings', auth: 'bearer', administratorOnly: true, ...approvalEffectiveness.settingsWrite },
  { id: 'approvals.effectiveness.report', publicId: 'approvals.report', method: 'GET', path: '/api/agents/approval-report', auth: 'bearer', administratorOnly: true, ...approvalEffectiveness.reportRead },
  { id: 'approvals.effectiveness.pack', publicId: 'approvals.pack', method: 'GET', path: '/api/agents/approval-report/pack', auth: 'bearer', administratorOnly: true, ...approvalEffectiveness.pack },
  { id: 'approvals.effectiveness.known-bad-list', publicId: 'approvals.known-bad-list', method: 'GET', path: '/api/agents/approval-known-bad', auth: 'bearer', administratorOnly: true, ...approvalEffectiveness.knownBadList },
  { id: 'approvals.effectiveness.known-bad-create', publicId: 'approvals.known-bad-create', method: 'POST', path: '/api/agents/approval-known-bad', auth: 'bearer', administratorOnly: true, ...approvalEffectiveness.knownBadCreate },
  { id: 'issuers.companies.list', publicId: 'companies.list', method: 'GET', path: '/api/agents/companies', auth: 'bearer', administratorOnly: true, ...companies.companyList },
  { id: 'issuers.companies.create', publicId: 'companies.create', method: 'POST', path: '/api/agents/companies', auth: 'bearer', administratorOnly: true, ...companies.companyCreate },
  { id: 'issuers.companies.verify', publicId: 'companies.verify', method: 'POST', path: '/api/agents/companies/{issuerId}/verify', auth: 'bearer', administratorOnly: true, ...companies.companyVerify },
  { id: 'issuers.companies.update', publicId: 'companies.update', method: 'PATCH', path: '/api/agents/companies/{issuerId}', auth: 'bearer', administratorOnly: true, ...companies.companyUpdate },
  { id: 'issuers.companies.remove', publicId: 'companies.remove', method: 'DELETE', path: '/api/agents/companies/{issuerId}', auth: 'bearer', administratorOnly: true, ...companies.companyRemove },
  { id: 'approvals.decisions.list', publicId: 'approvals.approver-list', method: 'GET', path: '/api/approve/approvals', auth: 'member', ...approvals.approverList },
  { id: 'approvals.decisions.figures', publicId: 'approvals.approver-figures', method: 'GET', path: '/api/approve/figures', auth: 'member', ...approvalEffectiveness.ownFigures },
  { id: 'approvals.decisions.read', publicId: 'approvals.approver-read', method: 'GET', path: '/api/approve/approvals/{approvalId}', auth: 'member', ...approvals.approverRead },
  { id: 'approvals.decisions.options', publicId: 'approvals.approver-options', method: 'POST', path: '/api/approve/approvals/{approvalId}/options', auth: 'member', ...approvals.approverOptions },
  { id: 'approvals.decisions.decide', publicId: 'approvals.approver-decide', method: 'POST', path: '/api/approve/approvals/{approvalId}/decide', auth: 'member', ...approvals.approverDecide },
] as const satisfies readonly Endpoint[]

/** The endpoints of the operators' listener. */
// prettier-ignore
export const operatorEndpoints = [
  { id: 'operators.overview', publicId: 'operators.overview', method: 'GET', path: '/operator/overview', auth: 'operator', ...operatorOverview },
  { id: 'operators.list', publicId: 'operators.list', method: 'GET', path: '/operator/operators', auth: 'operator', ...operators.operatorList },
  { id: 'operators.create', publicId: 'operators.create', method: 'POST', path: '/operator/operators', auth: 'operator', needsRecentSignIn: true, ...operators.operatorCreate },
  { id: 'operators.revoke', publicId: 'operators.revoke', method: 'POST', path: '/operator/operators/{operatorId}/revoke', auth: 'operator', needsRecentSignIn: true, ...operators.operatorRevoke },
  { id: 'operators.audit', publicId: 'operators.audit', method: 'GET', path: '/operator/audit', auth: 'operator', ...operators.auditList },
  { id: 'operators.passkeys.sign-in-options', publicId: 'operators.sign-in-options', method: 'POST', path: '/operator/sign-in/options', auth: 'public', ...operatorSignIn.signInOptions },
  { id: 'operators.passkeys.sign-in', publicId: 'operators.sign-in', method: 'POST', path: '/operator/sign-in/passkey', auth: 'public', ...operatorSignIn.signIn },
  { id: 'operators.sessions.sign-out', publicId: 'operators.sign-out', method: 'POST', path: '/operator/sign-in/sign-out', auth: 'public', ...operatorSignIn.signOut },
  { id: 'operators.sessions.token', publicId: 'operators.token', method: 'POST', path: '/operator/sign-in/token', auth: 'operatorSession', ...operatorSignIn.operatorToken },
  { id: 'operators.passkeys.list', publicId: 'operators.passkeys-list', method: 'GET', path: '/operator/sign-in/passkeys', auth: 'operator', ...operatorSignIn.passkeysList },
  { id: 'operators.passkeys.options', publicId: 'operators.passkey-options', method: 'POST', path: '/operator/sign-in/passkeys/options', auth: 'operator', needsRecentSignIn: true, ...operatorSignIn.passkeyOptions },
  { id: 'operators.passkeys.register', publicId: 'operators.passkey-register', method: 'POST', path: '/operator/sign-in/passkeys', auth: 'operator', needsRecentSignIn: true, ...operatorSignIn.passkeyRegister },
  { id: 'operators.passkeys.remove', publicId: 'operators.passkey-remove', method: 'DELETE', path: '/operator/sign-in/passkeys/{passkeyId}', auth: 'operator', needsRecentSignIn: true, ...operatorSignIn.passkeyRemove },
  { id: 'operators.sessions.list', publicId: 'operators.sessions-list', method: 'GET', path: '/operator/sign-in/sessions', auth: 'operator', ...operatorSignIn.sessionsList },
  { id: 'operators.sessions.end', publicId: 'operators.session-end', method: 'DELETE', path: '/operator/sign-in/sessions/{sessionId}', auth: 'operator', ...operatorSignIn.sessionEnd },
  { id: 'agents.operator-list', publicId: 'agents.operator-list', method: 'GET', path: '/operator/agents', auth: 'operator', ...operatorAgents.agentsList },
  { id: 'agents.operator-read', publicId: 'agents.operator-read', method: 'GET', path: '/operator/agents/{agentId}', auth: 'operator', ...operatorAgents.agentRead },
  { id: 'agents.operator-suspend', publicId: 'agents.operator-suspend', method: 'POST', path: '/operator/agents/{agentId}/suspend', auth: 'operator', needsRecentSignIn: true, ...operators.agentSuspend },
  { id: 'agents.operator-confirm', publicId: 'agents.operator-confirm', method: 'POST', path: '/operator/agents/{agentId}/email/confirm', auth: 'operator', needsRecentSignIn: true, ...operators.agentConfirm },
  { id: 'credits.operator-grant', publicId: 'credits.operator-grant', method: 'POST', path: '/operator/agents/{agentId}/credits', auth: 'operator', needsRecentSignIn: true, ...credits.operatorGrant },
  { id: 'partners.limit-grant', publicId: 'partners.limit-grant', method: 'POST', path: '/operator/agents/{agentId}/points-limit', auth: 'operator', needsRecentSignIn: true, ...partners.limitGrant },
  { id: 'partners.rate-set', publicId: 'partners.rate-set', method: 'POST', path: '/operator/agents/{agentId}/points-rate', auth: 'operator', needsRecentSignIn: true, ...partners.rateSet },
  { id: 'members.membership.operator-invite', publicId: 'members.operator-invite', method: 'POST', path: '/operator/workers/invite', auth: 'operator', needsRecentSignIn: true, ...members.operatorInvite },
  { id: 'signing.keys-list', publicId: 'signing.keys-list', method: 'GET', path: '/operator/keys', auth: 'operator', ...operators.signingKeysList },
  { id: 'signing.keys-onchain', publicId: 'signing.keys-onchain', method: 'GET', path: '/operator/keys/onchain', auth: 'operator', ...operators.signingKeysOnchain },
  { id: 'signing.keys-rotate', publicId: 'signing.keys-rotate', method: 'POST', path: '/operator/keys/rotate', auth: 'operator', needsRecentSignIn: true, ...operators.signingKeysRotate },
  { id: 'signing.keys-revoke', publicId: 'signing.keys-revoke', method: 'POST', path: '/operator/keys/{kid}/revoke', auth: 'operator', needsRecentSignIn: true, ...operators.signingKeysRevoke },
  { id: 'credentials.status.operator-revoke', publicId: 'credentials.operator-revoke', method: 'POST', path: '/operator/credentials/{credentialId}/revoke', auth: 'operator', needsRecentSignIn: true, ...credentials.operatorRevoke },
  { id: 'credentials.status.operator-suspend', publicId: 'credentials.operator-suspend', method: 'POST', path: '/operator/credentials/{credentialId}/suspend', auth: 'operator', needsRecentSignIn: true, ...credentials.operatorSuspend },
  { id: 'credentials.status.operator-reinstate', publicId: 'credentials.operator-reinstate', method: 'POST', path: '/operator/credentials/{credentialId}/reinstate', auth: 'operator', needsRecentSignIn: true, ...credentials.operatorReinstate },
  { id: 'evidence.devices.operator-admit', publicId: 'evidence.operator-admit', method: 'POST', path: '/operator/agents/{agentId}/apps', auth: 'operator', needsRecentSignIn: true, ...evidence.operatorAdmit },
  { id: 'roots.operator-budget', publicId: 'roots.operator-budget', method: 'POST', path: '/operator/agents/{agentId}/network-budget', auth: 'operator', needsRecentSignIn: true, ...roots.operatorBudget },
  { id: 'roots.operator-sites', publicId: 'roots.operator-sites', method: 'GET', path: '/operator/roots/sites', auth: 'operator', ...roots.operatorSites },
  { id: 'roots.operator-suspended', publicId: 'roots.operator-suspended', method: 'GET', path: '/operator/roots/suspended', auth: 'operator', ...roots.operatorSuspended },
  { id: 'roots.operator-suspend', publicId: 'roots.operator-suspend', method: 'POST', path: '/operator/roots/suspend', auth: 'operator', needsRecentSignIn: true, ...roots.operatorSuspend },
  { id: 'roots.operator-reinstate', publicId: 'roots.operator-reinstate', method: 'POST', path: '/operator/roots/reinstate', auth: 'operator', needsRecentSignIn: true, ...roots.operatorReinstate },
  { id: 'trust.operator-list', publicId: 'trust.operator-list', method: 'GET', path: '/operator/trust', auth: 'operator', ...trust.operatorList },
  { id: 'trust.operator-add', publicId: 'trust.operator-add', method: 'POST', path: '/operator/trust', auth: 'operator', needsRecentSignIn: true, ...trust.operatorAdd },
  { id: 'trust.operator-remove', publicId: 'trust.operator-remove', method: 'POST', path: '/operator/trust/remove', auth: 'operator', needsRecentSignIn: true, ...trust.operatorRemove },
  { id: 'signing.keys-check', publicId: 'signing.keys-check', method: 'GET', path: '/operator/keys/check', auth: 'operator', ...operators.signingKeysCheck },
  { id: 'signing.restore.plan', publicId: 'signing.restore-plan', method: 'GET', path: '/operator/restore/plan', auth: 'operator', ...operators.restorePlan },
  { id: 'signing.restore.apply', publicId: 'signing.restore-apply', method: 'POST', path: '/operator/restore/apply', auth: 'operator', needsRecentSignIn: true, ...operators.restoreApply },
  { id: 'members.people.operator-erase', publicId: 'members.operator-erase', method: 'POST', path: '/operator/agents/{agentId}/members/{memberId}/erase', auth: 'operator', needsRecentSignIn: true, ...members.operatorErase },
  { id: 'credits.operator-check', publicId: 'credits.operator-check', method: 'GET', path: '/operator/credits/check', auth: 'operator', ...operators.creditsCheck },
  { id: 'payments.refunds.operator-refunds', publicId: 'payments.operator-refunds', method: 'GET', path: '/operator/refunds', auth: 'operator', ...payments.operatorRefunds },
  { id: 'payments.refunds.operator-refund', publicId: 'payments.operator-refund', method: 'POST', path: '/operator/refunds', auth: 'operator', needsRecentSignIn: true, ...payments.operatorRefund },
  { id: 'payments.refunds.operator-refund-retry', publicId: 'payments.operator-refund-retry', method: 'POST', path: '/operator/refunds/{refundId}/retry', auth: 'operator', needsRecentSignIn: true, ...payments.operatorRefundRetry },
  { id: 'ledger.operator-check', publicId: 'ledger.operator-check', method: 'GET', path: '/operator/ledger/check', auth: 'operator', ...operators.ledgerCheck },
  { id: 'partners.payout-list', publicId: 'partners.payout-list', method: 'GET', path: '/operator/payouts', auth: 'operator', ...partners.payoutList },
  { id: 'partners.payout-review', publicId: 'partners.payout-review', method: 'POST', path: '/operator/payouts/{requestId}/review', auth: 'operator', needsRecentSignIn: true, ...partners.payoutReview },
  { id: 'partners.payout-approve', publicId: 'partners.payout-approve', method: 'POST', path: '/operator/payouts/{requestId}/approve', auth: 'operator', needsRecentSignIn: true, ...partners.payoutApprove },
  { id: 'partners.payout-pay', publicId: 'partners.payout-pay', method: 'POST', path: '/operator/payouts/{requestId}/pay', auth: 'operator', needsRecentSignIn: true, ...partners.payoutPay },
  { id: 'partners.payout-reject', publicId: 'partners.payout-reject', method: 'POST', path: '/operator/payouts/{requestId}/reject', auth: 'operator', needsRecentSignIn: true, ...partners.payoutReject },
  { id: 'vhh.operator-close', publicId: 'vhh.operator-close', method: 'POST', path: '/operator/index/close', auth: 'operator', needsRecentSignIn: true, ...vhh.operatorClose },
  { id: 'vhh.operator-explain', publicId: 'vhh.operator-explain', method: 'GET', path: '/operator/index/{epoch}', auth: 'operator', ...vhh.operatorExplain },
  { id: 'vhh.forwards.operator-list', publicId: 'vhh.operator-forwards', method: 'GET', path: '/operator/forwards', auth: 'operator', ...vhh.operatorForwards },
  { id: 'vhh.forwards.operator-move', publicId: 'vhh.operator-forward-move', method: 'POST', path: '/operator/forwards/{orderId}/move', auth: 'operator', needsRecentSignIn: true, ...vhh.operatorForwardMove },
  { id: 'purchases.operator-purchases', publicId: 'work.operator-purchases', method: 'GET', path: '/operator/purchases', auth: 'operator', ...purchases.operatorPurchases },
  { id: 'purchases.operator-refund', publicId: 'work.operator-refund', method: 'POST', path: '/operator/purchases/{purchaseId}/refund', auth: 'operator', needsRecentSignIn: true, ...purchases.operatorRefund },
  { id: 'work.operator.workflows', publicId: 'work.operator-workflows', method: 'GET', path: '/operator/workflows', auth: 'operator', ...workOperators.operatorWorkflows },
  { id: 'work.operator.workflow-write', publicId: 'work.operator-workflow-write', method: 'POST', path: '/operator/workflows/{workflowId}', auth: 'operator', needsRecentSignIn: true, ...workOperators.operatorWorkflowWrite },
  { id: 'work.operator.workflow-retire', publicId: 'work.operator-workflow-retire', method: 'POST', path: '/operator/workflows/{workflowId}/retire', auth: 'operator', needsRecentSignIn: true, ...workOperators.operatorWorkflowRetire },
  { id: 'work.operator.orders', publicId: 'work.operator-orders', method: 'GET', path: '/operator/orders', auth: 'operator', ...workOperators.operatorOrders },
  { id: 'work.operator.offer-accept', publicId: 'work.operator-offer-accept', method: 'POST', path: '/operator/agents/{agentId}/orders/{orderId}/accept', auth: 'operator', needsRecentSignIn: true, ...workOperators.operatorOfferAccept },
  { id: 'work.operator.offer-decline', publicId: 'work.operator-offer-decline', method: 'POST', path: '/operator/agents/{agentId}/orders/{orderId}/decline', auth: 'operator', needsRecentSignIn: true, ...workOperators.operatorOfferDecline },
  { id: 'work.operator.appeals', publicId: 'work.operator-appeals', method: 'GET', path: '/operator/appeals', auth: 'operator', ...workOperators.operatorAppeals },
  { id: 'work.operator.appeal-decide', publicId: 'work.operator-appeal-decide', method: 'POST', path: '/operator/appeals/{assignmentId}/decide', auth: 'operator', needsRecentSignIn: true, ...workOperators.operatorAppealDecide },
  { id: 'work.operator.reviews', publicId: 'work.operator-reviews', method: 'GET', path: '/operator/reviews', auth: 'operator', ...workOperators.operatorReviews },
  { id: 'work.operator.review', publicId: 'work.operator-review', method: 'GET', path: '/operator/agents/{agentId}/orders/{orderId}/review', auth: 'operator', ...workOperators.operatorReview },
  { id: 'work.operator.review-decide', publicId: 'work.operator-review-decide', method: 'POST', path: '/operator/agents/{agentId}/orders/{orderId}/review', auth: 'operator', needsRecentSignIn: true, ...workOperators.operatorReviewDecide },
  { id: 'work.operator.produce', publicId: 'work.operator-produce', method: 'POST', path: '/operator/work/produce', auth: 'operator', needsRecentSignIn: true, ...workOperators.operatorProduce },
] as const satisfies readonly Endpoint[]

export const endpoints: readonly Endpoint[] = [...specification, ...additions]

const firstPublicIds = new Map(
  [...endpoints, ...operatorEndpoints].toReversed().map((row) => [row.id, row.publicId]),
)
/** The operation's name in metrics and logs: an operation that is mounted twice goes by its first row. */
export const operationNameOf = (endpoint: Endpoint): string =>
  firstPublicIds.get(endpoint.id) ?? endpoint.publicId

export const apiVersion = '1.0.0'

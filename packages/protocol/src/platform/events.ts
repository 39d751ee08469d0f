import { z } from 'zod'
import type { SessionReason } from '../sessions/reasons.ts'

type Shape = z.ZodRawShape
const event = <S extends Shape>(summary: string, shape: S, example: z.input<z.ZodObject<S>>) => ({
  summary,
  data: z.object(shape),
  example,
})

const id = z.string()
const at = z.iso.datetime()
const count = z.number()

const credentialId = 'crd_aa01k2example000000000000000000000'
const sessionId = 'ses_aa01k2example00000000000'
const memberId = 'mem_aa01k2example00000000000'
const checkoutId = 'chk_aa01k2example000000000000000000000'
const orderId = 'ord_aa01k2example00000000000'
const requestId = 'pay_aa01k2example00000000000'
const endpointId = 'whk_aa01k2example00000000000'
const approvalId = 'apl_aa01k2example00000000000'
const approver = 'apv_aa01k2example00000000000'
const purchaseId = 'pur_aa01k2example000000000000000000000'
const since = '2026-01-01T00:00:00.000Z'
const reason = 'reported by its holder'
const order = { orderId: id, taskType: z.string(), quantity: count, status: z.string() }
const orderStep = { orderId: id, status: z.string() }
const unitStep = { orderId: id, n: count, credentialId: id }
const unitExample = { orderId, n: 1, credentialId }

/** The whole catalogue: ids and states, never telemetry. Names are only ever added. */
export const events = {
  'agent.registered': event('An agent was registered.', { agentId: id }, { agentId: 'agt_aa01k2example' }),
  'agent.email_confirmed': event(
    'The contact mail address was confirmed. The agent can recover lost keys and, while places are left, gets the free plan.',
    { agentId: id },
    { agentId: 'agt_aa01k2example' },
  ),
  'key.rotated': event(
    'A new API key replaced another, which works until validUntil.',
    { keyId: id, replacedKeyId: id, validUntil: at },
    { keyId: 'key_aa01k2example2', replacedKeyId: 'key_aa01k2example1', validUntil: since },
  ),
  'key.revoked': event('An API key was revoked.', { keyId: id }, { keyId: 'key_aa01k2example1' }),
  'key.rotation_scheduled': event(
    'A key that signs credentials will be replaced. kid is its successor, which is published already and signs from activateAt on, a day later at the earliest. Sent to agents with a webhook endpoint for it, once for each key.',
    { kid: id, purpose: z.enum(['live', 'test', 'onchain', 'onchain-test']), activateAt: at },
    { kid: 'q7XkExample', purpose: 'live', activateAt: since },
  ),
  'credential.issued': event(
    'A credential was minted.',
    { credentialId: id, kind: z.string(), quality: count.nullable(), sessionId: id.nullable() },
    { credentialId, kind: 'view', quality: 0.82, sessionId },
  ),
  'credential.revoked': event(
    'A credential was revoked.',
    { credentialId: id, reason: z.string() },
    { credentialId, reason },
  ),
  'credential.suspended': event(
    'A credential was suspended.',
    { credentialId: id, reason: z.string() },
    { credentialId, reason },
  ),
  'credential.reinstated': event(
    'The suspension of a credential was lifted.',
    { credentialId: id, reason: z.string() },
    { credentialId, reason },
  ),
  'personhood.verified': event(
    'A personhood credential was minted.',
    { memberId: id, credentialId: id },
    { memberId, credentialId },
  ),
  'personhood.wallet_bound': event(
    'A wallet was bound to a verified human.',
    { memberId: id, credentialId: id, wallet: z.string(), chainId: z.number().nullable() },
    { memberId, credentialId, wallet: '0x00000000000000000000000000000000000000aa', chainId: 8_453 },
  ),
  'approval.requested': event(
    'People were asked to approve an action.',
    { approvalId: id, type: z.string(), approvers: z.array(id), decideBy: at, url: z.string() },
    {
      approvalId,
      type: 'invoice.pay',
      approvers: [approver],
      decideBy: since,
      url: `https://pohf.example/approve/${approvalId}`,
    },
  ),
  'approval.decided': event(
    'A person approved or denied an action. status says what the approval is now.',
    { approvalId: id, approver: id, decision: z.string(), credentialId: id.nullable(), status: z.string() },
    { approvalId, approver, decision: 'approve', credentialId, status: 'approved' },
  ),
  'approval.expired': event(
    'The time to decide or to consume an approval is over. Nobody may act on it.',
    { approvalId: id },
    { approvalId },
  ),
  'approval.consumed': event(
    'The audience used an approval.',
    { approvalId: id, audience: id },
    { approvalId, audience: 'agt_aa01k2example' },
  ),
  'member.enrolled': event(
    'A person whom you invited has enrolled.',
    { memberId: id, uniqueness: z.string() },
    { memberId, uniqueness: 'device' },
  ),
  'member.withdrawn': event('A member withdrew consent.', { memberId: id }, { memberId }),
  'member.erased': event(
    'A member was erased. Delete the data that you hold about this person too.',
    { memberId: id },
    { memberId },
  ),
  'session.scored': event(
    'A session was scored as human.',
    { sessionId: id, quality: count },
    { sessionId, quality: 0.82 },
  ),
  'session.rejected': event(
    'A session was scored as not human.',
    { sessionId: id, quality: count, reasons: z.array(z.string()) },
    { sessionId, quality: 0.2, reasons: ['quality_low'] satisfies SessionReason[] },
  ),
  'device.attested': event(
    'A device passed attestation.',
    { subjectRef: id, method: z.string(), assurance: z.string() },
    { subjectRef: 'anna', method: 'webauthn', assurance: 'hardware' },
  ),
  'transaction.bound': event(
    'A human was bound to a payment.',
    { credentialId: id, rail: z.string(), paymentRef: z.string() },
    { credentialId, rail: 'other', paymentRef: 'invoice-1001' },
  ),
  'credits.purchased': event(
    'Credits were posted.',
    { balance: count, pack: z.string(), credits: count },
    { balance: 1_000, pack: 'starter', credits: 1_000 },
  ),
  'credits.granted': event(
    'An operator granted credits.',
    { balance: count, credits: count },
    { balance: 1_100, credits: 100 },
  ),
  'credits.reversed': event(
    'A refund or dispute reversed credits. Credits that were already spent are owed.',
    { balance: count, owed: count, credits: count, checkoutId: id },
    { balance: 0, owed: 40, credits: 1_000, checkoutId },
  ),
  'credits.restored': event(
    'A dispute was won and the credits were restored. Owed credits were paid first.',
    { balance: count, owed: count, credits: count, checkoutId: id },
    { balance: 960, owed: 0, credits: 1_000, checkoutId },
  ),
  'credits.low': event(
    'The balance fell to the warning threshold.',
    { balance: count, threshold: count },
    { balance: 10, threshold: 10 },
  ),
  'credits.exhausted': event('The last credit was spent.', { balance: count }, { balance: 0 }),
  'order.created': event('Work was commissioned.', order, {
    orderId,
    taskType: 'transcription',
    quantity: 10,
    status: 'created',
  }),
  'order.funded': event('An order was paid into escrow.', orderStep, { orderId, status: 'funded' }),
  'order.in_progress': event('Work on an order has started.', orderStep, { orderId, status: 'in_progress' }),
  'order.delivered': event('All units of an order were delivered.', orderStep, {
    orderId,
    status: 'delivered',
  }),
  'order.completed': event('Every unit of an order reached a final state.', orderStep, {
    orderId,
    status: 'completed',
  }),
  'order.cancelled': event('An order was cancelled.', orderStep, { orderId, status: 'cancelled' }),
  'order.refunded': event('The payment of an order was reversed. Work on it has stopped.', orderStep, {
    orderId,
    status: 'refunded',
  }),
  'order.expired': event(
    'An order was not funded in time, or its units were not claimed in time.',
    orderStep,
    {
      orderId,
      status: 'expired',
    },
  ),
  'order.unit_delivered': event(
    'A unit of an order was delivered and waits for your review.',
    unitStep,
    unitExample,
  ),
  'order.unit_accepted': event('A unit was accepted. The worker is paid.', unitStep, unitExample),
  'order.unit_rejected': event(
    'A unit was rejected. The worker may appeal.',
    { ...unitStep, reason: z.string() },
    { ...unitExample, reason: 'incomplete' },
  ),
  'order.unit_appealed': event('The worker appealed against a rejection.', unitStep, unitExample),
  'order.unit_refused': event(
    'A rejection is final. The price of the unit is refunded.',
    unitStep,
    unitExample,
  ),
  'purchase.settled': event(
    'A purchase over HTTP 402 was paid and its credential minted.',
    { purchaseId: id, workflowId: id, txHash: z.string(), credentialId: id },
    { purchaseId, workflowId: 'wf_test_ok', txHash: `0x${'ab'.repeat(32)}`, credentialId },
  ),
  'purchase.failed': event(
    'The payment of a purchase did not settle; nothing was charged.',
    { purchaseId: id, workflowId: id, reason: z.string() },
    { purchaseId, workflowId: 'wf_test_ok', reason: 'settlement failed' },
  ),
  'conversion.attributed': event(
    'A conversion was attributed to a verified view.',
    { sessionId: id, name: z.string(), value: count.nullable(), currency: z.string().nullable() },
    { sessionId, name: 'purchase', value: 49.9, currency: 'USD' },
  ),
  'task.question_settled': event(
    'People agreed on the answer to a question of a campaign, or too many disagreed.',
    { campaignId: id, n: count, state: z.string(), answer: z.string().nullable(), answers: count },
    { campaignId: 'cpg_aa01k2example00000000000', n: 1, state: 'agreed', answer: 'fits', answers: 4 },
  ),
  'task.campaign_exhausted': event(
    'The budget of a campaign is used up, and it was paused.',
    { campaignId: id },
    { campaignId: 'cpg_aa01k2example00000000000' },
  ),
  'task.completed': event(
    'A micro-task was completed.',
    { completionId: id, taskId: id, sessionId: id.nullable(), verified: z.boolean() },
    {
      completionId: 'cmp_aa01k2example00000000000',
      taskId: 'tsk_aa01k2example00000000000',
      sessionId,
      verified: true,
    },
  ),
  'points.converted': event(
    'Reward points were converted to Stars.',
    { userRef: z.string(), points: count, stars: count, balance: count },
    { userRef: 'user-1', points: 100, stars: 100, balance: 100 },
  ),
  'payout.requested': event(
    'A payout was requested and its Stars are held.',
    { requestId: id, stars: count, status: z.string() },
    { requestId, stars: 500, status: 'queued' },
  ),
  'payout.approved': event(
    'A payout was approved and waits for payment.',
    { requestId: id, stars: count },
    { requestId, stars: 500 },
  ),
  'payout.paid': event(
    'A payout was paid manually.',
    { requestId: id, stars: count },
    { requestId, stars: 500 },
  ),
  'payout.rejected': event(
    'A payout was rejected and its Stars were released.',
    { requestId: id, stars: count, reason: z.string() },
    { requestId, stars: 500, reason: 'the name does not match' },
  ),
  'index.epoch_published': event(
    'An epoch of the index, or a restatement of one, was signed. Sent to agents with an endpoint for it.',
    { code: z.string(), epoch: z.string(), value: count.nullable(), url: z.string() },
    {
      code: 'VHH',
      epoch: '2026-01',
      value: null,
      url: 'https://pohf.example/api/index/vhh/inputs?epoch=2026-01',
    },
  ),
  'endpoint.test': event(
    'A test delivery to one endpoint, sent on request or to probe whether the endpoint works again.',
    { endpointId: id, reason: z.enum(['requested', 'probe']) },
    { endpointId, reason: 'requested' },
  ),
  'endpoint.failing': event(
    'Every delivery to a webhook endpoint has failed for an hour; sent again after a day.',
    { endpointId: id, since: at, hours: count },
    { endpointId, since, hours: 1 },
  ),
  'endpoint.disabled': event(
    'A webhook endpoint was disabled: it answered 410 or failed for too long.',
    { endpointId: id, since: at },
    { endpointId, since },
  ),
} as const

export type EventType = keyof typeof events
export type EventData<T extends EventType> = z.infer<(typeof events)[T]['data']>

/** The events by name, for names that callers send. */
export const eventCatalogue: ReadonlyMap<string, (typeof events)[EventType]> = new Map(Object.entries(events))

/** The envelope of every delivery. */
export const eventEnvelope = z.object({
  id: z.string(),
  type: z.string(),
  timestamp: z.iso.datetime(),
  test: z.boolean(),
  apiVersion: z.string(),
  agentId: z.string(),
  data: z.record(z.string(), z.unknown()),
})
export type EventEnvelope = z.infer<typeof eventEnvelope>

import { z } from 'zod'

const event = <Shape extends z.ZodRawShape>(summary: string, shape: Shape) => ({
  summary,
  data: z.object(shape),
})
const id = z.string()
const at = z.iso.datetime()
const count = z.number()

/** Every event that the service publishes: ids and states, never telemetry. Names are only ever added. */
export const events = {
  'agent.registered': event('An agent was registered.', { agentId: id }),
  'agent.email_confirmed': event('The contact mail address was confirmed; the free plan is granted.', {
    agentId: id,
  }),
  'key.rotated': event('A new API key replaced another, which works until validUntil.', {
    keyId: id,
    replacedKeyId: id,
    validUntil: at,
  }),
  'key.revoked': event('An API key was revoked.', { keyId: id }),
  'credential.issued': event('A credential was minted.', {
    credentialId: id,
    kind: z.string(),
    quality: count.nullable(),
    sessionId: id.nullable(),
  }),
  'credential.revoked': event('A credential was revoked.', { credentialId: id, reason: z.string() }),
  'credential.suspended': event('A credential is in doubt and held for now.', {
    credentialId: id,
    reason: z.string(),
  }),
  'credential.reinstated': event('The suspension of a credential was lifted.', {
    credentialId: id,
    reason: z.string(),
  }),
  'personhood.verified': event('A personhood credential was minted.', { memberId: id, credentialId: id }),
  'personhood.wallet_bound': event('A wallet was bound to a verified human.', {
    memberId: id,
    credentialId: id,
    wallet: z.string(),
    chainId: z.number().nullable(),
  }),
  'member.enrolled': event('A person whom you invited enrolled.', { memberId: id, uniqueness: z.string() }),
  'member.withdrawn': event('A member took the consent back.', { memberId: id }),
  'member.erased': event('A member was erased. Delete what you hold of this person too.', { memberId: id }),
  'session.scored': event('A session was scored as human.', { sessionId: id, quality: count }),
  'session.rejected': event('A session was scored, and not as human.', {
    sessionId: id,
    quality: count,
    reasons: z.array(z.string()),
  }),
  'device.attested': event('A device proved itself.', {
    subjectRef: id,
    method: z.string(),
    assurance: z.string(),
  }),
  'transaction.bound': event('A human was bound to a payment.', {
    credentialId: id,
    rail: z.string(),
    paymentRef: z.string(),
  }),
  'credits.purchased': event('Credits were posted.', { balance: count, pack: z.string(), credits: count }),
  'credits.low': event('The balance fell to the warning mark.', { balance: count, threshold: count }),
  'credits.exhausted': event('The last credit was spent.', { balance: count }),
  'order.created': event('Work was commissioned.', {
    orderId: id,
    taskType: z.string(),
    quantity: count,
    status: z.string(),
  }),
  'order.funded': event('An order was paid into escrow.', { orderId: id, status: z.string() }),
  'order.cancelled': event('An order was cancelled.', { orderId: id, status: z.string() }),
  'conversion.attributed': event('A conversion was attributed to a verified view.', {
    sessionId: id,
    name: z.string(),
    value: count.nullable(),
    currency: z.string().nullable(),
  }),
  'task.completed': event('A micro-task was completed.', {
    completionId: id,
    taskId: id,
    sessionId: id.nullable(),
    verified: z.boolean(),
  }),
  'points.converted': event('Reward points became Stars.', {
    userRef: z.string(),
    points: count,
    stars: count,
    balance: count,
  }),
  'payout.requested': event('A payout was asked for and its Stars are held.', {
    requestId: id,
    stars: count,
    status: z.string(),
  }),
  'payout.approved': event('A payout was approved and waits to be paid.', { requestId: id, stars: count }),
  'payout.paid': event('A payout was paid by hand.', { requestId: id, stars: count }),
  'payout.rejected': event('A payout was rejected and its Stars are given back.', {
    requestId: id,
    stars: count,
    reason: z.string(),
  }),
  'endpoint.disabled': event('A webhook endpoint was switched off: it answered 410 or failed for too long.', {
    endpointId: id,
    since: at,
  }),
} as const

export type EventType = keyof typeof events
export type EventData<T extends EventType> = z.infer<(typeof events)[T]['data']>

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

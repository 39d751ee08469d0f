import { z } from 'zod'

const event = (summary: string, data: z.ZodRawShape) => ({ summary, data: z.object(data) })
const id = z.string()

/** Every event that the service publishes: ids and states, never telemetry. Names are only ever added. */
export const events = {
  'agent.registered': event('An agent was registered.', { agentId: id }),
  'agent.email_confirmed': event('The contact mail address was confirmed; the free plan is granted.', {
    agentId: id,
  }),
  'key.rotated': event('A new API key replaced another, which works until validUntil.', {
    keyId: id,
    replacedKeyId: id,
    validUntil: z.iso.datetime(),
  }),
  'key.revoked': event('An API key was revoked.', { keyId: id }),
} as const satisfies Record<string, ReturnType<typeof event>>

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

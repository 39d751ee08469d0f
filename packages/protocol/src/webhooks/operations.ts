import { z } from 'zod'
import { operation } from '../platform/endpoint.ts'
import { eventEnvelope, events as catalogue, type EventType } from '../platform/events.ts'
import { instant, queryInstant, queryInteger, text } from '../platform/fields.ts'

const url = z.url({ protocol: /^https?$/ }).max(2_048)
const events = z
  .array(
    z
      .string()
      .max(100)
      .regex(/^(\*|[a-z0-9_]+\.[a-z0-9_]+)$/, 'must be * or of the form a.b'),
  )
  .min(1)
  .max(100)
const signingSecret = z.string().meta({ description: 'Shown once.' })
const webhookId = z.object({ webhookId: text(64) })
const cursor = z.string().max(1_000).optional()

export const endpoint = z.object({
  id: z.string(),
  url: z.string(),
  events: z.array(z.string()).max(100),
  enabled: z.boolean(),
  state: z.enum(['healthy', 'failing', 'disabled']),
  createdAt: instant(),
  failingSince: instant().nullable(),
  disabledAt: instant().nullable(),
  disabledReason: z.enum(['gone', 'failing', 'owner']).nullable(),
  /** Until when the previous secret signs too. */
  previousSecretUntil: instant().nullable(),
  /** The start of a running recovery: undelivered events since then are sent again. */
  recoveringSince: instant().nullable(),
  waiting: z.int().meta({ description: 'Deliveries that wait for an attempt; the count stops at 1000.' }),
  health: z
    .array(z.object({ hour: instant(), delivered: z.int(), failed: z.int(), averageMs: z.int() }))
    .max(25)
    .meta({ description: 'Attempts of the last 24 hours, by hour; hours without attempts are omitted.' }),
})
export type WebhookEndpoint = z.infer<typeof endpoint>

export const register = operation({
  summary: 'Subscribe a URL to events.',
  showsSecret: true,
  body: z.object({ url, events }),
  response: z.object({ id: z.string(), signingSecret }),
})
export const list = operation({
  summary: 'List webhook endpoints with their health.',
  response: z.object({ webhooks: z.array(endpoint).max(200) }),
})
export const update = operation({
  summary: 'Change the URL, the events or the state of an endpoint.',
  errors: ['not_found', 'forbidden'],
  params: webhookId,
  body: z.object({ url: url.optional(), events: events.optional(), enabled: z.boolean().optional() }),
  response: endpoint,
})
export const remove = operation({
  summary: 'Delete a webhook endpoint.',
  errors: ['not_found'],
  params: webhookId,
  response: z.object({ id: z.string(), deleted: z.literal(true) }),
})
export const rotate = operation({
  summary: 'Replace the signing secret. The old secret also signs for a while.',
  errors: ['not_found', 'forbidden'],
  showsSecret: true,
  params: webhookId,
  body: z.object({ overlapSeconds: z.int().min(0).max(86_400).default(86_400) }),
  response: z.object({ id: z.string(), signingSecret, previousSecretUntil: instant().nullable() }),
})
export const sendTest = operation({
  summary: 'Send a test event to one endpoint, once.',
  errors: ['not_found', 'forbidden'],
  params: webhookId,
  response: z.object({ deliveryId: z.string(), eventId: z.string() }),
})
export const recover = operation({
  summary: 'Enable an endpoint and send the events that it missed since a time.',
  errors: ['not_found', 'forbidden'],
  params: webhookId,
  body: z.object({ since: z.iso.datetime({ offset: true }) }),
  response: z.object({ id: z.string(), recoveringSince: instant() }),
})

export const deliveryStates = ['pending', 'delivered', 'dead'] as const
const delivery = z.object({
  id: z.string(),
  eventId: z.string(),
  type: z.string(),
  state: z.enum(deliveryStates),
  createdAt: instant(),
  settledAt: instant().nullable(),
  nextAttemptAt: instant().nullable(),
  attempts: z
    .array(
      z.object({
        attempt: z.int(),
        at: instant(),
        outcome: z.enum(['delivered', 'failed', 'gone']),
        status: z.int().nullable(),
        fault: z.string().nullable(),
        durationMs: z.int(),
        /** What happened, why, and what to do; null where it was delivered. */
        why: z.string().nullable(),
      }),
    )
    .max(20),
})
export type WebhookDelivery = z.infer<typeof delivery>
export const deliveries = operation({
  summary: 'Read the deliveries of an endpoint, newest first, with their attempts.',
  errors: ['not_found'],
  params: webhookId,
  query: z.object({
    state: z.enum(deliveryStates).optional(),
    limit: queryInteger(1, 100).optional(),
    cursor,
  }),
  response: z.object({
    deliveries: z.array(delivery).max(100),
    nextCursor: z.string().nullable(),
    hasMore: z.boolean(),
  }),
})
export const replay = operation({
  summary: 'Send one delivery again now.',
  errors: ['not_found', 'forbidden'],
  params: z.object({ deliveryId: text(64) }),
  response: z.object({ id: z.string(), eventId: z.string(), state: z.literal('pending') }),
})

export const readEvents = operation({
  summary: 'Read events in order, for receivers that cannot accept incoming calls.',
  query: z.object({
    since: queryInstant().optional(),
    limit: queryInteger(1, 1_000).optional(),
    cursor,
  }),
  response: z.object({
    events: z.array(eventEnvelope).max(1_000),
    nextCursor: z
      .string()
      .meta({ description: 'The cursor for the next call, also when no event was returned.' }),
    hasMore: z.boolean(),
  }),
})
export const catalog = operation({
  summary: 'List every event type with the JSON Schema of its data.',
  cors: 'any',
  response: z.object({
    envelope: z.record(z.string(), z.unknown()),
    events: z
      .array(
        z.object({
          type: z.string(),
          summary: z.string(),
          published: z
            .boolean()
            .meta({ description: 'True: the service publishes every event of the list.' }),
          schema: z.record(z.string(), z.unknown()),
          example: z.record(z.string(), z.unknown()),
        }),
      )
      .max(200),
  }),
})
export const trigger = operation({
  summary: 'Publish an example event with a test key.',
  errors: ['forbidden'],
  body: z.object({ type: z.enum(Object.keys(catalogue) as [EventType, ...EventType[]]) }),
  response: z.object({ eventId: z.string(), type: z.string() }),
})

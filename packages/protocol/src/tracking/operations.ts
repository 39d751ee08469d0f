import { z } from 'zod'
import { operation } from '../platform/endpoint.ts'
import { instant, queryInstant, queryInteger, text, unitInterval } from '../platform/fields.ts'

export const event = operation({
  summary: 'Record a beacon of on-site behaviour.',
  cors: 'echo',
  limit: 'beacon',
  bodyLimitBytes: 65_536,
  response: z.object({ ok: z.literal(true), recorded: z.int().min(0) }),
})
export const conversion = operation({
  summary: 'Attribute a conversion to a verified view.',
  body: z.object({
    // A session id of 128 three-byte characters makes a token of 614.
    vt: text(1_024),
    name: text(100),
    value: z.number().min(-1e9).max(1e9).optional(),
    currency: z
      .string()
      .regex(/^[A-Za-z]{3}$/, 'must be an ISO 4217 code')
      .optional(),
  }),
  response: z.object({ attributed: z.boolean() }),
})
const metricsRow = z.object({
  sessionId: z.string(),
  credentialId: z.string().nullable(),
  at: instant(),
  focus: unitInterval().nullable(),
  probe: unitInterval().nullable(),
  input: unitInterval().nullable(),
  gaze: unitInterval().nullable(),
  quality: unitInterval().nullable(),
  flags: z.array(z.string()),
})
export type MetricsRow = z.infer<typeof metricsRow>
export const metrics = operation({
  summary: 'Read attention metrics per view.',
  alsoMediaType: 'text/csv',
  query: z.object({
    format: z.enum(['json', 'csv']).default('json'),
    since: queryInstant().optional(),
    limit: queryInteger(1, 10_000).optional(),
    cursor: z.string().max(1_000).optional(),
  }),
  response: z.object({
    summary: z.object({
      views: z.int(),
      verified: z.int(),
      rejected: z.int(),
      avgQuality: unitInterval().nullable(),
      flags: z.record(z.string(), z.int()),
      since: instant(),
      until: instant(),
    }),
    rows: z.array(metricsRow).max(1_000),
    nextCursor: z.string().nullable(),
    hasMore: z.boolean(),
  }),
})
export const funnel = operation({
  summary: 'Read the verified funnel.',
  query: z.object({ since: queryInstant().optional() }),
  response: z.object({
    views: z.int(),
    landed: z.int(),
    engaged: z.int(),
    conversions: z.int(),
    rates: z.object({ landed: unitInterval(), engaged: unitInterval(), conversion: unitInterval() }),
    value: z.record(z.string(), z.number()),
    since: instant(),
    until: instant(),
  }),
})

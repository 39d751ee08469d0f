import { z } from 'zod'
import { operation } from '../platform/endpoint.ts'
import { instant, queryInstant, queryInteger, reference, text, unitInterval } from '../platform/fields.ts'

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
export const viewSummary = z.object({
  views: z.int(),
  verified: z.int(),
  rejected: z.int(),
  avgQuality: unitInterval().nullable(),
  flags: z.record(z.string(), z.int()),
  since: instant(),
  until: instant(),
})
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
    summary: viewSummary,
    rows: z.array(metricsRow).max(1_000),
    nextCursor: z.string().nullable(),
    hasMore: z.boolean(),
  }),
})

const isTimeZone = (name: string): boolean => {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

/** The parts of a window that both reports take beside `since`. */
const windowQuery = {
  until: queryInstant().optional().meta({ description: 'The end of the period, exclusive. Default: now.' }),
  site: z
    .string()
    .max(255)
    .regex(/^[a-z0-9.:[\]_-]+$/, 'must be a host, such as shop.example')
    .optional()
    .meta({ description: 'Only views on pages of this host.' }),
  workflow: reference(128).optional().meta({ description: 'Only views that were opened for this workflow.' }),
}

/** The steps of the funnel, each a part of the views. */
export const funnelSteps = ['views', 'landed', 'engaged', 'converted'] as const

export const funnel = operation({
  summary: 'Read the verified funnel.',
  query: z.object({ since: queryInstant().optional(), ...windowQuery }),
  response: z.object({
    views: z.int(),
    landed: z.int(),
    engaged: z.int(),
    conversions: z.int(),
    rates: z.object({ landed: unitInterval(), engaged: unitInterval(), conversion: unitInterval() }),
    value: z.record(z.string(), z.number()),
    since: instant(),
    until: instant(),
    site: z.string().nullable(),
    workflow: z.string().nullable(),
    steps: z
      .array(
        z.object({
          step: z.enum(funnelSteps),
          views: z.int().meta({ description: 'Views that came this far.' }),
          rate: unitInterval().meta({ description: 'Their share of all views.' }),
        }),
      )
      .length(funnelSteps.length)
      .meta({ description: 'The same figures in order. A view can convert without a beacon.' }),
  }),
})

/** The longest period of the attention report, 13 months: 400 points, because both ends can be a part of a day. */
export const attentionDaysMax = 399

const attentionPointsMax = 400
export const attentionFlagsMax = 50
export const attentionPagesMax = 50
/** Buckets of quality, each 0.05 wide; a quality of 1 is in the last. */
export const qualityBuckets = 20

export const attention = operation({
  summary: 'Read the attention report: quality, flags, probes, checks and pages of views.',
  query: z.object({
    since: queryInstant().optional().meta({
      description: 'The start of the period, at most 399 days before its end. Default: 30 days ago.',
    }),
    ...windowQuery,
    timezone: z
      .string()
      .max(64)
      .refine(isTimeZone, 'must be the name of a time zone, such as Europe/Berlin')
      .default('UTC')
      .meta({ description: 'An IANA name, for `heat` alone: weekdays and hours of this zone.' }),
  }),
  response: z.object({
    since: instant(),
    until: instant(),
    site: z.string().nullable(),
    workflow: z.string().nullable(),
    timezone: z.string(),
    summary: viewSummary,
    threshold: unitInterval().meta({ description: 'The quality from which a view can be verified.' }),
    series: z
      .array(
        z.object({
          at: instant().meta({ description: 'The start of the hour or day, in UTC.' }),
          views: z.int(),
          verified: z.int(),
          rejected: z.int(),
          quality: unitInterval().nullable().meta({ description: 'The average of the scored views.' }),
        }),
      )
      .max(attentionPointsMax)
      .meta({ description: 'Hours in a period of up to three days, days in a longer one, without gaps.' }),
    quality: z
      .array(z.object({ from: unitInterval(), to: unitInterval(), views: z.int() }))
      .length(qualityBuckets)
      .meta({ description: 'Scored views by quality. `to` is exclusive, except in the last.' }),
    heat: z
      .array(
        z.object({
          weekday: z.int().min(1).max(7).meta({ description: '1 is Monday.' }),
          hour: z.int().min(0).max(23),
          views: z.int(),
          verified: z.int(),
        }),
      )
      .max(168)
      .meta({ description: 'Hours of the week in which there were views.' }),
    flags: z
      .array(z.object({ flag: z.string(), views: z.int() }))
      .max(attentionFlagsMax)
      .meta({ description: 'The flags with the most views first.' }),
    probes: z.object({
      shown: z.int().meta({ description: 'Probes of scored views.' }),
      passed: z.int().meta({ description: 'Those of them that were answered right and in time.' }),
    }),
    checks: z.object({
      started: z.int().meta({ description: 'Views that a page opened.' }),
      finished: z.int().meta({ description: 'Those of them that ended by their last chunk.' }),
      abandoned: z.int().meta({ description: 'Those of them that expired.' }),
      medianMs: z.int().nullable().meta({ description: 'From the start to the end; interpolated.' }),
      p90Ms: z.int().nullable(),
    }),
    pages: z
      .array(
        z.object({
          path: z.string().meta({
            description:
              'The path of the first beacon of a view, without a query. `(none)`: without a path. `(other)`: beyond 100 paths of a day.',
          }),
          landed: z.int().meta({ description: 'Views whose first beacon came from this page.' }),
          engaged: z.int().meta({ description: 'Those of them with an engagement, on any page.' }),
        }),
      )
      .max(attentionPagesMax)
      .meta({ description: 'The pages with the most views first.' }),
  }),
})
/** The attention report of a period. */
export type AttentionReport = z.output<typeof attention.response>

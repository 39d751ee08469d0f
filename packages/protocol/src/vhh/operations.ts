import { z } from 'zod'
import { operation } from '../platform/endpoint.ts'
import { instant, reference, text } from '../platform/fields.ts'

const epoch = z.object({
  code: z.string(),
  epoch: z.string(),
  value: z.number().nullable(),
  currency: z.literal('USD'),
  unit: z.string(),
  status: z.string(),
  method: z.string(),
  inputs: z.object({ hours: z.number(), clusters: z.int(), workers: z.int() }),
  publishedAt: instant(),
  jws: z.string(),
})
export type Epoch = z.infer<typeof epoch>
const monthToDate = z.object({
  month: z.string(),
  value: z.number().nullable(),
  status: z.string(),
  inputs: z.object({ hours: z.number(), clusters: z.int(), workers: z.int() }),
  asOf: instant(),
})

export const catalogue = operation({
  summary: 'List the published index codes.',
  cors: 'any',
  response: z.object({
    codes: z.array(z.object({ code: z.string(), name: z.string(), latest: epoch })).max(100),
  }),
})
export const composite = operation({
  summary: 'Read the VHH composite index; an API key gives more detail.',
  errors: ['license_required', 'forbidden'],
  cors: 'any',
  licensedQuery: ['history', 'monthToDate', 'categories'],
  query: z.object({
    history: z.enum(['0', '1']).optional(),
    monthToDate: z.enum(['0', '1']).optional(),
    categories: z.enum(['0', '1']).optional(),
  }),
  response: epoch.extend({
    monthToDate: monthToDate.optional(),
    categories: z
      .array(z.object({ code: z.string(), latest: epoch.nullable() }))
      .max(100)
      .optional(),
    history: z.array(epoch).max(1_200).optional(),
  }),
})
export const series = operation({
  summary: 'Read one licensed index series.',
  params: z.object({
    code: z.string().regex(/^VHH_[A-Za-z0-9_]{1,64}$/, 'must be of the form VHH_<category>'),
  }),
  response: z.object({
    code: z.string(),
    latest: epoch.nullable(),
    monthToDate,
    series: z.array(epoch).max(1_200),
  }),
})
export const forwardsOrder = operation({
  summary: 'Request prepaid capacity.',
  limit: 'forwards',
  body: z.object({
    name: text(200),
    company: text(200),
    email: z.email().max(254),
    hours: z.number().positive().max(10_000_000),
    month: z.string().regex(/^\d{4}-(0[1-9]|1[0-2])$/, 'must be YYYY-MM'),
    category: reference(64).optional(),
    notes: text(4_000, 0).optional(),
  }),
  response: z.object({
    ok: z.literal(true),
    orderId: z.string(),
    status: z.literal('received'),
    capacity: z.object({
      hoursRequested: z.number(),
      hoursAvailable: z.number(),
      assessment: z.enum(['within', 'stretch', 'beyond']),
    }),
    indicative: z.object({
      vhhUsd: z.number().nullable(),
      premiumPct: z.number(),
      totalUsd: z.number().nullable(),
      epoch: z.string(),
      note: z.string(),
    }),
    terms: z.object({
      transferable: z.literal(false),
      resellable: z.literal(false),
      cashSettled: z.literal(false),
    }),
    next: z.string(),
  }),
})

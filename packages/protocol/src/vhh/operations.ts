import { z } from 'zod'
import { operation } from '../platform/endpoint.ts'
import { instant, queryInteger, reference, text } from '../platform/fields.ts'

const month = z.string().regex(/^\d{4}-(0[1-9]|1[0-2])$/, 'must be YYYY-MM')
const seriesCode = z.string().regex(/^VHH_[A-Za-z0-9_]{1,64}$/, 'must be of the form VHH_<category>')
export const counts = z.object({ hours: z.number(), clusters: z.int(), workers: z.int() })
export const epoch = z.object({
  code: z.string(),
  epoch: z.string(),
  value: z.number().nullable(),
  currency: z.literal('USD'),
  unit: z.string(),
  status: z.string(),
  method: z.string(),
  inputs: counts.extend({ units: z.int().optional() }),
  publishedAt: instant(),
  jws: z.string(),
  /** Since method vhh-1. A restatement is the next revision and names the one before. */
  revision: z.int().optional(),
  /** The Merkle root of the inputs. */
  inputsRoot: z.string().optional(),
  /** What there was too little of: hours, clusters, workers. */
  tooFew: z.array(z.string()).max(3).optional(),
  /** The last value before this month, where this month has none. */
  carried: z.object({ value: z.number(), epoch: z.string() }).nullable().optional(),
  restates: z.object({ revision: z.int(), reason: z.string() }).nullable().optional(),
  /** How much settled work is not an input, by the reason. */
  excluded: z.record(z.string(), z.int()).optional(),
  /** The work was generated for a demonstration. */
  demo: z.literal(true).optional(),
})
export type Epoch = z.infer<typeof epoch>
export const monthToDate = z.object({
  month: z.string(),
  value: z.number().nullable(),
  status: z.string(),
  inputs: counts,
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
    code: seriesCode,
  }),
  response: z.object({
    code: z.string(),
    latest: epoch.nullable(),
    monthToDate,
    series: z.array(epoch).max(1_200),
  }),
})
/** What an epoch was computed from. `@pohf/verify/vhh` recomputes the value from it. */
export const inputsDocument = z.object({
  code: z.string(),
  epoch: z.string(),
  method: z.string(),
  rows: z
    .array(z.object({ cluster: z.string(), units: z.int(), seconds: z.int(), usdMicro: z.int() }))
    .max(20_000),
  workers: z.array(z.string()).max(20_000),
})
export const epochWithInputs = z.object({
  epoch,
  inputs: inputsDocument.nullable(),
  note: z.string(),
})
const inputsQuery = z.object({ epoch: month.optional() })
export const inputs = operation({
  summary: 'Read an epoch of the composite with the inputs from which anybody can compute its value.',
  errors: ['not_found'],
  cors: 'any',
  query: inputsQuery,
  response: epochWithInputs,
})
export const seriesInputs = operation({
  summary: 'Read an epoch of a category with its inputs.',
  errors: ['not_found'],
  params: z.object({ code: seriesCode }),
  query: inputsQuery,
  response: epochWithInputs,
})
export const forwardsOrder = operation({
  summary: 'Request prepaid capacity.',
  limit: 'forwards',
  body: z.object({
    name: text(200),
    company: text(200),
    email: z.email().max(254),
    hours: z.number().positive().max(10_000_000),
    month,
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

export const operatorClose = operation({
  summary: 'Close the months of the index that are due, or restate a closed month.',
  errors: ['not_found', 'index_conflict'],
  body: z.object({ month: month.optional(), reason: text(500).optional() }),
  response: z.object({
    published: z.int(),
    epochs: z.array(epoch).max(100),
  }),
})
export const operatorExplain = operation({
  summary: 'Explain an epoch: what was excluded, what each cluster counts with, and where the median lies.',
  errors: ['not_found'],
  params: z.object({ epoch: month }),
  query: z.object({ code: z.string().max(70).optional() }),
  response: z.object({
    epoch,
    /** The largest clusters, by hours. */
    clusters: z
      .array(
        z.object({
          cluster: z.string(),
          hours: z.number(),
          sharePct: z.number(),
          weightPct: z.number(),
          usdPerHour: z.number(),
        }),
      )
      .max(50),
    /** Prices of an hour below which this share of the weight lies. */
    quantiles: z.array(z.object({ pct: z.int(), usdPerHour: z.number() })).max(9),
  }),
})

export const forwardStatuses = ['received', 'quoted', 'countersigned', 'invoiced', 'closed'] as const
const forward = z.object({
  orderId: z.string(),
  status: z.enum(forwardStatuses),
  name: z.string(),
  company: z.string(),
  email: z.string(),
  hours: z.number(),
  month: z.string(),
  category: z.string().nullable(),
  notes: z.string().nullable(),
  capacity: z.object({ hoursAvailable: z.number(), assessment: z.enum(['within', 'stretch', 'beyond']) }),
  indicative: z.object({ premiumPct: z.number(), totalUsd: z.number().nullable(), epoch: z.string() }),
  quotedUsd: z.number().nullable(),
  invoiceRef: z.string().nullable(),
  note: z.string().nullable(),
  receivedAt: instant(),
  changedAt: instant(),
})
/** A request for capacity as operators see it. */
export type ForwardOrder = z.output<typeof forward>
export const operatorForwards = operation({
  summary: 'List the requests for capacity in one state, longest waiting first.',
  query: z.object({
    status: z.enum(forwardStatuses).optional(),
    limit: queryInteger(1, 100).optional(),
    cursor: text(200).optional(),
  }),
  response: z.object({ forwards: z.array(forward).max(100), nextCursor: z.string().nullable() }),
})
export const operatorForwardMove = operation({
  summary: 'Move a request for capacity to its next state.',
  errors: ['not_found', 'forward_conflict'],
  params: z.object({ orderId: text(64) }),
  body: z.object({
    status: z.enum(['quoted', 'countersigned', 'invoiced', 'closed']),
    /** Required to quote: the price for all hours, in whole cents. */
    quotedUsdCents: z.int().min(1).max(100_000_000_000).optional(),
    /** Required to invoice: the number of the invoice in your bookkeeping. */
    invoiceRef: text(200).optional(),
    note: text(1_000, 0).optional(),
  }),
  response: forward,
})

import { z } from 'zod'
import { operation } from '../platform/endpoint.ts'
import { instant, json, queryInteger, reference, text, unitInterval, usd } from '../platform/fields.ts'
import { modes } from '../platform/ids.ts'
import { workWarnings } from './warnings.ts'

export const orderStates = [
  'created',
  'funded',
  'in_progress',
  'delivered',
  'completed',
  'cancelled',
  'refunded',
  'expired',
] as const
/** 24 KB: minimal chains are under 3 KB each. */
export const mandateCharsMax = 24_576
const mandate = () => z.string().min(1).max(mandateCharsMax)

export const order = operation({
  summary: 'Commission verified human work.',
  errors: ['price_above_max', 'mandate_used', 'order_conflict', 'orders_suspended'],
  body: z.object({
    taskType: reference(200),
    quantity: z.int().min(1).max(10_000),
    maxPriceUsd: z.number().min(0).max(10_000_000).optional(),
    items: z.array(json(16_384)).max(1_000).optional(),
    instructions: text(4_000).optional(),
    callbackRef: reference(256).optional(),
    ap2: z
      .object({ checkout_mandate: mandate(), payment_mandate: mandate() })
      .optional()
      .meta({ description: 'Without an API key: Verifiable Intent or AP2 mandates, hops joined by ~~.' }),
  }),
  response: z.object({
    orderId: z.string(),
    status: z.enum(orderStates),
    taskType: z.string(),
    quantity: z.int(),
    unitPriceUsd: usd(),
    totalUsd: usd(),
    custom: z.boolean(),
    escrow: z.object({ status: z.string() }),
    expiresAt: instant(),
    fundUrl: z.url(),
    warnings: workWarnings,
    orderToken: z
      .string()
      .optional()
      .meta({ description: 'Of an order without an API key: the bearer that funds it, for 24 hours.' }),
    agent: z
      .object({
        agentId: z.string(),
        mode: z.enum(modes),
        credential: z.enum(['http-message-signature', 'verifiable-intent']),
        bodyBound: z.boolean().meta({ description: 'Whether the credential covers what is ordered.' }),
      })
      .optional()
      .meta({ description: 'Of an order without an API key: whom the credential stands for here.' }),
  }),
})
export const orderFund = operation({
  summary: 'Get the checkout that funds an order.',
  takesOrderToken: true,
  errors: ['not_found', 'card_provider_unreachable'],
  body: z.object({ orderId: text(128) }),
  response: z.object({ checkoutUrl: z.url(), orderId: z.string(), amountUsd: usd(), expiresAt: instant() }),
})

/**
 * open: waits for a person. claimed: a person works on it. delivered: the buyer may accept or reject it until
 * `reviewUntil`, then it is accepted. rejected: by the buyer; the person may appeal until `appealUntil`. appealed: an
 * operator decides. accepted: paid. refused: the rejection is final, the money is refunded. cancelled: never done, the
 * money is refunded.
 */
export const unitStates = [
  'open',
  'claimed',
  'delivered',
  'accepted',
  'rejected',
  'appealed',
  'refused',
  'cancelled',
] as const

export const rejectReasons = [
  'wrong_answer',
  'instructions_not_followed',
  'incomplete',
  'low_effort',
  'other',
] as const

/** Why an operator reviews an order: its buyer is new or was refused lately, or workers reported it. */
export const reviewCauses = ['new_buyer', 'reports'] as const
export const reviewDecisions = ['approved', 'refused'] as const
export const orderReview = () =>
  z
    .object({
      status: z.enum(['required', 'waiting', ...reviewDecisions, 'not_reviewed']),
      cause: z.enum(reviewCauses),
      reason: z.string().nullable().meta({ description: 'What the operator says about the decision.' }),
    })
    .nullable()
    .meta({
      description:
        'The review by an operator; null where there is none. required: once it is paid. waiting: no worker gets it until it is decided. not_reviewed: it ended before, and what was paid is refunded.',
    })

const orderParams = z.object({ orderId: text(128) })
const unitParams = z.object({ orderId: text(128), n: queryInteger(1, 10_000) })

export const orderRecord = z.object({
  orderId: z.string(),
  status: z.enum(orderStates),
  taskType: z.string(),
  workflowId: z.string().nullable(),
  custom: z.boolean(),
  /** The price is the buyer's; an operator must accept it before work starts. */
  waitsForOperator: z.boolean(),
  quantity: z.int(),
  unitPriceUsd: usd(),
  totalUsd: usd(),
  callbackRef: z.string().nullable(),
  createdAt: instant(),
  expiresAt: instant(),
  fundedAt: instant().nullable(),
  /** The number of units in each state. */
  units: z.record(z.enum(unitStates), z.int().min(0)),
  escrow: z.object({
    status: z.enum(['unfunded', 'held', 'released', 'refunded']),
    heldUsd: usd(),
    paidUsd: usd(),
    returnedUsd: usd(),
  }),
  review: orderReview(),
  warnings: workWarnings,
})

export const unit = z.object({
  n: z.int().min(1),
  status: z.enum(unitStates),
  input: z.unknown(),
  answer: z.unknown().meta({ description: 'Null until it is delivered.' }),
  credential: z.object({ credentialId: z.string(), pohf_jwt: z.string() }).nullable(),
  sessionId: z.string().nullable(),
  quality: unitInterval().nullable(),
  deliveredAt: instant().nullable(),
  reviewUntil: instant().nullable(),
  appealUntil: instant().nullable(),
  rejection: z
    .object({ reason: z.enum(rejectReasons), note: z.string().nullable(), at: instant() })
    .nullable(),
  appeal: z
    .object({
      text: z.string(),
      at: instant(),
      decision: z.enum(['accepted', 'refused']).nullable(),
      decisionReason: z.string().nullable(),
    })
    .nullable(),
})

export type OrderState = (typeof orderStates)[number]
export type UnitState = (typeof unitStates)[number]
export type RejectReason = (typeof rejectReasons)[number]
export type Order = z.output<typeof orderRecord>
export type OrderUnit = z.output<typeof unit>

export const ordersList = operation({
  summary: 'List your orders, newest first.',
  query: z.object({
    status: z.enum(orderStates).optional(),
    after: text(128).optional(),
    limit: queryInteger(1, 100).optional(),
  }),
  response: z.object({ orders: z.array(orderRecord).max(100), nextCursor: z.string().nullable() }),
})
export const orderRead = operation({
  summary: 'Read one of your orders.',
  errors: ['not_found'],
  params: orderParams,
  response: orderRecord,
})
export const orderResults = operation({
  summary: 'Read the units of an order with their answers and credentials, as JSON or CSV.',
  errors: ['not_found'],
  params: orderParams,
  query: z.object({
    format: z.enum(['json', 'csv']).optional(),
    status: z.enum(unitStates).optional(),
    after: queryInteger(0, 10_000).optional(),
    limit: queryInteger(1, 1_000).optional(),
  }),
  alsoMediaType: 'text/csv',
  response: z.object({
    orderId: z.string(),
    status: z.enum(orderStates),
    units: z.array(unit).max(1_000),
    nextCursor: z.int().nullable(),
  }),
})
export const orderCancel = operation({
  summary: 'Cancel the units that no worker has claimed. Their price is refunded.',
  errors: ['not_found', 'order_conflict'],
  params: orderParams,
  response: orderRecord,
})
export const unitAccept = operation({
  summary: 'Accept a delivered unit. The worker is paid.',
  errors: ['not_found', 'order_conflict'],
  params: unitParams,
  response: unit,
})
export const unitReject = operation({
  summary: 'Reject a delivered unit. The worker sees the reason and may appeal.',
  errors: ['not_found', 'order_conflict'],
  params: unitParams,
  body: z.object({ reason: z.enum(rejectReasons), note: text(1_000).optional() }),
  response: unit,
})

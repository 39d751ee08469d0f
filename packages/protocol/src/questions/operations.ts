import { z } from 'zod'
import { operation } from '../platform/endpoint.ts'
import { instant, json, text, unitInterval, usd } from '../platform/fields.ts'
import { paymentChallenge, paymentErrors, purchasePending, receipt } from '../purchases/operations.ts'
import { answerForm } from '../work/forms.ts'
import { orderReview } from '../work/orders.ts'
import { workWarnings } from '../work/warnings.ts'

/** The workflow whose units are questions. Its price and reward are those that the operator set. */
export const askWorkflowId = 'wf_ask_human'

/**
 * unpaid: a person must pay the checkout, or a wallet over HTTP 402. queued: waits for a worker. claimed: a worker answers it.
 * answered: you may accept or reject it until `reviewUntil`, then it is accepted. rejected: by you; an appeal may change it.
 * refunded: the rejection is final. expired: not answered by the deadline, or not paid; what was paid is refunded.
 */
export const questionStates = [
  'unpaid',
  'queued',
  'claimed',
  'answered',
  'accepted',
  'rejected',
  'refunded',
  'cancelled',
  'expired',
] as const

const question = () =>
  text(2_000).meta({ description: 'Plain text, without links, hosts, mail addresses and telephone numbers.' })
const answerSchema = () =>
  json(4_096).meta({
    description:
      'JSON Schema of the answer: string, enum, boolean, integer from 1 to n, array of enum, or an object of these. Default: a text.',
  })
const deadline = () =>
  instant().meta({ description: '10 minutes to 30 days from now. Default: in 24 hours.' })

const expectedSeconds = z
  .int()
  .min(0)
  .nullable()
  .meta({ description: 'From payment to answer: the median of the last 50 units; null below 5.' })
const measuredUnits = z.int().min(0).max(50)

export const quote = operation({
  summary: 'See what a question to a person costs, and how long the last ones took. Nothing is ordered.',
  errors: ['out_of_stock'],
  body: z.object({
    question: question(),
    answerSchema: answerSchema().optional(),
    deadline: deadline().optional(),
  }),
  response: z.object({
    workflowId: z.string(),
    priceUsd: usd(),
    expectedSeconds,
    measuredUnits,
    deadline: instant(),
    answerForm: answerForm.meta({ description: 'What the worker fills in.' }),
    warnings: workWarnings,
  }),
})

export const questionRecord = z.object({
  questionId: z.string().meta({ description: 'The id of an order of one unit.' }),
  status: z.enum(questionStates),
  question: z.string(),
  priceUsd: usd(),
  checkoutUrl: z.url().nullable().meta({ description: 'While it is unpaid: where a person pays.' }),
  deadline: instant(),
  createdAt: instant(),
  expectedSeconds,
  measuredUnits,
  answer: z.unknown().meta({ description: 'In the form of answerSchema; null until it is answered.' }),
  credential: z.object({ credentialId: z.string(), pohf_jwt: z.string() }).nullable(),
  sessionId: z.string().nullable().meta({ description: 'The recording of the worker.' }),
  quality: unitInterval().nullable(),
  answeredAt: instant().nullable(),
  reviewUntil: instant().nullable(),
  review: orderReview(),
})
export type QuestionState = (typeof questionStates)[number]
export type Question = z.output<typeof questionRecord>

export const ask = operation({
  summary: 'Ask a person one question: creates and funds an order of one unit.',
  errors: [
    'price_above_max',
    'out_of_stock',
    'order_conflict',
    'orders_suspended',
    'card_provider_unreachable',
    'chain_unreachable',
  ],
  body: z.object({
    question: question(),
    answerSchema: answerSchema().optional(),
    budgetUsd: z.number().min(0).max(1_000).meta({ description: 'The most that it may cost.' }),
    deadline: deadline().optional(),
    payWith: z.enum(['x402']).optional().meta({
      description:
        'The question stays unpaid, without a checkout: pay it with a stablecoin at its pay endpoint.',
    }),
    simulate: z
      .boolean()
      .optional()
      .meta({ description: 'Test keys only: a simulated worker answers at once.' }),
  }),
  response: questionRecord,
})
export const read = operation({
  summary: 'Read a question: its progress, its answer, and the credential of the answer.',
  errors: ['not_found'],
  params: z.object({ questionId: text(128) }),
  response: questionRecord,
})
/**
 * The price goes into escrow once, whatever is repeated; a question that ends without an accepted answer is refunded to the
 * payer.
 */
export const pay = operation({
  summary: 'Pay a question over HTTP 402 with a stablecoin: the first call answers the terms.',
  errors: ['not_found', 'order_conflict', ...paymentErrors],
  also: { 202: purchasePending, 402: paymentChallenge },
  params: z.object({ questionId: text(128) }),
  response: questionRecord.extend({ payment: receipt.extend({ purchaseId: z.string() }) }),
})

import { z } from 'zod'
import { operation } from '../platform/endpoint.ts'
import { instant, json, reference, text, usd } from '../platform/fields.ts'
import { purchased, purchasePending } from '../purchases/operations.ts'
import { answerForm, inputForm } from './forms.ts'

const microTask = z.object({
  id: z.string(),
  kind: z.string(),
  prompt: z.string(),
  options: z.array(z.string()).max(10).optional(),
  media: z.array(z.url()).max(4).optional(),
  estSeconds: z.number(),
  rewardStars: z.number(),
  token: z.string(),
  expiresAt: instant(),
})
export const tasksNext = operation({
  summary: 'Get the next micro-task of a site.',
  cors: 'echo',
  limit: 'tasks',
  query: z.object({ site: z.string().max(200).optional() }),
  response: z.object({ task: microTask }),
})
export const tasksComplete = operation({
  summary: 'Complete a micro-task.',
  errors: ['task_token_used'],
  cors: 'echo',
  limit: 'tasks',
  bodyLimitBytes: 524_288,
  body: z.object({
    token: z.string().max(2_048).optional(),
    answer: json(16_384).optional(),
    sessionId: z.string().max(128).optional(),
    memberRef: text(256, 0).optional(),
  }),
  response: z.object({
    ok: z.literal(true),
    completionId: z.string().optional(),
    sessionId: z.string().optional(),
    verified: z.boolean(),
    rewardStars: z.number(),
    reason: z.string().optional(),
  }),
})
const workflow = z.object({
  id: z.string(),
  title: z.string(),
  description: z.string(),
  steps: z.array(z.string()),
  estMinutes: z.number(),
  rewardStars: z.number(),
  webcamBonus: z.number(),
  datasetOptin: z.boolean(),
  category: z.string(),
  priceUsd: usd(),
  /** What an item of an order holds, and what its answer will. Without a form, anything. */
  inputForm,
  answerForm,
})
export type Workflow = z.infer<typeof workflow>
export const workflowsAvailable = operation({
  summary: 'List the work that can be commissioned.',
  cors: 'any',
  response: z.object({
    workflows: z.array(workflow).max(1_000),
    count: z.int(),
    how_to_buy: z.object({
      autonomous: z.object({
        method: z.string(),
        url: z.string(),
        auth: z.string(),
        flow: z.string(),
        verify: z.string(),
      }),
      with_a_human: z.object({ method: z.string(), url: z.string(), note: z.string() }),
    }),
  }),
})
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
export const order = operation({
  summary: 'Commission verified human work.',
  errors: ['price_above_max', 'untrusted_agent'],
  body: z.object({
    taskType: reference(200),
    quantity: z.int().min(1).max(10_000),
    maxPriceUsd: z.number().min(0).max(10_000_000).optional(),
    items: z.array(json(16_384)).max(1_000).optional(),
    instructions: text(4_000).optional(),
    callbackRef: reference(256).optional(),
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
  }),
})
export const orderFund = operation({
  summary: 'Get the checkout that funds an order.',
  errors: ['not_found', 'card_provider_unreachable'],
  body: z.object({ orderId: text(128) }),
  response: z.object({ checkoutUrl: z.url(), orderId: z.string(), amountUsd: usd(), expiresAt: instant() }),
})
const paymentRequirement = z.object({
  scheme: z.literal('exact'),
  network: z.string(),
  maxAmountRequired: z.string(),
  resource: z.url(),
  description: z.string(),
  mimeType: z.string(),
  payTo: z.string(),
  maxTimeoutSeconds: z.int(),
  asset: z.string(),
  extra: z.record(z.string(), z.unknown()),
})
export type PaymentRequirement = z.infer<typeof paymentRequirement>
const paymentChallenge = z.object({
  x402Version: z.literal(1),
  error: z.string(),
  accepts: z.array(paymentRequirement).min(1).max(8),
  purchase_id: z.string(),
  ok: z.literal(false),
  message: z.string(),
  requestId: z.string(),
  docs: z.url(),
  retryable: z.boolean(),
})
export const taskBuy = operation({
  summary: 'Buy a verified unit over HTTP 402.',
  errors: ['out_of_stock', 'payment_malformed', 'payment_invalid', 'purchase_conflict', 'chain_unreachable'],
  also: { 202: purchasePending, 402: paymentChallenge },
  params: z.object({ workflowId: z.string().max(200) }),
  query: z.object({ purchase_id: z.string().max(512).optional() }),
  response: purchased,
})

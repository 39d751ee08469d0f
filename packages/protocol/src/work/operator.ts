import { z } from 'zod'
import { operation } from '../platform/endpoint.ts'
import { instant, json, queryInteger, text, unitInterval, usd } from '../platform/fields.ts'
import { modes } from '../platform/ids.ts'
import { answerForm, inputForm } from './forms.ts'
import { orderStates, rejectReasons, reviewCauses, reviewDecisions } from './orders.ts'
import { reportReasons } from './workers.ts'

/** A known-answer item: it looks like any other unit and is paid like one. */
const knownAnswerItem = z.object({ input: json(16_384), answer: json(16_384) })

const workflowTerms = z.object({
  title: text(200),
  description: text(2_000),
  steps: z.array(text(500)).min(1).max(50),
  estMinutes: z.int().min(1).max(10_000),
  rewardStars: z.int().min(0).max(1_000_000),
  webcamBonus: z.int().min(0).max(1_000_000),
  datasetOptin: z.boolean(),
  category: z.string().regex(/^[a-z][a-z0-9_]{0,39}$/),
  priceUsd: usd(),
  inputForm,
  answerForm,
  gold: z.array(knownAnswerItem).max(100),
})
export type WorkflowTerms = z.output<typeof workflowTerms>
const workflowId = z.string().regex(/^wf_[a-z0-9_]{1,64}$/)

const operatorWorkflow = workflowTerms.extend({
  workflowId: z.string(),
  active: z.boolean(),
  stock: z.record(z.enum(modes), z.int().min(0)),
})
export type OperatorWorkflow = z.output<typeof operatorWorkflow>
export const operatorWorkflows = operation({
  summary: 'List every workflow with its forms and known-answer items.',
  response: z.object({ workflows: z.array(operatorWorkflow).max(1_000) }),
})
export const operatorWorkflowWrite = operation({
  summary: 'Create or change a workflow. Existing orders keep their terms.',
  params: z.object({ workflowId }),
  body: workflowTerms,
  response: z.object({ workflowId: z.string(), active: z.boolean() }),
})
export const operatorWorkflowRetire = operation({
  summary: 'Retire a workflow. Existing orders are completed.',
  errors: ['not_found'],
  params: z.object({ workflowId }),
  response: z.object({ workflowId: z.string(), active: z.boolean() }),
})
const operatorOrder = z.object({
  agentId: z.string(),
  mode: z.enum(modes),
  orderId: z.string(),
  status: z.enum(orderStates),
  taskType: z.string(),
  instructions: z.string().nullable(),
  items: z.int().min(0),
  quantity: z.int(),
  totalUsd: usd(),
  createdAt: instant(),
  fundedAt: instant().nullable(),
  waitsForOperator: z.boolean(),
})
export type OperatorOrder = z.output<typeof operatorOrder>
export const operatorOrders = operation({
  summary:
    'List the orders of all agents, newest first; with waiting=1 only those that wait for an operator.',
  query: z.object({
    waiting: z.enum(['0', '1']).optional(),
    after: text(128).optional(),
    limit: queryInteger(1, 100).optional(),
  }),
  response: z.object({ orders: z.array(operatorOrder).max(100), nextCursor: z.string().nullable() }),
})
const offerParams = z.object({ agentId: text(64), orderId: text(128) })
export const operatorOfferAccept = operation({
  summary: 'Accept a custom order: set the steps, the answer form and the reward of a unit.',
  errors: ['not_found', 'order_conflict'],
  params: offerParams,
  body: z.object({
    mode: z.enum(modes),
    title: text(200),
    steps: z.array(text(500)).min(1).max(50),
    estMinutes: z.int().min(1).max(10_000),
    rewardStars: z.int().min(0).max(1_000_000),
    answerForm,
  }),
  response: operatorOrder,
})
export const operatorOfferDecline = operation({
  summary: 'Decline an offer. The payment is refunded.',
  errors: ['not_found', 'order_conflict'],
  params: offerParams,
  body: z.object({ mode: z.enum(modes), reason: text(500) }),
  response: operatorOrder,
})
const appeal = z.object({
  assignmentId: z.string(),
  agentId: z.string(),
  mode: z.enum(modes),
  orderId: z.string(),
  n: z.int().min(1),
  title: z.string(),
  instructions: z.string().nullable(),
  input: z.unknown(),
  answer: z.unknown(),
  quality: unitInterval().nullable(),
  rejection: z.object({ reason: z.enum(rejectReasons), note: z.string().nullable() }),
  text: z.string(),
  at: instant(),
})
export type Appeal = z.output<typeof appeal>
export const operatorAppeals = operation({
  summary: 'List the appeals that wait for a decision, oldest first.',
  query: z.object({ limit: queryInteger(1, 100).optional() }),
  response: z.object({ appeals: z.array(appeal).max(100) }),
})
export const operatorAppealDecide = operation({
  summary: 'Decide an appeal: pay the worker, or confirm the rejection.',
  errors: ['not_found', 'order_conflict'],
  params: z.object({ assignmentId: text(64) }),
  body: z.object({ decision: z.enum(['accepted', 'refused']), reason: text(1_000) }),
  response: z.object({ assignmentId: z.string(), decision: z.enum(['accepted', 'refused']) }),
})
const orderReviewSummary = z.object({
  agentId: z.string(),
  mode: z.enum(modes),
  orderId: z.string(),
  status: z.enum(orderStates),
  title: z.string(),
  cause: z.enum(reviewCauses),
  held: z.boolean().meta({ description: 'No worker gets it until it is decided.' }),
  since: instant(),
  until: instant().nullable().meta({ description: 'The deadline of a question.' }),
  quantity: z.int(),
  totalUsd: usd(),
  reporters: z
    .int()
    .min(0)
    .meta({ description: 'The open reports whose reporters count; the count stops at 100.' }),
})
export type OrderReviewSummary = z.output<typeof orderReviewSummary>
export const operatorReviews = operation({
  summary: 'List the orders that wait for a review: of new buyers, and reported by workers; oldest first.',
  query: z.object({ limit: queryInteger(1, 100).optional() }),
  response: z.object({ reviews: z.array(orderReviewSummary).max(100) }),
})
const orderReviewDetails = orderReviewSummary.extend({
  instructions: z.string().nullable(),
  items: z.array(z.unknown()).max(1_000),
  answerForm,
  reports: z
    .array(z.object({ at: instant(), reason: z.enum(reportReasons), counts: z.boolean() }))
    .max(100)
    .meta({ description: 'The reports since the last decision, oldest first.' }),
  buyer: z.object({
    completed: z
      .int()
      .min(0)
      .meta({ description: 'Orders that were approved and completed since the latest refusal.' }),
    refused: z.int().min(0).meta({ description: 'Orders that operators refused within a year.' }),
    reports: z.object({ open: z.int().min(0), upheld: z.int().min(0), dismissed: z.int().min(0) }),
  }),
})
export type OrderReview = z.output<typeof orderReviewDetails>
export const operatorReview = operation({
  summary: 'Read an order that waits for a review: its texts, its reports, and the record of its buyer.',
  errors: ['not_found'],
  params: offerParams,
  query: z.object({ mode: z.enum(modes) }),
  response: orderReviewDetails,
})
export const operatorReviewDecide = operation({
  summary: 'Decide a review: workers get the order, or it is cancelled and refunded.',
  errors: ['not_found', 'order_conflict'],
  params: offerParams,
  body: z.object({
    mode: z.enum(modes),
    decision: z.enum(reviewDecisions),
    reason: text(500).optional().meta({ description: 'The buyer reads it. Required for a refusal.' }),
  }),
  response: z.object({ orderId: z.string(), decision: z.enum(reviewDecisions) }),
})
export const operatorProduce = operation({
  summary: "Commission units of a workflow at the operator's cost, to be sold from stock.",
  errors: ['not_found'],
  body: z.object({
    workflowId: text(128),
    mode: z.enum(modes),
    quantity: z.int().min(1).max(10_000),
    items: z.array(json(16_384)).max(1_000).optional(),
    instructions: text(4_000).optional(),
  }),
  response: z.object({ orderId: z.string(), quantity: z.int(), costUsd: usd() }),
})

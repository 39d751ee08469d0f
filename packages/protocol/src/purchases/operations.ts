import { z } from 'zod'
import { credentialResponse } from '../credentials/operations.ts'
import { operation } from '../platform/endpoint.ts'
import { instant, queryInteger, text } from '../platform/fields.ts'
import { modes } from '../platform/ids.ts'

/**
 * reserved: the payment is signed, one unit is reserved, the transaction is stored. broadcast: a node has it.
 * uncertain: not known yet. settled: the chain shows the payment. delivered: the credential is issued, or the question
 * waits for a worker. void: the chain proves that nothing was paid. refund_due: paid, and nothing can be delivered, or the
 * question ended without an accepted answer. refunded: the payment was returned.
 */
export const purchaseStates = [
  'reserved',
  'broadcast',
  'uncertain',
  'settled',
  'delivered',
  'void',
  'refund_due',
  'refunded',
] as const

/** stock: one unit that was finished before it was bought. question: a question to a person (`questionId`). */
export const purchasePurposes = ['stock', 'question'] as const

export const receipt = z.object({
  network: z.string(),
  transaction: z.string(),
  payer: z.string(),
  amount: z.string().meta({ description: 'In the smallest unit of the token.' }),
})
/** The delivery of a paid purchase. */
export const purchaseDelivery = credentialResponse.extend({
  purchaseId: z.string(),
  answer: z.unknown(),
  payment: receipt,
})

export const recovery = z.object({
  message: z.string().meta({
    description:
      'Sign this with the wallet that paid (EIP-191), with {time} replaced by the seconds since 1970, and read the purchase with X-Wallet-Proof: <time>.<signature>.',
  }),
})

/** The response to a pending payment, or to a delivered payment without proof of being the payer. */
export const purchasePending = z.object({
  purchaseId: z.string(),
  workflowId: z.string(),
  status: z.enum(purchaseStates),
  statusUrl: z.url(),
  message: z.string(),
  recover: recovery.optional(),
})

export const paymentRequirement = z.object({
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
export const paymentChallenge = z.object({
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
/**
 * Wallets in a browser buy from pages of other sites, without an API key. Stock x402 clients also send a request header
 * named Access-Control-Expose-Headers, and browsers ask whether they may.
 */
const browserWallets = {
  cors: 'any',
  corsHeaders: {
    allow: [
      'X-PAYMENT',
      'PAYMENT-SIGNATURE',
      'X-Purchase-Id',
      'X-Wallet-Proof',
      'Access-Control-Expose-Headers',
    ],
    expose: ['PAYMENT-REQUIRED', 'PAYMENT-RESPONSE', 'X-PAYMENT-RESPONSE', 'X-Purchase-Id', 'X-Sandbox'],
  },
} as const

/** The refusals of every payment over HTTP 402. */
export const paymentErrors = [
  'payment_malformed',
  'payment_invalid',
  'purchase_conflict',
  'contract_wallet_refused',
  'contract_wallet_busy',
  'contract_wallets_paused',
  'chain_unreachable',
  'restore_pending',
] as const

export const taskBuy = operation({
  summary: 'Buy a verified unit over HTTP 402.',
  errors: ['out_of_stock', ...paymentErrors],
  also: { 202: purchasePending, 402: paymentChallenge },
  ...browserWallets,
  params: z.object({ workflowId: z.string().max(200) }),
  query: z.object({ purchase_id: z.string().max(512).optional() }),
  response: purchaseDelivery,
})

export const purchaseRead = operation({
  summary:
    'Read the state of a purchase, and the delivery if you send its secret id or a proof by the wallet.',
  errors: ['not_found', 'wallet_signature_invalid'],
  params: z.object({ purchaseId: text(200) }),
  ...browserWallets,
  response: z.object({
    purchaseId: z.string(),
    workflowId: z.string(),
    purpose: z.enum(purchasePurposes),
    status: z.enum(purchaseStates),
    reason: z.string().nullable(),
    payment: receipt.extend({ transaction: z.string().nullable() }),
    createdAt: instant(),
    updatedAt: instant(),
    delivery: purchaseDelivery.optional(),
    recover: recovery.optional(),
  }),
})

const purchaseRecord = z.object({
  purchaseId: z.string(),
  workflowId: z.string(),
  purpose: z.enum(purchasePurposes),
  questionId: z.string().nullable().meta({ description: 'The question that was paid for.' }),
  status: z.enum(purchaseStates),
  reason: z.string().nullable(),
  network: z.string(),
  payer: z.string(),
  amount: z.string(),
  transaction: z.string().nullable(),
  credentialId: z.string().nullable(),
  createdAt: instant(),
  updatedAt: instant(),
})
/** A purchase as its buyer's list shows it. */
export type Purchase = z.output<typeof purchaseRecord>
export const purchasesList = operation({
  summary: 'List the purchases made with your key, newest first.',
  query: z.object({ limit: queryInteger(1, 100).optional(), cursor: text(200).optional() }),
  response: z.object({ purchases: z.array(purchaseRecord).max(100), nextCursor: z.string().nullable() }),
})

export const operatorPurchases = operation({
  summary: 'List the purchases of all agents in one state, longest waiting first.',
  query: z.object({
    status: z.enum(purchaseStates).optional(),
    limit: queryInteger(1, 100).optional(),
    cursor: text(200).optional(),
  }),
  response: z.object({
    purchases: z.array(purchaseRecord.extend({ agentId: z.string(), mode: z.enum(modes) })).max(100),
    nextCursor: z.string().nullable(),
  }),
})
export const operatorRefund = operation({
  summary: 'Record the refund of a payment. The transfer to the payer is checked on the chain.',
  errors: ['not_found', 'purchase_conflict', 'payment_not_settled', 'chain_unreachable'],
  params: z.object({ purchaseId: text(64) }),
  body: z.object({
    transaction: z.string().regex(/^0x[0-9a-fA-F]{64}$/, 'must be the hash of a transaction'),
    reason: text(500),
  }),
  response: z.object({ purchaseId: z.string(), status: z.enum(purchaseStates), transaction: z.string() }),
})

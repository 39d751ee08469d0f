import { z } from 'zod'
import { operation } from '../platform/endpoint.ts'
import { instant, queryInteger, text } from '../platform/fields.ts'
import { modes } from '../platform/ids.ts'

export const cardWebhook = operation({
  summary: 'Receive a signed webhook of the card provider. Only the provider calls this.',
  textBody: true,
  errors: ['card_signature_invalid', 'not_found'],
  response: z.object({ received: z.literal(true) }),
})

const refundStates = ['wanted', 'sent', 'done', 'failed'] as const
export const operatorRefunds = operation({
  summary: 'List card refunds, oldest first.',
  query: z.object({
    state: z.enum(refundStates).optional(),
    agentId: text(64).optional(),
    after: text(64, 0).optional(),
    limit: queryInteger(1, 200).optional(),
  }),
  response: z.object({
    refunds: z.array(
      z.object({
        refundId: z.string(),
        agentId: z.string(),
        mode: z.enum(modes),
        checkoutId: z.string(),
        amountUsd: z.number(),
        reason: z.string(),
        state: z.enum(refundStates),
        providerRefundId: z.string().nullable(),
        attempts: z.int(),
        fault: z.string().nullable().meta({ description: 'Why the refund or its last attempt failed.' }),
        createdAt: instant(),
        changedAt: instant(),
      }),
    ),
    nextCursor: z.string().nullable().meta({ description: 'Send it as `after`.' }),
  }),
})
export const operatorRefund = operation({
  summary: 'Refund card money that nothing depends on: an unused pack, or the unused part of an order.',
  errors: ['not_found', 'forbidden'],
  body: z.object({
    checkoutId: text(64),
    amountUsdCents: z
      .int()
      .min(1)
      .max(100_000_000)
      .optional()
      .meta({ description: 'Default: the whole refundable amount of this checkout.' }),
    reason: text(500),
  }),
  response: z.object({ refundId: z.string(), state: z.enum(refundStates), amountUsd: z.number() }),
})
export const operatorRefundRetry = operation({
  summary: 'Try a failed refund again.',
  errors: ['not_found', 'forbidden'],
  params: z.object({ refundId: text(64) }),
  response: z.object({ refundId: z.string(), state: z.enum(refundStates) }),
})

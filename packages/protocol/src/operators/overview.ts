import { z } from 'zod'
import { operation } from '../platform/endpoint.ts'
import { instant } from '../platform/fields.ts'

/** Counts of queues stop here, so that a long queue does not make the overview slow. */
export const overviewCountMax = 100

const count = z
  .int()
  .min(0)
  .max(overviewCountMax)
  .meta({ description: `The count stops at ${overviewCountMax}.` })

const queue = z.object({
  name: z.enum(['events', 'mails', 'webhooks', 'purchases']),
  waiting: count,
  oldestSeconds: z.number().min(0).nullable().meta({
    description: 'How long the oldest has waited; null where none waits, or where it is not known.',
  }),
})

export const operatorOverview = operation({
  summary: 'Read the health of the service and what waits for a decision.',
  response: z.object({
    at: instant(),
    operator: z.object({
      operatorId: z.string(),
      name: z.string(),
      decidesPayouts: z
        .boolean()
        .meta({ description: 'False for an operator that was created over the listener.' }),
    }),
    demo: z.boolean().meta({ description: 'The service runs on demo data: nothing of it is real.' }),
    payoutApproval: z.boolean().meta({ description: 'Whether PAYOUT_APPROVAL is on.' }),
    mailServer: z
      .boolean()
      .meta({ description: 'Whether a mail server is configured. Without one, mails wait.' }),
    checks: z
      .array(z.object({ name: z.string(), ok: z.boolean() }))
      .max(20)
      .meta({ description: 'The checks of /readyz, as this process sees them.' }),
    worker: z.object({
      seenAt: instant().meta({ description: 'A worker that runs sets this every few seconds.' }),
      ok: z.boolean(),
    }),
    queues: z.array(queue).max(10),
    gasKeys: z.object({
      total: count,
      low: count.meta({ description: 'Gas keys with too little for a transaction.' }),
    }),
    decisions: z.object({
      payoutsToReview: count,
      payoutsToApprove: count,
      payoutsToPay: count,
      appeals: count,
      offers: count,
      reviews: count,
      failedRefunds: count,
      purchasesToRefund: count,
    }),
    ledgerDifferences: count.meta({
      description: 'Differences that the reconciler found and that are still open. The count stops at 100.',
    }),
    keys: z
      .array(z.object({ signer: z.string(), purpose: z.string(), activeUntil: instant() }))
      .max(1_000)
      .nullable()
      .meta({ description: 'Until when each active signing key signs; null if no signer answers.' }),
  }),
})

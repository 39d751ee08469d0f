import { z } from 'zod'
import { operation } from './endpoint.ts'
import { reference } from './fields.ts'

export const payoutStates = ['queued', 'in_review', 'approved', 'paid', 'rejected'] as const
export const pointsConvert = operation({
  summary: 'Convert reward points to Stars.',
  body: z.object({
    userRef: reference(256),
    points: z.number().min(0).max(1_000_000_000),
    idempotencyKey: reference(255).optional(),
  }),
  response: z.object({ balance: z.number(), deduplicated: z.boolean().optional() }),
})
export const payoutRequest = operation({
  summary: 'Queue a payout for review.',
  errors: ['insufficient_stars'],
  body: z.object({ userRef: reference(256), stars: z.int().min(1).max(1_000_000_000) }),
  response: z.object({ requestId: z.string(), status: z.enum(payoutStates) }),
})

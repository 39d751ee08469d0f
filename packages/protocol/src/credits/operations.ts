import { z } from 'zod'
import { operation } from '../platform/endpoint.ts'
import { instant, reference, text } from '../platform/fields.ts'
import { modes } from '../platform/ids.ts'

/** The pack catalogue. Prices are whole US dollars. */
export const packs = {
  starter: { credits: 100, priceUsd: 49 },
  growth: { credits: 1_000, priceUsd: 299 },
  scale: { credits: 10_000, priceUsd: 1_999 },
} as const
export const packNames = ['starter', 'growth', 'scale'] as const
export type PackName = (typeof packNames)[number]

export const freeSealsPerMonth = 1_000
/** What an agent has to do for the free plan, as registration, the 402 and discovery say it. */
export const freePlanCondition = `Confirm the contact mail address of the agent: ${freeSealsPerMonth.toLocaleString('en')} free verifications a month, no card needed.`
/** How to confirm the address. */
export const confirmationStep = (sendsMail: boolean): string =>
  sendsMail
    ? 'Open the link that was mailed to it; POST /api/agents/email/resend sends it again.'
    : 'This deployment sends no mail: ask its operator to confirm the address.'

export const buy = operation({
  summary: 'Open a card checkout for a pack of credits.',
  errors: ['card_provider_unreachable'],
  body: z.object({ pack: z.enum(packNames) }),
  response: z.object({ checkoutUrl: z.url() }),
})
export const balance = operation({
  summary: 'Read the credit balance.',
  response: z.object({
    balance: z.int().min(0),
    lifetimePurchased: z.int().min(0),
    lifetimeConsumed: z.int().min(0),
    packs: z.array(z.object({ pack: z.enum(packNames), credits: z.int(), priceUsd: z.number() })),
    freeRemaining: z.int().min(0),
    freeResetsAt: instant(),
  }),
})
export const operatorGrant = operation({
  summary: 'Grant credits to an agent without a payment.',
  errors: ['not_found', 'idempotency_key_reused'],
  params: z.object({ agentId: text(64) }),
  body: z.object({
    credits: z.int().min(1).max(10_000_000),
    reference: reference(200).meta({ description: 'Your name for this grant: it is made once.' }),
    reason: text(500),
  }),
  response: z.object({
    agentId: z.string(),
    mode: z.enum(modes),
    credits: z.int(),
    balance: z.int().min(0),
    repeated: z.boolean().meta({ description: 'This reference was granted before: nothing changed.' }),
  }),
})

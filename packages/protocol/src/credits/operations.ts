import { z } from 'zod'
import { operation } from '../platform/endpoint.ts'
import { instant } from '../platform/fields.ts'

/** The pack catalogue. Prices are whole US dollars. */
export const packs = {
  starter: { credits: 100, priceUsd: 49 },
  growth: { credits: 1_000, priceUsd: 299 },
  scale: { credits: 10_000, priceUsd: 1_999 },
} as const
export const packNames = ['starter', 'growth', 'scale'] as const
export type PackName = (typeof packNames)[number]

export const freeSealsPerMonth = 1_000

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

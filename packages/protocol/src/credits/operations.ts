import { z } from 'zod'
import { operation } from '../platform/endpoint.ts'
import { instant, queryInstant, reference, text } from '../platform/fields.ts'
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
// Not by toLocaleString, whose first use takes 20 ms of CPU.
const freeSealsText = String(freeSealsPerMonth).replace(/\d{3}$/, ',$&')
export const freePlanCondition = `Confirm the contact mail address of the agent: ${freeSealsText} free verifications a month, no card needed.`
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

export const disputesShownMax = 20
const disputeStates = ['open', 'lost', 'won'] as const
const disputedPack = z.object({
  checkoutId: z.string(),
  pack: z.enum(packNames),
  state: z.enum(disputeStates).meta({ description: '`open` as long as one dispute of the payment is.' }),
  disputedAt: instant(),
  suspended: z.int().min(0).meta({
    description: 'Credentials that the disputed part of the payment paid for. They are suspended.',
  }),
  revoked: z.int().min(0).meta({
    description:
      'Credentials that the part of the payment paid for whose dispute was lost. They are revoked.',
  }),
  isDone: z.boolean().meta({ description: 'Whether all these credentials have changed their state.' }),
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
    disputes: z.array(disputedPack).max(disputesShownMax).meta({
      description: 'Packs whose payment is or was disputed, the latest first.',
    }),
  }),
})

/** The most buckets in a series. A day is the sum of 24 hours: one call reads the figures of 2,208 hours at most. */
export const usageBucketsMax = { hour: 400, day: 92 } as const
export const usageBuckets = ['hour', 'day'] as const
export const qualityBins = 10
const usageFigures = z.object({
  started: z.int().meta({ description: 'Sessions that started in the bucket.' }),
  ended: z.int().meta({ description: 'Those of them that have ended.' }),
  verified: z.int().meta({ description: 'Those of them that were scored as human.' }),
  refused: z.int().meta({ description: 'Those of them that were scored and refused.' }),
  spent: z.int().meta({
    description: 'Credits and free verifications spent in the bucket; with a test key, test credentials.',
  }),
})
export const usage = operation({
  summary: 'Read the usage by hour or day, the quality of sessions, and how long the credits last.',
  query: z.object({
    bucket: z.enum(usageBuckets).default('day'),
    since: queryInstant().optional().meta({
      description:
        'Rounded down to a bucket, in UTC. At most 92 days or 400 hours before `until`. Default: 30 days or 48 hours ago.',
    }),
    until: queryInstant().optional().meta({ description: 'Rounded up to a bucket. Default: now.' }),
  }),
  response: z.object({
    bucket: z.enum(usageBuckets),
    since: instant(),
    until: instant(),
    totals: usageFigures,
    series: z
      .array(
        usageFigures.extend({
          at: instant().meta({ description: 'When the bucket begins, in UTC.' }),
          refusedBy: z
            .record(z.string(), z.int())
            .meta({ description: 'Refused sessions by reason. A session can have several.' }),
        }),
      )
      .max(usageBucketsMax.hour)
      .meta({ description: 'Every bucket of the period, oldest first, also where nothing happened.' }),
    quality: z
      .array(z.int())
      .length(qualityBins)
      .meta({ description: 'How many scored sessions have a quality in [0, 0.1), [0.1, 0.2), … [0.9, 1].' }),
    runway: z.object({
      available: z.int().min(0).meta({ description: 'Credits, and free verifications of this month.' }),
      spentPerDay: z.number().min(0).meta({ description: 'The average of the last 7 days.' }),
      daysLeft: z.int().nullable().meta({
        description: 'How long they last at this rate; null where nothing was spent, and with a test key.',
      }),
    }),
  }),
})
/** The usage of a period. */
export type Usage = z.output<typeof usage.response>
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

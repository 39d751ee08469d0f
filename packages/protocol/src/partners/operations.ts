import { z } from 'zod'
import { operation } from '../platform/endpoint.ts'
import { instant, queryInstant, queryInteger, reference, text, unitInterval } from '../platform/fields.ts'
import { modes } from '../platform/ids.ts'
import { payoutAccount } from './payout-account.ts'

export const payoutStates = ['queued', 'in_review', 'approved', 'paid', 'rejected'] as const
export type PayoutState = (typeof payoutStates)[number]

export const pointsConvert = operation({
  summary: 'Convert reward points to Stars.',
  errors: ['email_not_confirmed', 'conversion_limit_reached'],
  body: z.object({
    userRef: reference(256),
    points: z.number().min(0.000001).max(1_000_000_000),
    idempotencyKey: reference(255).optional(),
  }),
  response: z.object({
    balance: z.number(),
    deduplicated: z.boolean().optional(),
    stars: z
      .int()
      .optional()
      .meta({ description: 'What this conversion was worth, where the rate is not 1 to 1.' }),
    rate: z.object({ stars: z.int(), points: z.int() }).optional(),
    dropped: z
      .string()
      .optional()
      .meta({ description: 'The part of a Star that rounding down dropped, as a fraction such as 1/3.' }),
  }),
})
export const payoutRequest = operation({
  summary: 'Queue a payout for review.',
  errors: ['insufficient_stars'],
  body: z.object({ userRef: reference(256), stars: z.int().min(1).max(1_000_000_000) }),
  response: z.object({ requestId: z.string(), status: z.enum(payoutStates) }),
})

export const limitGrant = operation({
  summary: 'Raise or lower the number of Stars that a live partner may still convert.',
  errors: ['not_found', 'forbidden', 'conversion_limit_reached', 'idempotency_key_reused'],
  params: z.object({ agentId: text(64) }),
  body: z.object({
    stars: z
      .int()
      .min(-1_000_000_000)
      .max(1_000_000_000)
      .refine((stars) => stars !== 0, 'must not be 0')
      .meta({ description: 'A negative number takes back what the partner has not converted.' }),
    reference: reference(200).meta({ description: 'Your name for this grant: it is made once.' }),
    reason: text(500),
  }),
  response: z.object({
    agentId: z.string(),
    stars: z.int(),
    limitStars: z.int().min(0).meta({ description: 'The Stars that the partner may still convert.' }),
    repeated: z.boolean().meta({ description: 'This reference was granted before: nothing changed.' }),
  }),
})

const rateSide = () => z.int().min(1).max(1_000_000)
export const rateSet = operation({
  summary: 'Set how many Stars the points of a partner are worth, for conversions from now on.',
  errors: ['not_found'],
  params: z.object({ agentId: text(64) }),
  body: z.object({
    stars: rateSide(),
    points: rateSide().meta({ description: 'So many points are worth `stars` Stars.' }),
    reason: text(500),
  }),
  response: z.object({
    agentId: z.string(),
    stars: z.int(),
    points: z.int(),
    before: z.object({ stars: z.int(), points: z.int() }),
  }),
})

export const partnerStatement = operation({
  summary: 'Read the conversions and payouts of a window with running totals, as CSV.',
  query: z.object({ since: queryInstant(), until: queryInstant() }),
  response: z.string(),
  mediaType: 'text/csv; charset=utf-8; header=present',
})

const count = z.int().min(0)
/** What speaks for or against a worker, from their latest 500 assignments. */
const payoutRisk = z.object({
  assignments: count,
  knownAnswerShare: unitInterval()
    .nullable()
    .meta({ description: 'The share of earned Stars that known-answer items paid.' }),
  wrongKnownAnswers: count,
  rejected: count,
  notVerified: count.meta({ description: 'Recordings that did not show an attentive person.' }),
  returned: count.meta({ description: 'Units that were returned or ran out of time.' }),
  sameNetwork: count.meta({ description: "Claims from the network of the buyer's registration." }),
  onlyThroughBuyer: count.meta({ description: 'Claims of a worker who is enrolled at the buyer alone.' }),
  accountCreatedAt: instant().nullable().meta({ description: 'Null once the person is erased.' }),
  firstAssignmentAt: instant(),
  starsDay: count.meta({ description: 'Stars earned for claims of the last 24 hours.' }),
  starsWeek: count.meta({ description: 'Stars earned for claims of the last 7 days.' }),
  buyers: count.meta({ description: 'How many buyers the accepted work was for.' }),
  topBuyerShare: unitInterval()
    .nullable()
    .meta({ description: 'The share of earned Stars that the largest buyer paid.' }),
  topBuyerWorkers: count.meta({
    description: 'Other workers among the latest 500 accepted units of that buyer. Few are a cluster.',
  }),
})
export type PayoutRisk = z.output<typeof payoutRisk>
/** How fast a user of a partner gains and withdraws. Each count stops at 500. */
const userActivity = z.object({
  conversionsDay: count,
  starsDay: count,
  conversionsWeek: count,
  starsWeek: count,
  payoutsWeek: count.meta({ description: 'Payouts requested for this user in 7 days.' }),
  partnerPayoutsDay: count.meta({
    description: 'Payouts requested by this partner in 24 hours, for all users.',
  }),
  firstSeenAt: instant().nullable().meta({ description: 'The first conversion of this user.' }),
})
const activityOfPayout = userActivity
  .nullable()
  .meta({ description: 'For a user of a partner; null for the payout of a worker.' })
const riskOfPayout = payoutRisk
  .nullable()
  .meta({ description: 'For the payout of a worker; null for a user of a partner.' })

/** The account that a worker named, and who else named it. */
const namedAccount = z.object({
  end: z
    .string()
    .nullable()
    .meta({ description: 'The last four characters; null once the person is erased.' }),
  paidAt: instant().nullable().meta({ description: 'The latest completed payout to this account.' }),
  otherWorkers: count.meta({
    description: 'Other workers who named this account and were refused. The count stops at 100.',
  }),
  takenAccounts: count.meta({
    description: 'Accounts of other workers that this worker named and was refused. The count stops at 100.',
  }),
})
export type NamedAccount = z.output<typeof namedAccount>
const accountOfPayout = namedAccount
  .nullable()
  .meta({ description: 'For the payout of a worker; null for a user of a partner.' })

const payoutParams = z.object({ requestId: text(64) })
const payoutStep = z.object({ requestId: z.string(), status: z.enum(payoutStates) })
export const payoutList = operation({
  summary: 'List payout requests, oldest first.',
  query: z.object({
    status: z.enum(payoutStates).optional(),
    after: text(64, 0).optional(),
    limit: queryInteger(1, 200).optional(),
  }),
  response: z.object({
    payouts: z.array(
      z.object({
        requestId: z.string(),
        agentId: z.string(),
        mode: z.enum(modes),
        userRef: z.string(),
        stars: z.int(),
        simulated: z.boolean().meta({ description: 'A test request without a balance: no Stars are held.' }),
        status: z.enum(payoutStates),
        createdAt: instant(),
        changedAt: instant(),
        reviewedBy: z.string().nullable(),
        approvedBy: z.string().nullable(),
        paidBy: z.string().nullable(),
        paymentRef: z.string().nullable(),
        rejectedBy: z.string().nullable(),
        rejectReason: z.string().nullable(),
        risk: riskOfPayout,
        activity: activityOfPayout,
        account: accountOfPayout,
      }),
    ),
    nextCursor: z.string().nullable().meta({ description: 'Send it as `after`.' }),
  }),
})
export const payoutReview = operation({
  summary: 'Start the review of a payout.',
  errors: ['not_found', 'forbidden'],
  params: payoutParams,
  response: payoutStep.extend({ risk: riskOfPayout, account: accountOfPayout }),
})
export const payoutApprove = operation({
  summary: 'Approve a payout that another operator reviewed.',
  errors: ['not_found', 'forbidden'],
  params: payoutParams,
  response: payoutStep,
})
export const payoutPay = operation({
  summary: 'Record that an approved payout was paid manually.',
  errors: ['not_found', 'forbidden', 'payout_account_mismatch'],
  params: payoutParams,
  body: z.object({
    paymentRef: reference(256),
    account: payoutAccount().optional().meta({
      description:
        "The account that was paid. Required for a worker's payout, where it must be the named one.",
    }),
  }),
  response: payoutStep,
})
export const payoutReject = operation({
  summary: 'Reject a payout and release the held Stars.',
  errors: ['not_found', 'forbidden'],
  params: payoutParams,
  body: z.object({ reason: text(500) }),
  response: payoutStep,
})

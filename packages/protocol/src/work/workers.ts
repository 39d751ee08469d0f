import { z } from 'zod'
import { operation } from '../platform/endpoint.ts'
import { instant, json, text, unitInterval } from '../platform/fields.ts'
import { modes } from '../platform/ids.ts'
import { payoutAccount } from '../partners/payout-account.ts'
import { answerForm, inputForm } from './forms.ts'
import { rejectReasons } from './orders.ts'

/**
 * claimed: in progress. delivered: waits for the buyer. accepted: paid. rejected: by the buyer, an appeal is possible.
 * appealed: an operator decides. refused: not paid. not_verified: the recording did not show an attentive person, not
 * paid. returned: by the person. ran_out: not delivered in time.
 */
export const assignmentStates = [
  'claimed',
  'delivered',
  'accepted',
  'rejected',
  'appealed',
  'refused',
  'not_verified',
  'returned',
  'ran_out',
] as const
/** Why a unit was taken back from a person, besides the reasons of its session. */
export type ReleaseReason = 'reported' | 'payment_taken_back'

/** What a person says about a question or task that they report. */
export const reportReasons = ['leads_elsewhere', 'asks_personal_data', 'harmful', 'other'] as const

const task = z.object({
  workflowId: z.string(),
  mode: z.enum(modes),
  title: z.string(),
  description: z.string(),
  category: z.string(),
  estMinutes: z.number(),
  medianSeconds: z.number().nullable().meta({
    description:
      'The median length of the recordings of the latest accepted units of this workflow; null where fewer than 5 were measured.',
  }),
  rewardStars: z.int(),
  available: z.int().min(1).meta({ description: 'The number of waiting units; the count stops at 100.' }),
})
export const assignmentSummary = z.object({
  assignmentId: z.string(),
  workflowId: z.string().nullable(),
  mode: z.enum(modes),
  title: z.string(),
  status: z.enum(assignmentStates),
  rewardStars: z.int(),
  claimedAt: instant(),
  dueAt: instant(),
  deliveredAt: instant().nullable(),
  quality: unitInterval().nullable(),
  /** Why it was not paid, in the service's words. */
  reasons: z.array(z.string()).max(32),
  rejection: z.object({ reason: z.enum(rejectReasons), note: z.string().nullable() }).nullable(),
  appealUntil: instant().nullable(),
  appeal: z
    .object({
      text: z.string(),
      decision: z.enum(['accepted', 'refused']).nullable(),
      decisionReason: z.string().nullable(),
    })
    .nullable(),
})
export const assignment = assignmentSummary.extend({
  /** The parameters of the recording: POST /api/sessions with kind work. */
  site: z.string(),
  challenge: z.string(),
  instructions: z.string().nullable(),
  steps: z.array(z.string()),
  estMinutes: z.number(),
  inputForm,
  input: z.unknown(),
  answerForm,
  answer: z.unknown().meta({ description: 'Null until it is delivered.' }),
})
const assignmentParams = z.object({ assignmentId: text(64) })

export const workerTasks = operation({
  summary: 'List the work that is available to the person who is signed in.',
  limit: 'tasks',
  errors: ['member_not_enrolled'],
  response: z.object({
    tasks: z.array(task).max(200),
    /** The unit that the person works on now. */
    current: assignmentSummary.nullable(),
  }),
})
export const workerClaim = operation({
  summary: 'Claim a unit of work.',
  limit: 'tasks',
  errors: ['member_not_enrolled', 'out_of_stock', 'order_conflict'],
  body: z.object({ workflowId: text(128), mode: z.enum(modes) }),
  response: assignment,
})
export const workerAssignment = operation({
  summary: 'Read a unit that the person claimed.',
  limit: 'tasks',
  errors: ['not_found'],
  params: assignmentParams,
  response: assignment,
})
export const workerImage = operation({
  summary: 'Read an image of the buyer, fetched and encoded anew by the service.',
  limit: 'tasks',
  errors: ['not_found', 'image_unavailable'],
  params: assignmentParams.extend({ field: text(64) }),
  response: z.string().meta({ format: 'binary', description: 'The image as WebP.' }),
  mediaType: 'image/webp',
})
export const workerDeliver = operation({
  summary: 'Deliver the answer, with the recording of the work.',
  limit: 'tasks',
  errors: [
    'member_not_enrolled',
    'not_found',
    'order_conflict',
    'session_expired',
    'session_not_ready',
    'network_busy',
    'root_suspended',
  ],
  params: assignmentParams,
  body: z.object({ sessionId: text(128), answer: json(65_536) }),
  response: assignment,
})
export const workerReturn = operation({
  summary: 'Return a unit without an answer.',
  limit: 'tasks',
  errors: ['not_found', 'order_conflict'],
  params: assignmentParams,
  response: assignmentSummary,
})
export const workerReport = operation({
  summary: 'Report a unit: it is returned without a penalty, and operators decide about its order.',
  limit: 'tasks',
  errors: ['not_found', 'order_conflict'],
  params: assignmentParams,
  body: z.object({ reason: z.enum(reportReasons).optional() }),
  response: assignmentSummary,
})
export const workerAppeal = operation({
  summary: 'Appeal against a rejection.',
  limit: 'tasks',
  errors: ['not_found', 'order_conflict'],
  params: assignmentParams,
  body: z.object({ text: text(2_000) }),
  response: assignmentSummary,
})
const earnings = z.object({
  mode: z.enum(modes),
  /** Earned, and not yet available for payout. */
  vestingStars: z.int().min(0),
  vestedStars: z.int().min(0),
  heldStars: z.int().min(0).meta({ description: 'Held for payout requests that are not paid yet.' }),
  paidStars: z.int().min(0),
  nextVestsAt: instant().nullable(),
  measured: z
    .object({ units: z.int().min(1), stars: z.int().min(0), seconds: z.int().min(1) })
    .nullable()
    .meta({
      description:
        'Of the latest 500 units: those that were accepted and whose recording has a length, their Stars, and the length of the recordings. Null where there is none.',
    }),
  /** The accounts that the person named for payouts, newest first. */
  accounts: z
    .array(
      z.object({
        end: z.string().meta({ description: 'The last four characters of the account.' }),
        paidAt: instant()
          .nullable()
          .meta({ description: 'The latest completed payout to the account; null before the first.' }),
      }),
    )
    .max(20),
})
export const workerEarnings = operation({
  summary: 'Read the earnings of the person and the work behind them.',
  limit: 'tasks',
  response: z.object({ books: z.array(earnings).max(2), assignments: z.array(assignmentSummary).max(200) }),
})
export const workerPayout = operation({
  summary: 'Request a payout of Stars. An operator reviews it.',
  limit: 'tasks',
  errors: ['insufficient_stars', 'payout_account_taken', 'payout_account_pending'],
  body: z.object({
    mode: z.enum(modes),
    stars: z.int().min(1).max(1_000_000_000),
    account: payoutAccount(),
  }),
  response: z.object({
    requestId: z.string(),
    status: z.string(),
    accountEnd: z.string().meta({ description: 'The last four characters of the account.' }),
  }),
})

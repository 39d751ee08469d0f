import { formatDuration } from '../../shared/design/duration.ts'
import { pluralize } from '../../shared/design/time.ts'
import type { Filter } from '../../shared/lists/filter.ts'
import { formatShare } from '../../shared/plots/scale.ts'
import type { Payout, PayoutPage } from '../wire.ts'

type Status = Payout['status']
type Tone = '' | 'ok' | 'warn' | 'stop'

export const payoutLabels: Readonly<Record<Status, { readonly word: string; readonly tone: Tone }>> = {
  queued: { word: 'to review', tone: 'warn' },
  in_review: { word: 'to approve', tone: 'warn' },
  approved: { word: 'to pay', tone: 'warn' },
  paid: { word: 'paid', tone: 'ok' },
  rejected: { word: 'rejected', tone: 'stop' },
}

export const payoutFilter: Filter = {
  name: 'status',
  label: 'Payouts',
  options: [
    ['', 'To review'],
    ['in_review', 'To approve'],
    ['approved', 'To pay'],
    ['paid', 'Paid'],
    ['rejected', 'Rejected'],
    ['all', 'All'],
  ],
}
/** The state that the list asks for; undefined for all. */
export const statusOf = (filter: string | undefined): string | undefined =>
  filter === 'all' ? undefined : (filter ?? 'queued')

export const payoutsFinding = ({ payouts, nextCursor }: PayoutPage, filter: string | undefined): string => {
  const count = pluralize(payouts.length, 'payout')
  const counted = nextCursor === null ? count : `More than ${count}`
  if (payouts.length === 0) return filter === undefined ? 'No payout waits for a review' : 'No payout here'
  return filter === undefined ? `${counted} to review` : counted
}

type Risk = { readonly text: string; readonly isBad: boolean }

const dayMs = 86_400_000

/** How fast a user of a partner gains and withdraws. */
const activityOf = (activity: NonNullable<Payout['activity']>, now: number): readonly Risk[] => [
  {
    text: `${pluralize(activity.conversionsDay, 'conversion')} of ${pluralize(activity.starsDay, 'Star')} in 24 hours, ${activity.starsWeek} Stars in 7 days.`,
    isBad: activity.conversionsDay > 20 || activity.starsDay > 10_000,
  },
  {
    text: `${pluralize(activity.payoutsWeek, 'payout')} requested for this user in 7 days.`,
    isBad: activity.payoutsWeek > 3,
  },
  {
    text: `${pluralize(activity.partnerPayoutsDay, 'payout')} requested by this partner in 24 hours.`,
    isBad: activity.partnerPayoutsDay > 100,
  },
  activity.firstSeenAt === null
    ? { text: 'No conversion of this user: the Stars come from micro-tasks.', isBad: false }
    : {
        text: `First conversion ${formatDuration((now - Date.parse(activity.firstSeenAt)) / 1_000)} ago.`,
        isBad: now - Date.parse(activity.firstSeenAt) < dayMs,
      },
]

/** What is known about the account that a worker named. */
const accountRisksOf = (account: NonNullable<Payout['account']>): readonly Risk[] => [
  ...(account.otherWorkers > 0
    ? [
        {
          text: `${pluralize(account.otherWorkers, 'other worker')} named the same account and were refused.`,
          isBad: true,
        },
      ]
    : []),
  ...(account.takenAccounts > 0
    ? [
        {
          text: `Tried ${pluralize(account.takenAccounts, 'account')} of other workers before.`,
          isBad: true,
        },
      ]
    : []),
]

/** How fast a worker earns, and how much of it comes from one buyer. */
const clusterRisksOf = (risk: NonNullable<Payout['risk']>): readonly Risk[] => [
  {
    text: `${pluralize(risk.starsDay, 'Star')} earned in 24 hours, ${risk.starsWeek} in 7 days.`,
    isBad: risk.starsDay > 5_000,
  },
  ...(risk.topBuyerShare === null
    ? []
    : [
        {
          text: `${formatShare(risk.topBuyerShare)} of the Stars come from one buyer of ${risk.buyers}, for whom ${pluralize(risk.topBuyerWorkers, 'other worker')} worked.`,
          isBad: risk.topBuyerShare > 0.8 && risk.topBuyerWorkers < 3,
        },
      ]),
]

/** What speaks for or against paying a worker, or a user of a partner. */
export const risksOf = ({ risk, account, activity }: Payout, now: number): readonly Risk[] => {
  if (!risk) return activity ? activityOf(activity, now) : []
  const days = Math.max(1, Math.ceil((now - Date.parse(risk.firstAssignmentAt)) / dayMs))
  const perDay = risk.assignments / days
  return [
    ...(account ? accountRisksOf(account) : []),
    {
      text: `${pluralize(risk.assignments, 'assignment')} in ${pluralize(days, 'day')}, ${perDay.toFixed(1)} a day.`,
      isBad: perDay > 100,
    },
    {
      text: `${pluralize(risk.sameNetwork, 'claim')} from the network of the buyer.`,
      isBad: risk.sameNetwork > 0,
    },
    {
      text: `${pluralize(risk.onlyThroughBuyer, 'claim')} of units whose buyer alone enrolled this worker.`,
      isBad: risk.onlyThroughBuyer > 0,
    },
    ...clusterRisksOf(risk),
    {
      text: `${pluralize(risk.wrongKnownAnswers, 'known-answer item')} answered wrong.`,
      isBad: risk.wrongKnownAnswers > 0,
    },
    { text: `${pluralize(risk.rejected, 'unit')} rejected.`, isBad: risk.rejected > risk.assignments / 4 },
    {
      text: `${pluralize(risk.notVerified, 'recording')} without an attentive person.`,
      isBad: risk.notVerified > risk.assignments / 4,
    },
    { text: `${pluralize(risk.returned, 'unit')} returned or out of time.`, isBad: false },
    ...(risk.knownAnswerShare === null
      ? []
      : [
          {
            text: `${formatShare(risk.knownAnswerShare)} of the Stars come from known-answer items.`,
            isBad: risk.knownAnswerShare > 0.5,
          },
        ]),
    risk.accountCreatedAt === null
      ? { text: 'The person was erased.', isBad: true }
      : {
          text: `Member for ${formatDuration((now - Date.parse(risk.accountCreatedAt)) / 1_000)}.`,
          isBad: now - Date.parse(risk.accountCreatedAt) < dayMs,
        },
  ]
}

import { pluralize } from '../../shared/design/time.ts'
import { hrefOf } from '../../shared/shell/router.ts'
import type { Overview } from '../wire.ts'

/** Where the service stops counting. */
const countMax = 100

/** A count that stops at its limit. */
export const formatBounded = (count: number): string => (count >= countMax ? `${countMax}+` : String(count))

type Decision = { readonly name: string; readonly count: number; readonly href: string }

/** What waits for an operator, and where it is decided. */
export const decisionsOf = ({ decisions }: Overview): readonly Decision[] => [
  { name: 'Payouts to review', count: decisions.payoutsToReview, href: hrefOf(['payouts']) },
  {
    name: 'Payouts to approve',
    count: decisions.payoutsToApprove,
    href: hrefOf(['payouts'], { status: 'in_review' }),
  },
  {
    name: 'Payouts to pay',
    count: decisions.payoutsToPay,
    href: hrefOf(['payouts'], { status: 'approved' }),
  },
  { name: 'Appeals of workers', count: decisions.appeals, href: hrefOf(['appeals']) },
  { name: 'Offers of buyers', count: decisions.offers, href: hrefOf(['orders']) },
  { name: 'Orders to review', count: decisions.reviews, href: hrefOf(['reviews']) },
  { name: 'Card refunds that failed', count: decisions.failedRefunds, href: hrefOf(['refunds']) },
  { name: 'Purchases to refund', count: decisions.purchasesToRefund, href: hrefOf(['purchases']) },
]

export const decisionsText = (overview: Overview): string => {
  const waiting = decisionsOf(overview).filter(({ count }) => count > 0)
  const total = waiting.reduce((sum, { count }) => sum + count, 0)
  if (total === 0) return 'No payout, appeal, offer, review or refund waits for a decision.'
  const isBounded = waiting.some(({ count }) => count >= countMax)
  return `${isBounded ? 'At least ' : ''}${pluralize(total, 'decision waits', 'decisions wait')}.`
}

export const queueNames: Readonly<Record<Overview['queues'][number]['name'], string>> = {
  events: 'Events to distribute',
  mails: 'Mails to send',
  webhooks: 'Webhooks to deliver',
  purchases: 'Payments on the chain',
}

/** How long the oldest entry of a queue may wait before the page marks it. */
export const queueLateSeconds = 300
/** When a key is about to stop signing. A successor is published a day before it signs. */
export const keyEndsSoonDays = 7

const checkProblems: Readonly<Record<string, string>> = {
  database: 'The database does not accept writes.',
  signer: 'No signer can sign.',
  restore: 'The database is older than the journal of a signer. Minting is stopped.',
  verify: 'Calls of verify are stuck.',
}
export const checkNames: Readonly<Record<string, string>> = {
  database: 'Database',
  signer: 'Signer',
  restore: 'Database and journals agree',
  verify: 'Calls of verify',
}

/** Without a mail server, mails wait for one and are not late. */
const lateQueuesOf = ({ queues, mailServer }: Overview): readonly string[] =>
  queues
    .filter(
      ({ name, oldestSeconds }) =>
        (name !== 'mails' || mailServer) && (oldestSeconds ?? 0) > queueLateSeconds,
    )
    .map(
      ({ name }) =>
        `${queueNames[name]}: the oldest has waited for more than ${queueLateSeconds / 60} minutes.`,
    )

/** Everything that is wrong, worst first. */
export const problemsOf = (overview: Overview): readonly string[] => {
  const lowGas = overview.gasKeys.low
  return [
    ...overview.checks
      .filter(({ ok }) => !ok)
      .map(({ name }) => checkProblems[name] ?? `The check “${name}” fails.`),
    ...(overview.worker.ok
      ? []
      : ['No worker is running. Start one: node packages/server/src/main.ts worker']),
    ...lateQueuesOf(overview),
    ...(overview.ledgerDifferences > 0
      ? [`The ledger has ${pluralize(overview.ledgerDifferences, 'open difference')}.`]
      : []),
    ...(lowGas > 0
      ? [`${pluralize(lowGas, 'gas key has', 'gas keys have')} too little for a transaction.`]
      : []),
  ]
}

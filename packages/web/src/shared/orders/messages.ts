import type { InputForm, Order, OrderState, OrderUnit, RejectReason, UnitState } from '@pohf/protocol'
import { timeUntil, timeAgo, pluralize } from '../design/time.ts'

/** The states of an order that runs to its end, in their sequence. The other states end it early. */
export const stages = ['created', 'funded', 'in_progress', 'delivered', 'completed'] as const
export type Stage = (typeof stages)[number]
export const isStage = (state: OrderState): state is Stage => (stages as readonly string[]).includes(state)

type StatusLabel = { readonly word: string; readonly tone: '' | 'ok' | 'warn' | 'stop' }

export const orderStatusLabels: Readonly<Record<OrderState, StatusLabel>> = {
  created: { word: 'unpaid', tone: 'warn' },
  funded: { word: 'funded', tone: '' },
  in_progress: { word: 'in progress', tone: '' },
  delivered: { word: 'delivered', tone: 'warn' },
  completed: { word: 'completed', tone: 'ok' },
  cancelled: { word: 'cancelled', tone: '' },
  refunded: { word: 'refunded', tone: '' },
  expired: { word: 'expired', tone: 'stop' },
}
export const stageNames: Readonly<Record<Stage, string>> = {
  created: 'Created',
  funded: 'Funded',
  in_progress: 'In progress',
  delivered: 'Delivered',
  completed: 'Completed',
}
export const unitStatusLabels: Readonly<Record<UnitState, StatusLabel>> = {
  open: { word: 'waiting for a worker', tone: '' },
  claimed: { word: 'in progress', tone: '' },
  delivered: { word: 'to review', tone: 'warn' },
  accepted: { word: 'accepted', tone: 'ok' },
  rejected: { word: 'rejected', tone: 'stop' },
  appealed: { word: 'appealed', tone: 'warn' },
  refused: { word: 'refused', tone: 'stop' },
  cancelled: { word: 'cancelled', tone: '' },
}
export const rejectReasonLabels: Readonly<Record<RejectReason, string>> = {
  wrong_answer: 'The answer is wrong',
  instructions_not_followed: 'The instructions were not followed',
  incomplete: 'Something is missing',
  low_effort: 'It was done without care',
  other: 'Something else',
}
export const rejectReasonText = (code: string): string =>
  new Map(Object.entries(rejectReasonLabels)).get(code) ?? code

const money = new Intl.NumberFormat('en', { style: 'currency', currency: 'USD', maximumFractionDigits: 6 })
export const formatUsd = (amount: number): string => money.format(amount)

/** Units of an order in these states. */
export const countIn = (order: Order, ...states: readonly UnitState[]): number =>
  states.reduce((sum, state) => sum + (order.units[state] ?? 0), 0)

/** Units that a worker has delivered, whatever the buyer decided since. */
const countDelivered = (order: Order): number =>
  countIn(order, 'delivered', 'accepted', 'rejected', 'appealed', 'refused')

/** What the reader has to do first, and what else is open. Without `isAll`, the orders are only the latest. */
export const ordersHeadline = (
  orders: readonly Order[],
  isAll: boolean,
): readonly [finding: string, rest: string] => {
  if (orders.length === 0) return ['No order yet', '']
  const unpaid = orders.filter(({ status }) => status === 'created').length
  const review = orders.reduce((sum, order) => sum + countIn(order, 'delivered'), 0)
  // A funded order may not have a worker yet, so this does not say that people work on it.
  const undelivered = orders.filter(({ status }) => status === 'funded' || status === 'in_progress').length
  const parts = [
    ...(review > 0 ? [`${pluralize(review, 'unit waits', 'units wait')} for your review`] : []),
    ...(unpaid > 0 ? [`${pluralize(unpaid, 'order waits', 'orders wait')} for payment`] : []),
    ...(undelivered > 0
      ? [`${pluralize(undelivered, 'paid order is', 'paid orders are')} not fully delivered`]
      : []),
  ]
  const none = isAll ? 'No order needs you now' : `None of the latest ${orders.length} orders needs you now`
  const [first = none, ...rest] = parts
  return [sentence([first]), rest.length === 0 ? '' : `${sentence(rest)}.`]
}
const sentence = (parts: readonly string[]): string => {
  const text = parts.join(', ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** What an order's state means, and what next. */
/** What the review of an operator means for the order; undefined where it changes nothing. */
const reviewText = ({ review }: Order): string | undefined => {
  if (review?.status === 'required') return 'Once it is paid, an operator reads it before any worker does.'
  if (review?.status === 'refused') return `An operator refused it: ${review.reason ?? 'no reason is given'}`
  if (review?.status !== 'waiting') return undefined
  return review.cause === 'reports'
    ? 'Workers reported it: nobody else gets it until an operator has decided.'
    : 'An operator reads it before any worker does.'
}

export const orderStatusText = (order: Order, now: number): string =>
  [statusText(order, now), reviewText(order)].filter((text) => text !== undefined).join(' ')

const statusText = (order: Order, now: number): string => {
  const review = countIn(order, 'delivered')
  switch (order.status) {
    case 'created':
      return `Work starts after payment: ${formatUsd(order.totalUsd)}, due ${deadlineText(order.expiresAt, now)}.`
    case 'funded':
      if (order.review?.status === 'waiting') return 'It is paid.'
      return order.waitsForOperator
        ? 'It is paid. An operator must accept the offer before people can start.'
        : `It is paid. ${pluralize(countIn(order, 'open'), 'unit waits', 'units wait')} for a worker.`
    case 'in_progress':
      return inProgressText(order)
    case 'delivered':
      return review > 0
        ? `No unit is left to do. ${pluralize(review, 'unit waits', 'units wait')} for your review; a unit that you do not review in time is accepted.`
        : 'No unit is left to do. A rejected unit still waits for an appeal or a decision.'
    case 'completed':
      return `Every unit has ended: ${countIn(order, 'accepted')} accepted, ${countIn(order, 'refused')} refused, ${countIn(order, 'cancelled')} cancelled.`
    case 'cancelled':
      return cancelledText(order)
    case 'refunded':
      return `It ended early, and ${formatUsd(order.totalUsd)} was returned.`
    case 'expired':
      return order.fundedAt === null
        ? `Nobody paid until ${order.expiresAt.slice(0, 10)}, so it expired.`
        : `No worker took it in time, so it expired, and ${formatUsd(order.escrow.returnedUsd)} was returned.`
  }
}

const inProgressText = (order: Order): string => {
  const [open, claimed, review] = [
    countIn(order, 'open'),
    countIn(order, 'claimed'),
    countIn(order, 'delivered'),
  ]
  const parts = [
    ...(open > 0 ? [`${open} waiting for a worker`] : []),
    ...(claimed > 0 ? [`${claimed} in progress`] : []),
    ...(review > 0 ? [`${review} waiting for your review`] : []),
  ]
  return `${countDelivered(order)} of ${pluralize(order.quantity, 'unit')} delivered${parts.length > 0 ? `; ${parts.join(', ')}` : ''}.`
}

const cancelledText = (order: Order): string => {
  if (order.fundedAt === null) return 'It was cancelled before it was paid.'
  const left = countIn(order, 'claimed', 'delivered', 'rejected', 'appealed')
  return `It was cancelled, and ${formatUsd(order.escrow.returnedUsd)} was returned.${left > 0 ? ` ${pluralize(left, 'unit that a worker had claimed continues', 'units that workers had claimed continue')}.` : ''}`
}

/** What a unit's state means, and what next. */
export const unitStatusText = (unit: OrderUnit, now: number): string => {
  switch (unit.status) {
    case 'open':
      return 'It waits for a worker.'
    case 'claimed':
      return 'A worker has claimed it. If it is not delivered in time, another worker can claim it.'
    case 'delivered':
      return `Delivered ${unit.deliveredAt ? timeAgo(unit.deliveredAt, now) : ''}. Accept or reject it ${unit.reviewUntil ? deadlineText(unit.reviewUntil, now) : ''}; after that it is accepted automatically.`
    case 'accepted':
      return 'It is accepted, and the worker is paid.'
    case 'rejected':
      return `It is rejected. The worker can appeal ${unit.appealUntil ? deadlineText(unit.appealUntil, now) : ''}; without an appeal its price is returned.`
    case 'appealed':
      return 'It is rejected, and the worker has appealed. An operator decides.'
    case 'refused':
      return 'The rejection is final. Its price was returned.'
    case 'cancelled':
      return 'It was not done. Its price was returned.'
  }
}
/** The time until a deadline: "within 2 days". */
const deadlineText = (at: string, now: number): string => {
  const text = timeUntil(at, now)
  return text === 'now' ? 'now' : text.replace(/^in /, 'within ')
}

/**
 * The items in a text, one on each line. A line of JSON is parsed. Any other line holds one value for each field of the
 * form, separated by tabs as spreadsheets copy them; without a form it is plain text.
 */
export const parseItems = (text: string, form: InputForm | undefined): unknown[] =>
  text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => parseJsonLine(line.trim()) ?? parseFormLine(line, form))

const parseJsonLine = (line: string): unknown => {
  if (!/^[[{"]/.test(line)) return undefined
  try {
    return JSON.parse(line) as unknown
  } catch {
    return undefined
  }
}
const parseFormLine = (line: string, form: InputForm | undefined): unknown => {
  if (form === undefined || form.length === 0) return line.trim()
  // A tab at the beginning of a line belongs to an empty first cell, so only the cells are trimmed.
  const parts = form.length === 1 ? [line] : line.split('\t')
  return Object.fromEntries(
    form.flatMap(({ name }, index) => {
      const part = parts[index]?.trim() ?? ''
      return part === '' ? [] : [[name, part]]
    }),
  )
}

/** What one line of items must hold. */
export const itemsHint = (form: InputForm | undefined): string => {
  if (form === undefined || form.length === 0) return 'A text, a link or JSON.'
  const names = form.map(({ label }) => label)
  return form.length === 1 ? `${names[0]}.` : `${names.join(', then ')}, separated by tabs.`
}

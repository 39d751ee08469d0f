import type { InputForm, Order, OrderState, OrderUnit, RejectReason, UnitState } from '@pohf/protocol'
import { timeUntil, timeAgo, pluralize } from '../design/time.ts'

/** The way of an order. What left it stands aside. */
export const stages = ['created', 'funded', 'in_progress', 'delivered', 'completed'] as const
export type Stage = (typeof stages)[number]
export const isStage = (state: OrderState): state is Stage => (stages as readonly string[]).includes(state)

type StatusLabel = { readonly word: string; readonly tone: '' | 'ok' | 'warn' | 'stop' }

export const orderStatusLabels: Readonly<Record<OrderState, StatusLabel>> = {
  created: { word: 'to pay', tone: 'warn' },
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
  open: { word: 'waits for a person', tone: '' },
  claimed: { word: 'a person is at it', tone: '' },
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

/** Units about which nothing more will change. */
const countFinished = (order: Order): number => countIn(order, 'accepted', 'refused', 'cancelled')

/** The first line of the list: what waits for whoever reads it. */
export const ordersHeadline = (orders: readonly Order[]): string => {
  if (orders.length === 0) return 'Nothing is ordered yet.'
  const unpaid = orders.filter(({ status }) => status === 'created').length
  const review = orders.reduce((sum, order) => sum + countIn(order, 'delivered'), 0)
  const running = orders.filter(({ status }) => status === 'funded' || status === 'in_progress').length
  const parts = [
    ...(review > 0 ? [`${pluralize(review, 'unit waits', 'units wait')} for your yes or no`] : []),
    ...(unpaid > 0 ? [`${pluralize(unpaid, 'order waits', 'orders wait')} for payment`] : []),
    ...(running > 0 ? [`people are at ${pluralize(running, 'order')}`] : []),
  ]
  return parts.length === 0 ? 'Nothing waits for you.' : `${sentence(parts)}.`
}
const sentence = (parts: readonly string[]): string => {
  const text = parts.join(', ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** What an order's state means, and what next. */
export const orderStatusText = (order: Order, now: number): string => {
  const review = countIn(order, 'delivered')
  switch (order.status) {
    case 'created':
      return `Nothing happens before it is paid: ${formatUsd(order.totalUsd)}, ${deadlineText(order.expiresAt, now)}.`
    case 'funded':
      return order.waitsForOperator
        ? 'It is paid. An operator must accept its price before people start.'
        : `It is paid. ${pluralize(countIn(order, 'open'), 'unit waits', 'units wait')} for a person.`
    case 'in_progress':
      return `${countFinished(order) + review} of ${pluralize(order.quantity, 'unit')} came back. ${review > 0 ? `${pluralize(review, 'waits', 'wait')} for your yes or no.` : 'People are at the rest.'}`
    case 'delivered':
      return review > 0
        ? `Everything came back. ${pluralize(review, 'unit waits', 'units wait')} for your yes or no; silence counts as a yes.`
        : 'Everything came back. What you rejected may still be appealed.'
    case 'completed':
      return `All is decided: ${countIn(order, 'accepted')} accepted, ${countIn(order, 'refused')} refused, ${countIn(order, 'cancelled')} cancelled.`
    case 'cancelled':
      return cancelledText(order)
    case 'refunded':
      return `It ended early, and ${formatUsd(order.escrow.returnedUsd)} went back.`
    case 'expired':
      return `Nobody paid until ${order.expiresAt.slice(0, 10)}, so it ended. Order again if you still want it.`
  }
}

const cancelledText = (order: Order): string => {
  if (order.fundedAt === null) return 'It was cancelled before anything was paid.'
  const left = countIn(order, 'claimed', 'delivered', 'rejected', 'appealed')
  return `It was cancelled, and ${formatUsd(order.escrow.returnedUsd)} went back.${left > 0 ? ` ${pluralize(left, 'unit', 'units')} that people had begun ${left === 1 ? 'goes' : 'go'} on.` : ''}`
}

/** What a unit's state means, and what next. */
export const unitStatusText = (unit: OrderUnit, now: number): string => {
  switch (unit.status) {
    case 'open':
      return 'It waits for a person to take it.'
    case 'claimed':
      return 'A person works on it now. If it is not handed in, it goes to somebody else.'
    case 'delivered':
      return `Delivered ${unit.deliveredAt ? timeAgo(unit.deliveredAt, now) : ''}. Say yes or no ${unit.reviewUntil ? deadlineText(unit.reviewUntil, now) : ''}; then it counts as accepted.`
    case 'accepted':
      return 'You have the answer, and the person is paid.'
    case 'rejected':
      return `You said no. The person may appeal ${unit.appealUntil ? deadlineText(unit.appealUntil, now) : ''}; then the money goes back to you.`
    case 'appealed':
      return 'You said no, and the person asks for another look. An operator decides.'
    case 'refused':
      return 'Your no stands. The money went back to you.'
    case 'cancelled':
      return 'Nobody did it. The money went back to you.'
  }
}
/** A deadline as room that is left: "within 2 days". */
const deadlineText = (at: string, now: number): string => {
  const text = timeUntil(at, now)
  return text === 'now' ? 'at once' : text.replace(/^in /, 'within ')
}

/**
 * What somebody typed or pasted as items, a line each. A line of JSON is taken as it is. Any other line is one value for
 * each field of the form, with tabs between, as spreadsheets copy them; without a form it is plain text.
 */
export const parseItems = (text: string, form: InputForm | undefined): unknown[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map((line) => parseJsonLine(line) ?? parseFormLine(line, form))

const parseJsonLine = (line: string): unknown => {
  if (!/^[[{"]/.test(line)) return undefined
  try {
    return JSON.parse(line) as unknown
  } catch {
    return undefined
  }
}
const parseFormLine = (line: string, form: InputForm | undefined): unknown => {
  if (form === undefined || form.length === 0) return line
  const parts = form.length === 1 ? [line] : line.split('\t')
  return Object.fromEntries(
    form.flatMap(({ name }, index) => {
      const part = parts[index]?.trim() ?? ''
      return part === '' ? [] : [[name, part]]
    }),
  )
}

/** What a line of items looks like for a form. */
export const itemsHint = (form: InputForm | undefined): string => {
  if (form === undefined || form.length === 0) return 'A text, a link or JSON.'
  const names = form.map(({ label }) => label)
  return form.length === 1 ? `${names[0]}.` : `${names.join(', then ')}, with a tab between.`
}

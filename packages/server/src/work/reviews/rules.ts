import type { reviewDecisions } from '@pohf/protocol'
import type { OrderState } from '../rules.ts'

export type ReviewDecision = (typeof reviewDecisions)[number]

/** How many of the latest reviewed orders the standing of a buyer looks at. */
export const reviewedMax = 50
/** A refusal weighs on a buyer for this long, and this many of them end what the buyer may order. */
const refusalDays = 365
export const refusalsMax = 3
/** How many orders of one buyer wait for an operator at once: the queue is everybody's. */
export const waitingMax = 10
/** How many people must report an order before no more workers get it. One alone could stop the work of a competitor. */
export const reportersToHold = 2
/** How many units a person may report in a day: a report costs nothing, and chooses among the units. */
export const reportsMax = 10
export const reportsHours = 24
/** The reports of a person count until this many of them, and more than were upheld, were dismissed in these days. */
const dismissedMax = 3
export const reporterDays = 90

type ReviewedOrder = {
  readonly decision: ReviewDecision
  readonly status: OrderState
  readonly daysAgo: number
}
export type BuyerRecord = {
  /** Orders that an operator approved and workers completed, since the latest refusal. */
  readonly completed: number
  /** Orders that an operator refused within a year. */
  readonly refused: number
}
/** The standing of a buyer, from its latest reviewed orders, newest first. */
export const buyerRecordOf = (orders: readonly ReviewedOrder[]): BuyerRecord => {
  const refusals = orders.filter(({ decision, daysAgo }) => decision === 'refused' && daysAgo < refusalDays)
  const latest = orders.findIndex((order) => refusals.includes(order))
  const since = latest === -1 ? orders : orders.slice(0, latest)
  const completed = since.filter(({ decision, status }) => decision === 'approved' && status === 'completed')
  return { completed: completed.length, refused: refusals.length }
}

/** Whether the reports of a person still count. */
export const isTrustedReporter = (decided: {
  readonly upheld: number
  readonly dismissed: number
}): boolean => decided.dismissed < dismissedMax || decided.dismissed <= decided.upheld

/** Whether an order shows workers something that the buyer wrote or chose. An offer is accepted by an operator. */
export const hasOwnContent = (order: {
  readonly itemCount: number
  readonly instructions: string | null | undefined
  readonly offer: boolean
}): boolean => !order.offer && (order.itemCount > 0 || (order.instructions ?? '') !== '')

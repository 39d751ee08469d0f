import type { ForwardStatus } from './store.ts'

/** Where a request for capacity can go from each state. The database has the same list. */
const nextStates: Readonly<Record<ForwardStatus, readonly ForwardStatus[]>> = {
  received: ['quoted', 'closed'],
  quoted: ['countersigned', 'closed'],
  countersigned: ['invoiced', 'closed'],
  invoiced: ['closed'],
  closed: [],
}
export const canMove = (from: ForwardStatus, to: ForwardStatus): boolean => nextStates[from].includes(to)

/** Requests for capacity that one mail address may send in a day. */
export const perAddressMax = 5
/**
 * Requests that all senders together may send in a day, because nobody reads more. Further requests are refused and can be
 * sent again the next day.
 */
export const perDayMax = 500

import type { Order } from '../orders/store.ts'

type Status = 'required' | 'waiting' | 'approved' | 'refused' | 'not_reviewed'

/** The review of an order as its buyer sees it. Reports that hold nothing yet are the operator's matter. */
export const presentReview = ({ review, isHeld, status }: Order) => {
  if (!review) return null
  const { cause, decision, reason } = review
  const shown = (now: Status) => ({ status: now, cause, reason })
  if (isHeld) return shown('waiting')
  if (decision) return shown(decision)
  if (cause === 'reports') return null
  return shown(status === 'created' ? 'required' : 'not_reviewed')
}

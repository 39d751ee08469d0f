import type { Purchase } from '@pohf/protocol'
import { pluralize } from '../design/time.ts'

export const purchaseStatusLabels: Readonly<
  Record<Purchase['status'], { readonly word: string; readonly tone: '' | 'ok' | 'warn' | 'stop' }>
> = {
  reserved: { word: 'paying', tone: '' },
  broadcast: { word: 'paying', tone: '' },
  uncertain: { word: 'not known yet', tone: 'warn' },
  settled: { word: 'paid', tone: 'warn' },
  delivered: { word: 'delivered', tone: 'ok' },
  void: { word: 'not charged', tone: '' },
  refund_due: { word: 'refund due', tone: 'stop' },
  refunded: { word: 'refunded', tone: '' },
}

/** The states of a payment that differ for a question. */
const questionStatusText: Partial<Record<Purchase['status'], string>> = {
  reserved: 'The payment is signed and is being sent to the chain.',
  broadcast: 'A node of the chain has the payment. The question is funded when the chain confirms it.',
  settled: 'The chain has confirmed the payment. The question is funded next.',
  delivered: 'It is paid. The question says whether it was answered.',
  void: 'The chain proves that nothing was charged.',
  refund_due:
    'It is paid, and the question ended without an accepted answer. An operator will refund the payment.',
  refunded: 'It was paid, the question ended without an accepted answer, and it was refunded.',
}

/** What a purchase's state means, and what next. */
export const purchaseStatusText = ({ status, purpose, credentialId }: Purchase): string => {
  const ofQuestion = purpose === 'question' ? questionStatusText[status] : undefined
  if (ofQuestion !== undefined) return ofQuestion
  switch (status) {
    case 'reserved':
      return 'The payment is signed and one unit is reserved. The payment is being sent to the chain.'
    case 'broadcast':
      return 'A node of the chain has the payment. The unit is delivered when the chain confirms it.'
    case 'uncertain':
      return 'It is not known yet whether the chain has the payment. Do not pay again: this purchase will be delivered or voided.'
    case 'settled':
      return 'The chain has confirmed the payment. The credential follows.'
    case 'delivered':
      return 'It is paid, and the answer and its credential are delivered.'
    case 'void':
      return credentialId === null
        ? 'The chain proves that nothing was charged. The reserved unit was released.'
        : 'The chain reverted the payment after the delivery. Nothing was charged, and the credential is revoked.'
    case 'refund_due':
      return 'It is paid, and the unit cannot be delivered. An operator will refund the payment.'
    case 'refunded':
      return 'It was paid, could not be delivered, and was refunded.'
  }
}

export const purchasesHeadline = (purchases: readonly Purchase[]): string => {
  if (purchases.length === 0) return 'Nothing bought yet'
  const count = (...states: readonly Purchase['status'][]) =>
    purchases.filter(({ status }) => states.includes(status)).length
  const open = count('reserved', 'broadcast', 'uncertain', 'settled')
  const due = count('refund_due')
  const parts = [
    `${pluralize(count('delivered'), 'purchase')} delivered`,
    ...(open > 0 ? [`${open} pending`] : []),
    ...(due > 0 ? [`${pluralize(due, 'refund')} due`] : []),
  ]
  return parts.join(', ')
}

/** Millionths as a decimal number with at least two decimals. */
export const formatTokenAmount = (amount: string): string => {
  if (!/^\d{1,30}$/.test(amount)) return amount
  const padded = amount.padStart(7, '0')
  const [whole, part] = [padded.slice(0, -6), padded.slice(-6)]
  return `${whole}.${part.slice(0, 2)}${part.slice(2).replace(/0+$/, '')}`
}

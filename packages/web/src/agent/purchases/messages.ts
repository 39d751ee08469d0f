import type { Purchase } from '@pohf/protocol'
import { pluralize } from '../../shared/design/time.ts'

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

/** What a purchase's state means, and what next. */
export const purchaseStatusText = ({ status }: Purchase): string => {
  switch (status) {
    case 'reserved':
      return 'The payment is signed and one unit is held for it. It goes to the chain now.'
    case 'broadcast':
      return 'A node of the chain has the payment. It is delivered as soon as the chain shows it.'
    case 'uncertain':
      return 'Nobody knows yet whether the chain took the payment. We keep looking. Do not pay again: the same purchase is delivered or voided.'
    case 'settled':
      return 'The chain shows the payment. The credential follows at once.'
    case 'delivered':
      return 'It was paid once, and the answer came with its credential.'
    case 'void':
      return 'The chain proves that nothing was charged. The unit is back in stock.'
    case 'refund_due':
      return 'It was paid, and nothing could be delivered. An operator gives the money back.'
    case 'refunded':
      return 'It was paid, nothing could be delivered, and the money went back.'
  }
}

export const purchasesHeadline = (purchases: readonly Purchase[]): string => {
  if (purchases.length === 0) return 'Nothing was bought with this key yet.'
  const count = (...states: readonly Purchase['status'][]) =>
    purchases.filter(({ status }) => states.includes(status)).length
  const open = count('reserved', 'broadcast', 'uncertain', 'settled')
  const due = count('refund_due')
  const parts = [
    `${pluralize(count('delivered'), 'purchase')} delivered`,
    ...(open > 0 ? [`${open} on the way`] : []),
    ...(due > 0 ? [`${pluralize(due, 'refund')} due`] : []),
  ]
  return `${parts.join(', ')}.`
}

/** Tokens count in millionths; trailing zeros beyond the cents say nothing. */
export const formatTokenAmount = (amount: string): string => {
  if (!/^\d{1,30}$/.test(amount)) return amount
  const padded = amount.padStart(7, '0')
  const [whole, part] = [padded.slice(0, -6), padded.slice(-6)]
  return `${whole}.${part.slice(0, 2)}${part.slice(2).replace(/0+$/, '')}`
}

import type { ForwardOrder } from '@pohf/protocol'
import { usdOf } from '../rules.ts'
import type { StoredForward } from './store.ts'

export const presentForward = (order: StoredForward): ForwardOrder => ({
  orderId: order.orderId,
  status: order.status,
  name: order.name,
  company: order.company,
  email: order.email,
  hours: order.hours,
  month: order.month,
  category: order.category,
  notes: order.notes,
  capacity: { hoursAvailable: order.hoursAvailable, assessment: order.assessment },
  indicative: { premiumPct: order.premiumPct, totalUsd: usdOf(order.totalUsdCents), epoch: order.epoch },
  quotedUsd: usdOf(order.quotedUsdCents),
  invoiceRef: order.invoiceRef,
  note: order.note,
  receivedAt: order.receivedAt.toISOString(),
  changedAt: order.changedAt.toISOString(),
})

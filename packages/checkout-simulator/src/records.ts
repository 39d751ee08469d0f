import { randomBytes } from 'node:crypto'

export type Session = {
  readonly id: string
  readonly amount: number
  readonly name: string
  readonly clientReferenceId: string | null
  readonly metadata: Readonly<Record<string, string>>
  readonly successUrl: string
  readonly cancelUrl: string | null
  readonly created: number
  readonly expiresAt: number
  status: 'open' | 'complete' | 'expired'
  paymentStatus: 'unpaid' | 'paid'
  paymentId: string | null
}
export type Payment = {
  readonly id: string
  readonly chargeId: string
  readonly sessionId: string
  readonly amount: number
  readonly metadata: Readonly<Record<string, string>>
  readonly created: number
  status: 'processing' | 'succeeded' | 'requires_payment_method'
  refunded: number
}
export type Refund = {
  readonly id: string
  readonly paymentId: string
  readonly amount: number
  readonly metadata: Readonly<Record<string, string>>
  readonly created: number
  status: 'pending' | 'succeeded' | 'failed'
}
export type Dispute = {
  readonly id: string
  readonly paymentId: string
  readonly amount: number
  readonly created: number
  status: string
}
export type StoredEvent = {
  readonly id: string
  readonly type: string
  readonly created: number
  readonly body: string
}

/** The oldest are dropped beyond this: a simulator that runs for days must not grow. */
const recordsMax = 10_000

export const insert = <T>(map: Map<string, T>, id: string, value: T): T => {
  map.set(id, value)
  const oldest = map.keys().next()
  if (map.size > recordsMax && !oldest.done) map.delete(oldest.value)
  return value
}

export const makeId = (prefix: string): string =>
  `${prefix}${randomBytes(18).toString('base64url').replaceAll(/[-_]/g, 'x')}`

/** Everything that the simulator stores, in memory, and its clock. */
export const makeRecords = (address: () => string) => {
  const sessions = new Map<string, Session>()
  const payments = new Map<string, Payment>()
  const disputes = new Map<string, Dispute>()
  const refunds = new Map<string, Refund>()
  const events = new Map<string, StoredEvent>()
  let offsetMs = 0
  const nowSeconds = () => Math.floor((Date.now() + offsetMs) / 1_000)

  return {
    sessions,
    payments,
    disputes,
    refunds,
    events,
    address,
    nowSeconds,
    /** Everything but the responses to idempotency keys, as text. */
    dump: (): string =>
      JSON.stringify([sessions, payments, disputes, events, refunds].map((map) => [...map])),
    load: (text: string): void => {
      const parts = JSON.parse(text) as [string, never][][]
      for (const [index, map] of [sessions, payments, disputes, events, refunds].entries())
        for (const [name, value] of parts[index] ?? []) map.set(name, value)
    },
    setClock: (ms: number) => {
      offsetMs = ms
    },
    /** Stores an event with the object as it is now. */
    makeEvent: (type: string, object: object): StoredEvent => {
      const eventId = makeId('evt_')
      const created = nowSeconds()
      const body = JSON.stringify({
        id: eventId,
        object: 'event',
        api_version: '2026-10-28.endive',
        created,
        data: { object },
        livemode: false,
        pending_webhooks: 1,
        request: { id: null, idempotency_key: null },
        type,
      })
      return insert(events, eventId, { id: eventId, type, created, body })
    },
  }
}
export type Records = ReturnType<typeof makeRecords>

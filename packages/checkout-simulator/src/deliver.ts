import { createHmac } from 'node:crypto'
import type { Records, StoredEvent } from './records.ts'

export type Delivery = {
  readonly eventId: string
  readonly type: string
  readonly signed: 'right' | 'wrong'
  /** 0 where nobody answered. */
  readonly status: number
}
export type DeliveryOptions = {
  /** Keep everything back until it is asked for. */
  hold: boolean
  /** How often each message is sent, at once. */
  copies: number
  delayMs: number
}

/** After a failure: 1 s, 5 s, 30 s, 2 min, 10 min. The real provider goes on for three days. */
const retryDelaysMs = [1_000, 5_000, 30_000, 120_000, 600_000]
const timeoutMs = 10_000
const deliveriesMax = 10_000

/** `t=<seconds>,v1=<hex HMAC-SHA256 of "t.body">`: the header that the SDK checks. */
const signatureOf = (secret: string, body: string, seconds: number): string =>
  `t=${seconds},v1=${createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')}`

/** Sends messages, in the manner that a test has set. */
export const makeDeliverer = (
  records: Records,
  target: { readonly url: string; readonly secret: string },
) => {
  const deliveries: Delivery[] = []
  const heldEvents: StoredEvent[] = []
  const options: DeliveryOptions = { hold: false, copies: 1, delayMs: 0 }
  const timers = new Set<NodeJS.Timeout>()

  const schedule = (ms: number, act: () => void): void => {
    const timer = setTimeout(() => {
      timers.delete(timer)
      act()
    }, ms)
    timers.add(timer)
  }

  const sendOnce = async (event: StoredEvent, signed: Delivery['signed'] = 'right'): Promise<number> => {
    const secret = signed === 'right' ? target.secret : `${target.secret}x`
    let status = 0
    try {
      const response = await fetch(target.url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json; charset=utf-8',
          'stripe-signature': signatureOf(secret, event.body, records.nowSeconds()),
          'user-agent': 'checkout-stand-in',
        },
        body: event.body,
        redirect: 'manual',
        signal: AbortSignal.timeout(timeoutMs),
      })
      status = response.status
      await response.arrayBuffer()
    } catch {
      // Nobody answered: it is tried again.
    }
    deliveries.push({ eventId: event.id, type: event.type, signed, status })
    if (deliveries.length > deliveriesMax) deliveries.shift()
    return status
  }

  const sendWithRetries = async (event: StoredEvent, tries = 0): Promise<void> => {
    const status = await sendOnce(event)
    const waitMs = retryDelaysMs[tries]
    if ((status < 200 || status > 299) && waitMs !== undefined)
      schedule(waitMs, () => void sendWithRetries(event, tries + 1))
  }

  return {
    deliveries,
    heldEvents,
    options,
    sendOnce,
    /** What happens to a new message by itself. */
    deliver: (event: StoredEvent): void => {
      if (options.hold) heldEvents.push(event)
      else
        for (let copy = 0; copy < options.copies; copy++)
          schedule(options.delayMs, () => void sendWithRetries(event))
    },
    stop: () => {
      for (const timer of timers) clearTimeout(timer)
    },
  }
}
export type Deliverer = ReturnType<typeof makeDeliverer>

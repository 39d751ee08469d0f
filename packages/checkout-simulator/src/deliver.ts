import { createHmac } from 'node:crypto'
import type { Records, StoredEvent } from './records.ts'

export type Delivery = {
  readonly eventId: string
  readonly type: string
  readonly signed: 'right' | 'wrong'
  /** 0 where there was no response. */
  readonly status: number
}
type DeliveryOptions = {
  /** Hold every event until a test asks for it. */
  hold: boolean
  /** How often each event is sent, at once. */
  copies: number
  delayMs: number
}

/** After a failure: 1 s, 5 s, 30 s, 2 min, 10 min. The real provider retries for three days. */
const retryDelaysMs = [1_000, 5_000, 30_000, 120_000, 600_000]
const timeoutMs = 10_000
const deliveriesMax = 10_000

/** `t=<seconds>,v1=<hex HMAC-SHA256 of "t.body">`: the header that the SDK checks. */
const signatureOf = (secret: string, body: string, seconds: number): string =>
  `t=${seconds},v1=${createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')}`

type Target = { readonly url: string; readonly secret: string }

/** The status of the response, or 0 where there was none. */
const post = async (target: Target, event: StoredEvent, seconds: number): Promise<number> => {
  try {
    const response = await fetch(target.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json; charset=utf-8',
        'stripe-signature': signatureOf(target.secret, event.body, seconds),
        'user-agent': 'checkout-simulator',
      },
      body: event.body,
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    })
    await response.arrayBuffer()
    return response.status
  } catch {
    return 0
  }
}

/** Sends events to the webhook endpoint, as the options of a test say. */
export const makeDeliverer = (records: Records, target: Target) => {
  const deliveries: Delivery[] = []
  const heldEvents: StoredEvent[] = []
  const options: DeliveryOptions = { hold: false, copies: 1, delayMs: 0 }
  const timers = new Set<NodeJS.Timeout>()

  const schedule = (ms: number, run: () => void): void => {
    const timer = setTimeout(() => {
      timers.delete(timer)
      run()
    }, ms)
    timers.add(timer)
  }

  const sendOnce = async (event: StoredEvent, signed: Delivery['signed'] = 'right'): Promise<number> => {
    const secret = signed === 'right' ? target.secret : `${target.secret}x`
    const status = await post({ ...target, secret }, event, records.nowSeconds())
    deliveries.push({ eventId: event.id, type: event.type, signed, status })
    if (deliveries.length > deliveriesMax) deliveries.shift()
    return status
  }

  const sendWithRetries = async (event: StoredEvent, attempt = 0): Promise<void> => {
    const status = await sendOnce(event)
    const delayMs = retryDelaysMs[attempt]
    if ((status < 200 || status > 299) && delayMs !== undefined)
      schedule(delayMs, () => void sendWithRetries(event, attempt + 1))
  }

  return {
    deliveries,
    heldEvents,
    options,
    sendOnce,
    /** Sends a new event, or holds it. */
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

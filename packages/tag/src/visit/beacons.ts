/** One event of a visit, as it is sent. */
type Beacon = {
  readonly vt: string
  readonly type: string
  /** The service counts an id once for each view, so the same beacon can be sent again. */
  readonly eventId: string
  readonly ts: number
  readonly path: string
  readonly props?: Props
}
export type Props = Readonly<Record<string, string | number | boolean | null>>

/** The service takes 500 beacons of one view, and 60 a minute; a beacon that is sent twice is two of these. */
const beaconsMax = 200
const perMinuteMax = 30
/** 20 of these are below the 64 KB that a browser sends while a page goes away. */
const propsLengthMax = 2_000
/** Time in which events are collected before they are sent together. */
const collectMs = 2_000
const answerMs = 8_000
/** After this many failures in a row only leaving the page sends. */
const failuresMax = 5
const batchMax = 20

const makePrefix = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, '0')).join('')

/** By fetch without cookies where the answer can still be read. */
const post = async (url: string, body: string): Promise<boolean> => {
  try {
    const { status } = await fetch(url, {
      method: 'POST',
      body,
      keepalive: true,
      credentials: 'omit',
      referrerPolicy: 'no-referrer',
      signal: AbortSignal.timeout(answerMs),
    })
    // What is refused is refused again; too many requests and faults of the service pass.
    return status !== 429 && status < 500
  } catch {
    return false
  }
}

/** Sent as text by both, so that the browser makes no preflight request, which nobody would wait for. */
const sendAtEnd = (url: string, body: string): void => {
  if (!navigator.sendBeacon?.(url, body)) void post(url, body)
}

/**
 * The events that the service has not acknowledged. They are sent in small batches while the page is there, and all of them
 * when it may be the last moment.
 */
export const makeBeacons = (url: string, vt: string) => {
  const prefix = makePrefix()
  let waiting: Beacon[] = []
  let made = 0
  let recent: number[] = []
  let flushed = 0
  let failures = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  let isSending = false

  const send = async (): Promise<void> => {
    timer = undefined
    if (isSending || waiting.length === 0) return
    isSending = true
    const batch = waiting.slice(0, batchMax)
    const hasArrived = await post(url, JSON.stringify(batch))
    isSending = false
    failures = hasArrived ? 0 : failures + 1
    if (hasArrived) waiting = waiting.filter((beacon) => !batch.includes(beacon))
    if (waiting.length > 0) schedule(collectMs * 2 ** failures)
  }
  const schedule = (ms: number): void => {
    if (failures < failuresMax) timer ??= setTimeout(() => void send(), ms)
  }

  return {
    /** False where the event is too large, or the visit has sent too many. */
    add: (type: string, path: string, props?: Props): boolean => {
      const now = Date.now()
      recent = recent.filter((at) => now - at < 60_000)
      if (made >= beaconsMax || recent.length >= perMinuteMax) return false
      if (props && JSON.stringify(props).length > propsLengthMax) return false
      made += 1
      recent.push(now)
      waiting.push({ vt, type, eventId: `${prefix}-${made}`, ts: now, path, ...(props ? { props } : {}) })
      schedule(made === 1 ? 0 : collectMs)
      return true
    },
    /** Sends now what was not flushed before; what is not acknowledged is also sent again later, and counts once. */
    flush: (): void => {
      const rest = waiting.filter(({ eventId }) => Number(eventId.slice(prefix.length + 1)) > flushed)
      flushed = made
      for (let from = 0; from < rest.length; from += batchMax)
        sendAtEnd(url, JSON.stringify(rest.slice(from, from + batchMax)))
    },
    /** Forgets what was not sent. */
    clear: (): void => {
      clearTimeout(timer)
      timer = undefined
      waiting = []
    },
  }
}
export type Beacons = ReturnType<typeof makeBeacons>

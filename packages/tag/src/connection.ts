/** Why a session could not begin or go on. `code` is the service's own code, or one of ours. */
export class PohfError extends Error {
  readonly code: string
  constructor(code: string, message = code) {
    super(message)
    this.name = 'PohfError'
    this.code = code
  }
}

export const stoppedError = () => new PohfError('stopped')

const responseTimeoutMs = 8_000
/** Together about two minutes. */
const attemptsMax = 20

/** Waits until the time is over or `wake` is called. */
export const createSleeper = () => {
  let wake: (() => void) | undefined
  const sleep = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  return { sleep, wake: () => wake?.() }
}

type Connection = {
  readonly baseUrl: string
  readonly signal: AbortSignal
  /** True when no answer arrives, false when one arrives again. */
  readonly onLost: (lost: boolean) => void
}
export type Post = <T>(path: string, body: unknown, tries?: number) => Promise<T>

type Reply = { readonly status: number; readonly retryMs: number; readonly json: unknown }

/** Sent as text, so that the browser makes no preflight request; without cookies. */
const send = async (
  { baseUrl, signal }: Connection,
  path: string,
  body: string,
): Promise<Reply | undefined> => {
  try {
    const response = await fetch(baseUrl + path, {
      method: 'POST',
      body,
      credentials: 'omit',
      signal: AbortSignal.any([signal, AbortSignal.timeout(responseTimeoutMs)]),
    })
    return {
      status: response.status,
      retryMs: 1_000 * Math.min(30, Number(response.headers.get('retry-after')) || 0),
      json: await response.json(),
    }
  } catch {
    return undefined
  }
}

/** Sends the same bytes again, with growing delays, until the service answers. */
export const createPost =
  (line: Connection): Post =>
  async <T>(path: string, body: unknown, tries = attemptsMax): Promise<T> => {
    const text = JSON.stringify(body)
    const { sleep, wake } = createSleeper()
    line.signal.addEventListener('abort', wake)
    window.addEventListener('online', wake, { signal: line.signal })
    try {
      for (let attempt = 1; ; attempt++) {
        const reply = await send(line, path, text)
        if (line.signal.aborted) throw stoppedError()
        const later = !reply || reply.status === 429 || reply.status >= 500
        line.onLost(later)
        if (!later && reply.status < 300) return reply.json as T
        if (!later) {
          const { error = 'refused', message } = reply.json as { error?: string; message?: string }
          throw new PohfError(error, message)
        }
        if (attempt >= tries) throw new PohfError('unreachable')
        const pauseMs = Math.min(8_000, 250 * 2 ** attempt) * (0.75 + Math.random() / 2)
        await sleep(Math.max(pauseMs, reply?.retryMs ?? 0))
        if (line.signal.aborted) throw stoppedError()
      }
    } finally {
      line.signal.removeEventListener('abort', wake)
      window.removeEventListener('online', wake)
    }
  }

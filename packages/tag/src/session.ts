import type { Probe, Receipt } from '@pohf/protocol'
import { telemetryLimits } from '@pohf/protocol/telemetry'
import { makeKey, openChain } from './chain.ts'
import { createPost, createSleeper, PohfError, stoppedError } from './connection.ts'
import { makeRecorder, type AnswerSource, type PointerSource } from './recorder.ts'
import { coalesces, listen } from './listeners.ts'

export type Options = {
  /** The agent's id. */
  readonly site: string
  readonly kind?: 'view' | 'work' | 'task'
  readonly workflowId?: string
  readonly challenge?: string
  /** What the person looks at; without it the whole page counts. */
  readonly element?: Element
  /** Of the questions that are asked in words. */
  readonly language?: string
  /** Where the service is; without it, where the script came from. */
  readonly baseUrl?: string
  /** That the person was asked and agreed. Needed where the browser sends Global Privacy Control. */
  readonly consent?: boolean
  readonly onProbe?: (probe: Probe, session: Session) => void
  readonly onProgress?: (progress: { done: number; of: number }, session: Session) => void
  readonly onLost?: (lost: boolean) => void
  readonly onFailed?: (error: PohfError) => void
}
export type FinishedSession = { readonly sessionId: string; readonly status: string; readonly vt?: string }
type CreatedSession = { readonly sessionId: string; readonly nonce: string; readonly receipt: Receipt }

/** A running session. Who draws probes tells here when each was painted and how it was answered. */
export type Session = {
  readonly sessionId: string
  /** Sends the last chunk and ends the session. */
  readonly finish: () => Promise<FinishedSession>
  /** Ends at once and sends nothing more: the session stays incomplete and is never counted. */
  readonly stop: () => void
  readonly shown: (probe: string) => void
  readonly point: (probe: string, by: PointerSource, at: { timeStamp: number; x: number; y: number }) => void
  readonly choose: (probe: string, by: AnswerSource, answer: { timeStamp: number; choice: number }) => void
  /** From now on words to choose from, instead of pictures to point at. */
  readonly alternative: () => void
  /** A control was used that no person can see. */
  readonly honeypot: () => void
}

/** Classic scripts know their own address only while they run for the first time. */
const ownUrl =
  typeof document === 'undefined' ? undefined : (document.currentScript as HTMLScriptElement | null)?.src
export const ownOrigin = ownUrl ? new URL(ownUrl).origin : undefined

const environment = () => ({
  webdriver: navigator.webdriver,
  width: Math.min(100_000, innerWidth),
  height: Math.min(100_000, innerHeight),
  touchPoints: Math.min(256, navigator.maxTouchPoints),
  reducedMotion: matchMedia('(prefers-reduced-motion: reduce)').matches,
  coalesces: coalesces(),
})

/** Whether this browser tells sites not to sell or share; then nothing is recorded before the person agreed. */
export const asksForPrivacy = (): boolean =>
  (navigator as { globalPrivacyControl?: boolean }).globalPrivacyControl === true

const requireSupport = ({ baseUrl = ownOrigin, consent }: Options): string => {
  if (!globalThis.crypto?.subtle || !AbortSignal.any)
    throw new PohfError('unsupported', 'This browser, or a page without HTTPS, cannot sign a session.')
  if (!baseUrl) throw new PohfError('unsupported', 'Say where the service is: baseUrl.')
  if (asksForPrivacy() && consent !== true)
    throw new PohfError(
      'consent_needed',
      'This browser sends Global Privacy Control. Ask the person, then start with consent: true.',
    )
  return baseUrl.replace(/\/+$/, '')
}

/** Begins to record. Before this nothing is listened to, stored or sent; after `finish` or `stop` nothing is any more. */
export const start = async (options: Options): Promise<Session> => {
  const baseUrl = requireSupport(options)
  const { site, kind = 'view', workflowId, challenge, language } = options
  const ending = new AbortController()
  const post = createPost({ baseUrl, signal: ending.signal, onLost: (lost) => options.onLost?.(lost) })

  const key = await makeKey()
  const opened = await post<CreatedSession>(
    '/api/sessions',
    { site, kind, workflowId, challenge, language, key: key.jwk },
    3,
  )
  const { sessionId } = opened
  const startedAt = performance.now()
  const sign = await openChain(key, { ...opened, action: { site, kind, workflowId, challenge } })
  const now = () => performance.now() - startedAt
  const recorder = makeRecorder()
  listen(recorder, (timeStamp) => timeStamp - startedAt, ending.signal, options.element)

  const { sleep, wake } = createSleeper()
  let receipt = opened.receipt
  let bytes = 0
  const requested = { hurry: false, finish: false }
  const sendSoon = () => {
    requested.hurry = true
    wake()
  }
  const isNearEnd = () =>
    receipt.seq >= telemetryLimits.chunksPerSession - 2 ||
    bytes > telemetryLimits.bytesPerSession - 2 * telemetryLimits.chunkBytes

  const waitUntilDue = async (): Promise<void> => {
    const dueAt = now() + receipt.nextMs
    // A full buffer goes before its time; that is looked at four times a second.
    while (!requested.hurry && !ending.signal.aborted && now() < dueAt && !recorder.isFilling())
      await sleep(Math.max(0, Math.min(250, dueAt - now())))
    requested.hurry = false
  }
  const signedChunk = async (isLast: boolean) => {
    const seq = receipt.seq + 1
    const { t0, t1, ev } = recorder.cut(now())
    const chunk = JSON.stringify({
      v: 1,
      seq,
      receipt: receipt.token,
      t0,
      t1,
      ...(seq === 1 ? { env: environment() } : {}),
      ev,
      ...(isLast ? { last: { n: seq, ms: t1 } } : {}),
    })
    bytes += chunk.length
    return { chunk, signature: await sign(seq, chunk) }
  }
  const acceptReceipt = (next: Receipt) => {
    receipt = next
    options.onProgress?.(next.progress, session)
    if (next.probe) options.onProbe?.(next.probe, session)
  }
  const run = async (): Promise<FinishedSession> => {
    const path = `/api/sessions/${encodeURIComponent(sessionId)}`
    while (!requested.finish && !isNearEnd()) {
      await waitUntilDue()
      if (ending.signal.aborted) throw stoppedError()
      if (requested.finish) break
      const { receipt: next } = await post<{ receipt: Receipt }>(
        `${path}/telemetry`,
        await signedChunk(false),
      )
      acceptReceipt(next)
    }
    return post<FinishedSession>(`${path}/finish`, await signedChunk(true))
  }

  const running = run().finally(() => ending.abort())
  running.catch((error: unknown) => {
    if (error instanceof PohfError && error.code !== 'stopped') options.onFailed?.(error)
  })
  const session: Session = {
    sessionId,
    finish: () => {
      requested.finish = true
      sendSoon()
      return running
    },
    stop: () => {
      ending.abort()
      wake()
    },
    shown: (probe) => recorder.shown(now(), probe),
    point: (probe, by, { timeStamp, x, y }) => {
      recorder.point(probe, by, { t: timeStamp - startedAt, x, y })
      sendSoon()
    },
    choose: (probe, by, { timeStamp, choice }) => {
      recorder.choose(timeStamp - startedAt, probe, by, choice)
      sendSoon()
    },
    alternative: () => {
      recorder.alternative(now())
      sendSoon()
    },
    honeypot: () => recorder.honeypot(now()),
  }
  acceptReceipt(opened.receipt)
  return session
}

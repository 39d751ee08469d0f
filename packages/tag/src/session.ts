import type { Probe, Receipt } from '@pohf/protocol'
import { telemetryLimits } from '@pohf/protocol/telemetry'
import { makeKey, openChain, thumbprintOf } from './chain.ts'
import { createPost, createSleeper, PohfError, stoppedError, type Post } from './connection.ts'
import { Recorder, type AnswerSource, type PointerSource } from './recorder.ts'
import { coalesces, listen } from './listeners.ts'

export type Options = {
  /** The agent's id. */
  readonly site: string
  readonly kind?: 'view' | 'work' | 'task' | 'approval'
  readonly workflowId?: string
  readonly challenge?: string
  /** What the person looks at; without it the whole page counts. */
  readonly element?: Element
  /** The language of questions in words. */
  readonly language?: string
  /** The address of the service. Default: the address that the script came from. */
  readonly baseUrl?: string
  /** States that the person was asked and agreed. Required where the browser sends Global Privacy Control. */
  readonly consent?: boolean
  /** Questions in words from the first one on. */
  readonly words?: boolean
  /** Signs with the key that this browser keeps for the site, given the thumbprint of the session key. */
  readonly signAsBrowser?: (jkt: string) => Promise<BrowserProof | undefined>
  readonly onProbe?: (probe: Probe, session: Session) => void
  readonly onProgress?: (progress: Progress, session: Session) => void
  readonly onLost?: (lost: boolean) => void
  readonly onFailed?: (error: PohfError) => void
}
export type Progress = { readonly done: number; readonly of: number; readonly hits: number }
export type BrowserProof = {
  readonly key: { readonly kty: 'EC'; readonly crv: 'P-256'; readonly x: string; readonly y: string }
  readonly proof: string
}
export type FinishedSession = {
  readonly sessionId: string
  readonly status: string
  readonly vt?: string
  readonly verdict: 'passed' | 'retry' | 'step_up' | 'failed' | 'pending'
  readonly reasons: readonly string[]
  readonly stepUp?: readonly { readonly kind: string; readonly url?: string }[]
  /** Seconds after which it helps to try again. */
  readonly retryAfter?: number
  readonly validUntil?: string
}
type CreatedSession = {
  readonly sessionId: string
  readonly nonce: string
  readonly receipt: Receipt
  readonly returning: boolean
}

/** A running session. The code that draws probes reports here when each was painted and how it was answered. */
export type Session = {
  readonly sessionId: string
  /** The service knows this browser from an earlier day and asks less. */
  readonly returning: boolean
  /** Sends the last chunk and ends the session. */
  readonly finish: () => Promise<FinishedSession>
  /** Sends the last chunk again, the same bytes: the verdict as it is now. Only after `finish`. */
  readonly verdict: () => Promise<FinishedSession>
  /** Ends at once and sends nothing more: the session stays incomplete and is never counted. */
  readonly stop: () => void
  /** Sends what is pending now instead of when it is due. */
  readonly flush: () => void
  readonly shown: (probe: string) => void
  readonly point: (probe: string, by: PointerSource, at: { timeStamp: number; x: number; y: number }) => void
  readonly choose: (probe: string, by: AnswerSource, answer: { timeStamp: number; choice: number }) => void
  /**
   * From now on the questions are words to choose from instead of pictures. With `q`: the person is ready for a question; the
   * recording of an approval has none before.
   */
  readonly alternative: (tag?: 'x' | 'q') => void
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

declare global {
  /** What the scripts of one page share: each keeps what another has put there. */
  var pohf: object | undefined
}

/** Whether this browser sends Global Privacy Control; then nothing is recorded before the person agrees. */
export const asksForPrivacy = (): boolean =>
  (navigator as { globalPrivacyControl?: boolean }).globalPrivacyControl === true

const requireSupport = ({ baseUrl = ownOrigin, consent }: Options): string => {
  if (!isSecureContext) throw new PohfError('unsupported', 'pohf: needs HTTPS')
  if (!globalThis.crypto?.subtle || !AbortSignal.any || !baseUrl) throw new PohfError('unsupported')
  if (asksForPrivacy() && consent !== true) throw new PohfError('consent_needed')
  return baseUrl.replace(/\/+$/, '')
}

type SenderOptions = {
  readonly post: Post
  readonly sign: (seq: number, chunk: string) => Promise<string>
  readonly recorder: Recorder
  readonly now: () => number
  readonly signal: AbortSignal
  readonly onReceipt: (receipt: Receipt) => void
}

/** Sends a chunk whenever the service asks for one, and the last one when the session ends. */
class ChunkSender {
  readonly #options: SenderOptions
  readonly #sleeper = createSleeper()
  readonly #path: string
  #receipt: Receipt
  #bytes = 0
  #lastChunk: unknown
  #isHurried = false
  #isFinishing = false

  constructor({ sessionId, receipt }: CreatedSession, options: SenderOptions) {
    this.#options = options
    this.#path = `/api/sessions/${encodeURIComponent(sessionId)}`
    this.#receipt = receipt
  }
  wake(): void {
    this.#sleeper.wake()
  }
  sendSoon(): void {
    this.#isHurried = true
    this.wake()
  }
  finish(): void {
    this.#isFinishing = true
    this.sendSoon()
  }

  #isNearEnd(): boolean {
    return (
      this.#receipt.seq >= telemetryLimits.chunksPerSession - 2 ||
      this.#bytes > telemetryLimits.bytesPerSession - 2 * telemetryLimits.chunkBytes
    )
  }
  async #waitUntilDue(): Promise<void> {
    const { now, signal, recorder } = this.#options
    const dueAt = now() + this.#receipt.nextMs
    // A full buffer is sent early; this is checked four times a second.
    while (!this.#isHurried && !signal.aborted && now() < dueAt && !recorder.isFilling())
      await this.#sleeper.sleep(Math.max(0, Math.min(250, dueAt - now())))
    this.#isHurried = false
  }
  async #signedChunk(isLast: boolean) {
    const { recorder, now, sign } = this.#options
    const seq = this.#receipt.seq + 1
    const { t0, t1, ev } = recorder.cut(now())
    const chunk = JSON.stringify({
      v: 1,
      seq,
      receipt: this.#receipt.token,
      t0,
      t1,
      ...(seq === 1 ? { env: environment() } : {}),
      ev,
      ...(isLast ? { last: { n: seq, ms: t1 } } : {}),
    })
    this.#bytes += chunk.length
    return { chunk, signature: await sign(seq, chunk) }
  }
  async run(): Promise<FinishedSession> {
    const { post, signal, onReceipt } = this.#options
    while (!this.#isFinishing && !this.#isNearEnd()) {
      await this.#waitUntilDue()
      if (signal.aborted) throw stoppedError()
      if (this.#isFinishing) break
      const chunk = await this.#signedChunk(false)
      const { receipt } = await post<{ receipt: Receipt }>(`${this.#path}/telemetry`, chunk)
      this.#receipt = receipt
      onReceipt(receipt)
    }
    this.#lastChunk = await this.#signedChunk(true)
    return this.sendLast(post)
  }
  sendLast(post: Post): Promise<FinishedSession> {
    return post<FinishedSession>(`${this.#path}/finish`, this.#lastChunk)
  }
}

const openSession = async (options: Options, post: Post) => {
  const { site, kind = 'view', workflowId, challenge, language, words } = options
  const key = await makeKey()
  const jkt = await thumbprintOf(key)
  const browser = await options.signAsBrowser?.(jkt)
  const body = { site, kind, workflowId, challenge, language, words, key: key.jwk, browser }
  const opened = await post<CreatedSession>('/api/sessions', body, 3)
  const startedAt = performance.now()
  const sign = await openChain(key, { ...opened, action: { site, kind, workflowId, challenge }, jkt })
  return { opened, startedAt, sign }
}

/** Starts to record. Before this call, and after `finish` or `stop`, it listens to nothing, stores and sends nothing. */
export const start = async (options: Options): Promise<Session> => {
  const baseUrl = requireSupport(options)
  /** The first ends with the recording, the second only when the page wants no verdict any more. */
  const [ending, leaving] = [new AbortController(), new AbortController()]
  const { signal } = ending
  const onLost = (lost: boolean) => options.onLost?.(lost)
  const post = createPost({ baseUrl, signal, onLost })
  const { opened, startedAt, sign } = await openSession(options, post)
  const now = () => performance.now() - startedAt
  const recorder = new Recorder()
  listen(recorder, (timeStamp) => timeStamp - startedAt, signal, options.element)
  if (options.words) recorder.pushRequest(0)

  const onReceipt = ({ progress, probe }: Receipt) => {
    options.onProgress?.(progress, session)
    if (probe) options.onProbe?.(probe, session)
  }
  const sender = new ChunkSender(opened, { post, sign, recorder, now, signal, onReceipt })
  const running = sender.run().finally(() => ending.abort())
  running.catch((error: unknown) => {
    if (error instanceof PohfError && error.code !== 'stopped') options.onFailed?.(error)
  })
  const session: Session = {
    sessionId: opened.sessionId,
    returning: opened.returning,
    finish: () => {
      sender.finish()
      return running
    },
    verdict: () => sender.sendLast(createPost({ baseUrl, signal: leaving.signal, onLost })),
    stop: () => {
      ending.abort()
      leaving.abort()
      sender.wake()
    },
    flush: () => sender.sendSoon(),
    shown: (probe) => recorder.shown(now(), probe),
    point: (probe, by, { timeStamp, x, y }) => {
      recorder.point(probe, by, { t: timeStamp - startedAt, x, y })
      sender.sendSoon()
    },
    choose: (probe, by, { timeStamp, choice }) => {
      recorder.choose(timeStamp - startedAt, probe, by, choice)
      sender.sendSoon()
    },
    alternative: (tag) => {
      recorder.pushRequest(now(), tag)
      sender.sendSoon()
    },
    honeypot: () => recorder.honeypot(now()),
  }
  onReceipt(opened.receipt)
  return session
}

// Speaks telemetry protocol v1 without a browser: everything that a page would send, from a script.
import { createHash, webcrypto } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import type { Receipt } from '@pohf/protocol'
import {
  actionBytes,
  firstLinkBytes,
  linkBytes,
  telemetryLimits,
  type TelemetryEnvironment,
  type TelemetryEvent,
  thumbprintText,
} from '@pohf/protocol/telemetry'
import { writeChunk } from './wire.ts'

export type Target = {
  readonly baseUrl: string
  readonly site: string
  readonly kind?: 'view' | 'work' | 'task' | undefined
  readonly workflowId?: string | undefined
  readonly challenge?: string | undefined
  /** Ask for words from the first question on; the bot also records the event `alternative`. */
  readonly words?: boolean | undefined
  /** The page that the script says it is. */
  readonly origin?: string | undefined
  /** The address that a proxy in front of the server would state; it counts where the server trusts this machine. */
  readonly forwardedFor?: string | undefined
}

/** What the server said no to, with its code and its words. */
class RefusedError extends Error {
  readonly code: string
  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

const timeoutMs = 15_000
/** How often the same end is sent while the session is not scored yet, a second apart. */
const pendingAsksMax = 30

const post = async (target: Target, path: string, body: unknown): Promise<unknown> => {
  const response = await fetch(new URL(path, target.baseUrl), {
    method: 'POST',
    headers: {
      'content-type': 'text/plain',
      origin: target.origin ?? new URL(target.baseUrl).origin,
      ...(target.forwardedFor === undefined ? {} : { 'x-forwarded-for': target.forwardedFor }),
    },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(timeoutMs),
  })
  const answer = (await response.json()) as { readonly [key: string]: unknown }
  if (response.ok) return answer
  const text = (field: string) => (typeof answer[field] === 'string' ? answer[field] : '')
  throw new RefusedError(
    text('code') || text('error') || String(response.status),
    `${path} ${response.status}: ${text('message') || text('detail') || JSON.stringify(answer).slice(0, 300)}`,
  )
}

const sha256 = (bytes: Uint8Array | string): Buffer => createHash('sha256').update(bytes).digest()

export type OpenedSession = {
  readonly sessionId: string
  readonly receipt: Receipt
  /** Sends the events up to `t1`; resolves with the next receipt. */
  readonly send: (events: readonly TelemetryEvent[], t1: number) => Promise<Receipt>
  /** Sends the last chunk; resolves with the status of the session. */
  readonly finish: (events: readonly TelemetryEvent[], t1: number) => Promise<string>
}

const makeKey = async () => {
  const curve = { name: 'ECDSA', namedCurve: 'P-256' }
  const { privateKey, publicKey } = await webcrypto.subtle.generateKey(curve, false, ['sign', 'verify'])
  const { x = '', y = '' } = await webcrypto.subtle.exportKey('jwk', publicKey)
  const sign = async (bytes: Uint8Array): Promise<string> => {
    const signed = await webcrypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, privateKey, bytes)
    return Buffer.from(signed).toString('base64url')
  }
  return { x, y, sign }
}

/** Ends a session, and sends the same end again until it is scored. */
const askUntilScored = async (target: Target, path: string, last: unknown): Promise<string> => {
  for (let asked = 1; ; asked += 1) {
    const ended = await post(target, `${path}/finish`, last)
    const { status, verdict } = ended as { status: string; verdict: string }
    if (verdict !== 'pending' || asked === pendingAsksMax) return status
    await setTimeout(1_000)
  }
}

/** Opens a session with a new key. `environment` is what the script claims about its browser. */
export const openSession = async (
  target: Target,
  environment: TelemetryEnvironment,
): Promise<OpenedSession> => {
  const { x, y, sign } = await makeKey()
  const kind = target.kind ?? 'view'
  const opened = (await post(target, '/api/sessions', {
    site: target.site,
    kind,
    workflowId: target.workflowId,
    challenge: target.challenge,
    words: target.words,
    key: { kty: 'EC', crv: 'P-256', x, y },
  })) as { sessionId: string; nonce: string; receipt: Receipt }
  let link = sha256(
    firstLinkBytes({
      nonce: Buffer.from(opened.nonce, 'base64url'),
      jkt: sha256(thumbprintText({ x, y })).toString('base64url'),
      sessionId: opened.sessionId,
      actionHash: sha256(actionBytes({ ...target, kind })),
    }),
  )
  let [seq, t0, token] = [0, 0, opened.receipt.token]

  const path = `/api/sessions/${encodeURIComponent(opened.sessionId)}`
  const signChunk = async (events: readonly TelemetryEvent[], t1: number, isLast: boolean) => {
    seq += 1
    if (seq > telemetryLimits.chunksPerSession)
      throw new Error(
        `session ${opened.sessionId} has ${telemetryLimits.chunksPerSession} chunks and takes no more`,
      )
    const chunk = writeChunk({
      seq,
      receipt: token,
      t0,
      t1,
      environment: seq === 1 ? environment : null,
      events,
      last: isLast ? { n: seq, ms: t1 } : null,
    })
    link = sha256(linkBytes(link, seq, sha256(chunk)))
    const signature = await sign(link)
    t0 = t1
    return { chunk, signature }
  }
  return {
    sessionId: opened.sessionId,
    receipt: opened.receipt,
    send: async (events, t1) => {
      const sent = await post(target, `${path}/telemetry`, await signChunk(events, t1, false))
      const { receipt } = sent as { receipt: Receipt }
      token = receipt.token
      return receipt
    },
    finish: async (events, t1) => askUntilScored(target, path, await signChunk(events, t1, true)),
  }
}

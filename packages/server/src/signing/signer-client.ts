import { connect, type Socket } from 'node:net'
import { systemClock, type Clock } from '../platform/ops/clock.ts'
import { Refusal } from '../platform/http/errors.ts'
import type { JournalPage, JournalSpan } from './journal.ts'
import type { KeyPurpose, KeyRecord, ValidatedClaims, PublishedJwk, Typ } from './rules.ts'

/** The operations of the signer process. This process never holds a private key. */
export type Signer = {
  /** Signs validated claims, each with the key of its mode. */
  readonly sign: (batch: readonly ValidatedClaims[]) => Promise<string[]>
  readonly signTyped: (typ: Typ, payload: Readonly<Record<string, unknown>>) => Promise<string>
  readonly publicKeys: () => Promise<PublishedJwk[]>
  readonly list: () => Promise<Omit<KeyRecord, 'ref' | 'jwk'>[]>
  readonly rotate: (purpose: KeyPurpose) => Promise<string>
  readonly revoke: (kid: string) => Promise<boolean>
  /** Fails where a key cannot sign, or the signer does not answer. */
  readonly selfTest: () => Promise<void>
  readonly readJournal: (span: JournalSpan) => Promise<JournalPage>
  readonly close: () => void
}

const timeoutMs = 5_000
/** Keys change rarely and are published a day ahead, so a cache of a few seconds is safe. */
const keysCacheMs = 5_000
const pendingMax = 10_000

type PendingRequest = {
  readonly resolve: (value: unknown) => void
  readonly reject: (reason: Error) => void
  readonly timer: NodeJS.Timeout
}

const signerUnavailable = () =>
  new Refusal('overloaded', { message: 'The signer does not answer.', headers: { 'retry-after': '1' } })

/** One connection to the signer, opened when needed and reopened after it was lost. */
const openConnection = (socketPath: string) => {
  const pending = new Map<number, PendingRequest>()
  let socket: Socket | undefined
  let lastId = 0

  const drop = (lost: Socket): void => {
    if (socket === lost) socket = undefined
    lost.destroy()
    for (const [id, call] of pending) {
      clearTimeout(call.timer)
      pending.delete(id)
      call.reject(signerUnavailable())
    }
  }

  const handleReply = (line: string): void => {
    const { id, result, error } = JSON.parse(line) as { id: number; result?: unknown; error?: string }
    const call = pending.get(id)
    if (!call) return
    pending.delete(id)
    clearTimeout(call.timer)
    if (error === undefined) call.resolve(result)
    else call.reject(new Error(`the signer rejected the request: ${error}`))
  }

  const open = (): Socket => {
    if (socket) return socket
    const fresh = connect(socketPath)
    let rest = ''
    fresh.setEncoding('utf8')
    fresh.on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) handleReply(line)
    })
    fresh.on('error', () => drop(fresh))
    fresh.on('close', () => drop(fresh))
    fresh.unref()
    socket = fresh
    return fresh
  }

  return {
    request: (message: Readonly<Record<string, unknown>>): Promise<unknown> => {
      if (pending.size >= pendingMax) return Promise.reject(signerUnavailable())
      return new Promise((resolve, reject) => {
        const id = ++lastId
        const timer = setTimeout(() => {
          pending.delete(id)
          reject(signerUnavailable())
        }, timeoutMs)
        pending.set(id, { resolve, reject, timer })
        open().write(`${JSON.stringify({ ...message, id })}\n`)
      })
    },
    close: () => socket && drop(socket),
  }
}

export const connectSigner = (socketPath: string, clock: Clock = systemClock): Signer => {
  const connection = openConnection(socketPath)
  let cached: { keys: PublishedJwk[]; until: number } | undefined
  return {
    sign: async (batch) => (await connection.request({ op: 'sign', batch })) as string[],
    signTyped: async (typ, payload) =>
      (await connection.request({ op: 'sign-typed', typ, payload })) as string,
    publicKeys: async () => {
      if (cached && cached.until > clock.now().getTime()) return cached.keys
      try {
        cached = {
          keys: (await connection.request({ op: 'public-keys' })) as PublishedJwk[],
          until: clock.now().getTime() + keysCacheMs,
        }
      } catch (error) {
        // The cached public keys are better than none: verification must not depend on the signer.
        if (!cached) throw error
      }
      return cached.keys
    },
    list: async () => (await connection.request({ op: 'list' })) as Omit<KeyRecord, 'ref' | 'jwk'>[],
    rotate: async (purpose) => (await connection.request({ op: 'rotate', purpose })) as string,
    revoke: async (kid) => {
      const revoked = (await connection.request({ op: 'revoke', kid })) as boolean
      // Only after the response: a request in flight would have cached the old keys again.
      cached = undefined
      return revoked
    },
    selfTest: async () => {
      await connection.request({ op: 'self-test' })
    },
    readJournal: async (span) => (await connection.request({ op: 'journal', span })) as JournalPage,
    close: connection.close,
  }
}

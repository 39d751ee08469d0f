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
  readonly op: string
  readonly resolve: (value: unknown) => void
  readonly reject: (reason: Error) => void
  readonly timer: NodeJS.Timeout
}

/** The caller is told only that the signer does not answer; the log gets the cause. */
const signerUnavailable = (cause: Error) =>
  new Refusal('overloaded', {
    message: 'The signer does not answer.',
    headers: { 'retry-after': '1' },
    cause,
  })

/** Resolves or rejects the request that a line of the signer responds to. */
const settleReply = (pending: Map<number, PendingRequest>, line: string): void => {
  const { id, result, error } = JSON.parse(line) as { id: number; result?: unknown; error?: string }
  const call = pending.get(id)
  if (!call) return
  pending.delete(id)
  clearTimeout(call.timer)
  if (error === undefined) call.resolve(result)
  else call.reject(new Error(`signer refused ${call.op} request ${id}: ${error}`))
}

/** One connection to the signer, opened when needed and reopened after it was lost. */
const openConnection = (socketPath: string) => {
  const pending = new Map<number, PendingRequest>()
  let socket: Socket | undefined
  let requestCount = 0

  const drop = (lost: Socket, cause: Error): void => {
    lost.destroy()
    // An error is followed by the end of the connection, when requests may already wait on the next one.
    if (socket !== lost) return
    socket = undefined
    for (const [id, call] of pending) {
      clearTimeout(call.timer)
      pending.delete(id)
      call.reject(signerUnavailable(cause))
    }
  }

  const open = (): Socket => {
    if (socket) return socket
    const fresh = connect(socketPath)
    let rest = ''
    fresh.setEncoding('utf8')
    fresh.on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) settleReply(pending, line)
    })
    fresh.on('error', (error) => drop(fresh, error))
    fresh.on('close', () => drop(fresh, new Error(`connection to the signer at ${socketPath} closed`)))
    fresh.unref()
    socket = fresh
    return fresh
  }

  return {
    request: (message: { readonly op: string; readonly [field: string]: unknown }): Promise<unknown> => {
      if (pending.size >= pendingMax)
        return Promise.reject(
          signerUnavailable(new Error(`${pending.size} requests wait for the signer at ${socketPath}`)),
        )
      return new Promise((resolve, reject) => {
        const id = ++requestCount
        const used = open()
        // The signer answers in order: one late response holds up all others. The next request gets a new connection.
        const late = () => new Error(`no response to ${message.op} request ${id} within ${timeoutMs} ms`)
        const timer = setTimeout(() => drop(used, late()), timeoutMs)
        pending.set(id, { op: message.op, resolve, reject, timer })
        used.write(`${JSON.stringify({ ...message, id })}\n`)
      })
    },
    close: () =>
      socket &&
      drop(socket, new Error(`connection to the signer at ${socketPath} was closed by this process`)),
  }
}

export const connectSigner = (socketPath: string, clock: Clock = systemClock): Signer => {
  const connection = openConnection(socketPath)
  let cached: { keys: PublishedJwk[]; at: number } | undefined
  // A clock that was set back must not extend the life of the cache.
  const ageMs = (at: number) => Math.abs(clock.now().getTime() - at)
  return {
    sign: async (batch) => (await connection.request({ op: 'sign', batch })) as string[],
    signTyped: async (typ, payload) =>
      (await connection.request({ op: 'sign-typed', typ, payload })) as string,
    publicKeys: async () => {
      if (cached && ageMs(cached.at) < keysCacheMs) return cached.keys
      try {
        cached = {
          keys: (await connection.request({ op: 'public-keys' })) as PublishedJwk[],
          at: clock.now().getTime(),
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

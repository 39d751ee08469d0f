import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { Refusal } from '../../platform/http/errors.ts'
import { currentRequestScope, outsideRequests } from '../../platform/ops/tracing/request-scope.ts'
import { currentTrace, inSpan } from '../../platform/ops/tracing.ts'
import { signerProtocol, type FailureCode, type TlsIdentity } from './signer-socket.ts'

const pendingMax = 10_000

/** Where a signer listens: a Unix socket, or a host with mutual TLS. */
export type SignerAddress =
  { readonly path: string } | { readonly host: string; readonly port: number; readonly identity: TlsIdentity }

const nameOf = (address: SignerAddress): string =>
  'path' in address ? address.path : `${address.host}:${address.port}`

/** The caller is told only that the signer does not answer; the log gets the cause. */
export const signerUnavailable = (cause: Error) =>
  new Refusal('overloaded', {
    message: 'The signer does not answer.',
    headers: { 'retry-after': '1' },
    cause,
  })

/** A signer refused a request. `code` says whether another signer may do it. */
export class SignerFailure extends Error {
  readonly code: FailureCode | undefined
  constructor(message: string, code: FailureCode | undefined) {
    super(message)
    this.code = code
  }
}

type PendingRequest = {
  readonly op: string
  readonly resolve: (value: unknown) => void
  readonly reject: (reason: Error) => void
  readonly timer: NodeJS.Timeout
}
type Reply = {
  readonly id: number
  readonly result?: unknown
  readonly error?: string
  readonly code?: FailureCode
}

/** Resolves or rejects the request that a line of the signer responds to. */
const settleReply = (pending: Map<number, PendingRequest>, line: string): void => {
  const { id, result, error, code } = JSON.parse(line) as Reply
  const call = pending.get(id)
  if (!call) return
  pending.delete(id)
  clearTimeout(call.timer)
  if (error === undefined) call.resolve(result)
  else call.reject(new SignerFailure(`signer refused ${call.op} request ${id}: ${error}`, code))
}

const openSocket = (address: SignerAddress): Socket =>
  'path' in address
    ? connect(address.path)
    : connectTls({
        host: address.host,
        port: address.port,
        // Names in a certificate are host names; an address is matched as such without this.
        ...(/^[\d.]+$|:/.test(address.host) ? {} : { servername: address.host }),
        ...address.identity,
        minVersion: 'TLSv1.3',
        ALPNProtocols: [signerProtocol],
      }).setKeepAlive(true, 10_000)

const splitLines = (socket: Socket, handle: (line: string) => void): void => {
  let rest = ''
  socket.setEncoding('utf8')
  socket.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) handle(line)
  })
}

/** A request to a signer: its operation, and what that needs. */
export type SignerMessage = { readonly op: string; readonly [field: string]: unknown }

const connectionError = (address: SignerAddress, what: string): Error =>
  new Error(`connection to the signer at ${nameOf(address)} ${what}`)

const rejectAll = (pending: Map<number, PendingRequest>, cause: Error): void => {
  for (const call of pending.values()) {
    clearTimeout(call.timer)
    call.reject(cause)
  }
  pending.clear()
}

/** Rejects with an error of the caller where a promise takes longer. */
const within = <T>(limitMs: number, promise: Promise<T>, late: () => Error): Promise<T> => {
  const { promise: timeout, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(late()), limitMs)
  return Promise.race([promise, timeout]).finally(() => clearTimeout(timer))
}

/** One connection to a signer, opened when needed and reopened after it was lost. */
export const openConnection = (address: SignerAddress, timeoutMs: number) => {
  const name = nameOf(address)
  const pending = new Map<number, PendingRequest>()
  let socket: Socket | undefined
  let requestCount = 0

  const drop = (lost: Socket, cause: Error): void => {
    lost.destroy()
    // An error is followed by the end of the connection, when requests may already wait on the next one.
    if (socket !== lost) return
    socket = undefined
    rejectAll(pending, signerUnavailable(cause))
  }

  const open = (): Socket => {
    if (socket) return socket
    const fresh = outsideRequests(() => openSocket(address))
    splitLines(fresh, (line) => settleReply(pending, line))
    fresh.on('error', (error) => drop(fresh, error))
    fresh.on('close', () => drop(fresh, connectionError(address, 'closed')))
    fresh.unref()
    socket = fresh
    return fresh
  }

  const send = (message: SignerMessage): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const id = ++requestCount
      const used = open()
      // The signer answers in order: one late response holds up all others. The next request gets a new connection.
      const late = () => new Error(`no response to ${message.op} request ${id} within ${timeoutMs} ms`)
      const timer = setTimeout(() => drop(used, late()), timeoutMs)
      pending.set(id, { op: message.op, resolve, reject, timer })
      const requestIds = currentRequestScope()?.requestIds
      used.write(`${JSON.stringify({ ...message, id, trace: currentTrace(), requestIds })}\n`)
    })

  const request = (message: SignerMessage): Promise<unknown> => {
    if (pending.size >= pendingMax)
      return Promise.reject(
        signerUnavailable(connectionError(address, `has ${pending.size} waiting requests`)),
      )
    const attributes = { 'pohf.operation': message.op }
    return inSpan('signer request', { kind: 'client', attributes }, () => send(message))
  }

  return {
    name,
    request,
    /** The same for a caller that waits for less long. The connection and its other requests stay. */
    requestWithin: (limitMs: number, message: SignerMessage): Promise<unknown> =>
      within(limitMs, request(message), () =>
        signerUnavailable(connectionError(address, `did not answer ${message.op} within ${limitMs} ms`)),
      ),
    close: (): void => {
      if (socket) drop(socket, connectionError(address, 'was closed by this process'))
    },
  }
}
export type SignerConnection = ReturnType<typeof openConnection>

import { chmodSync, existsSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { createServer as createTlsServer, type TlsOptions } from 'node:tls'
import type { Logger } from '../../platform/ops/log.ts'
import { isRequestId, makeRequestScope, withinRequest } from '../../platform/ops/tracing/request-scope.ts'
import { inCausedSpan } from '../../platform/ops/tracing.ts'
import { SigningRefused } from '../keyring.ts'
import { WrongDatabase } from '../timelines.ts'

/** Requests and responses are one line of JSON each. A longer line closes the connection. */
const lineBytesMax = 8_388_608
const connectionsMax = 256
/** Clients synchronise manifests every second. */
const idleMsMax = 600_000
/** The protocol that both sides of a TLS connection must name. */
export const signerProtocol = 'pohf-signer/1'

export type SignerRequest = { readonly id: number; readonly op: string; readonly [field: string]: unknown }
/** Answers a request, or throws. */
export type HandleRequest = (request: SignerRequest) => unknown

/** Why a request failed, where the client acts on it: it asks another signer, or it stops. */
export type FailureCode = 'cannot_sign' | 'database_refused' | 'other_signer'
/** The request is for the signer that listened at this address before. */
export class WrongSigner extends Error {}
const codeOf = (error: unknown): { readonly code?: FailureCode } => {
  if (error instanceof SigningRefused) return { code: 'cannot_sign' }
  if (error instanceof WrongSigner) return { code: 'other_signer' }
  return error instanceof WrongDatabase ? { code: 'database_refused' } : {}
}

/** Parses a line; undefined where it is no request. */
const parseRequest = (line: string): SignerRequest | undefined => {
  try {
    const request: unknown = JSON.parse(line)
    return typeof request === 'object' && request !== null && 'id' in request
      ? (request as SignerRequest)
      : undefined
  } catch {
    return undefined
  }
}

/** As many as claims in a batch; further ones are not logged. */
const requestIdsMax = 256
/** The requests of clients of the api that a request is for. Whatever else a caller puts there does not reach the log. */
const scopeOf = ({ requestIds }: SignerRequest) =>
  Array.isArray(requestIds)
    ? makeRequestScope(requestIds.slice(0, requestIdsMax).filter(isRequestId))
    : undefined

/**
 * Answers a request in a span of its own. An error is logged in that span, so that its line has the trace id and the ids of
 * the requests that failed.
 */
const answerRequest = (handle: HandleRequest, log: Logger, request: SignerRequest): unknown => {
  const { id, op, trace, batch } = request
  const attributes = {
    'pohf.operation': op,
    'pohf.batch_size': Array.isArray(batch) ? batch.length : 1,
  }
  const answer = () => {
    try {
      return handle(request)
    } catch (error) {
      log.error({ err: error, signerRequestId: id, op }, 'signer request failed')
      throw error
    }
  }
  return withinRequest(scopeOf(request), () =>
    inCausedSpan('signer operation', { kind: 'server', causes: [trace], attributes }, answer),
  )
}

const serveConnection = (handle: HandleRequest, log: Logger, socket: Socket): void => {
  let rest = ''
  // The listening socket keeps the signer alive; a client's open connection must not.
  socket.unref()
  socket.setEncoding('utf8')
  socket.on('error', () => socket.destroy())
  socket.setTimeout(idleMsMax, () => socket.destroy())
  /** A client that does not read its answers is not read from: they would fill the memory. */
  const send = (answer: unknown): void => {
    if (!socket.write(`${JSON.stringify(answer)}\n`)) socket.pause()
  }
  socket.on('drain', () => socket.resume())
  socket.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > lineBytesMax) socket.destroy()
    for (const line of lines) {
      const request = parseRequest(line)
      // A client that sends no valid request is disconnected; other connections continue.
      if (!request) {
        socket.destroy()
        return
      }
      try {
        send({ id: request.id, result: answerRequest(handle, log, request) })
      } catch (error) {
        const message = error instanceof Error ? error.message : 'unknown error'
        send({ id: request.id, error: message, ...codeOf(error) })
      }
    }
  })
}

type SocketFile = { readonly socketPath: string; readonly mode: number }

/** How often the signer looks whether its socket file is still there. */
const socketCheckMs = 500

/**
 * Listens again whenever the socket file is gone: a folder that was cleared must not cut clients off until a restart.
 * Connections that are open stay open. A file that another process put there is left alone.
 */
const keepListening = (server: Server, { socketPath, mode }: SocketFile, log: Logger): NodeJS.Timeout => {
  let failing = false
  server.on('listening', () => {
    chmodSync(socketPath, mode)
    failing = false
    log.warn({ socket: socketPath }, 'socket file of the signer was gone; the signer listens again')
  })
  server.on('error', (error) => {
    if (!failing) log.error({ err: error, socket: socketPath }, 'signer cannot listen; it tries again')
    failing = true
  })
  return setInterval(() => {
    if (existsSync(socketPath)) return
    // Stops accepting connections at the old file; open connections continue.
    server.close()
    server.listen(socketPath)
  }, socketCheckMs).unref()
}

export type SignerListener = {
  /** Serves on until every client has closed its connection, for at most `waitMs`; then closes. */
  readonly close: (waitMs: number) => Promise<void>
}

const started = (server: Server, listen: () => void): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject).once('listening', () => resolve(void server.off('error', reject)))
    listen()
  })

/** Closes a server whose connections are in `connections`. */
const closeServer = async (server: Server, connections: ReadonlySet<Socket>, waitMs: number) => {
  const deadline = performance.now() + waitMs
  while (connections.size > 0 && performance.now() < deadline) await setTimeout(20)
  server.close()
  for (const socket of connections) socket.destroy()
}

/** Listens on a Unix socket: mode 0600 for the signer's user alone, 0660 for the group of the socket's folder as well. */
export const listenOnSocket = async (
  handle: HandleRequest,
  { socketPath, mode }: SocketFile,
  log: Logger,
): Promise<SignerListener> => {
  // A signer that was killed leaves its socket file behind.
  rmSync(socketPath, { force: true })
  const connections = new Set<Socket>()
  const server = createServer((socket) => {
    connections.add(socket)
    socket.once('close', () => connections.delete(socket))
    serveConnection(handle, log, socket)
  })
  server.maxConnections = connectionsMax
  await started(server, () => server.listen(socketPath))
  chmodSync(socketPath, mode)
  const watch = keepListening(server, { socketPath, mode }, log)
  return {
    close: async (waitMs) => {
      await closeServer(server, connections, waitMs).finally(() => clearInterval(watch))
    },
  }
}

/** Certificate, key and certificate authority of one side, in PEM. */
export type TlsIdentity = { readonly cert: Buffer; readonly key: Buffer; readonly ca: Buffer }
export type TlsListen = { readonly host: string; readonly port: number; readonly identity: TlsIdentity }

/** Both sides name a certificate of the one authority, or there is no connection. */
const tlsOptionsOf = ({ cert, key, ca }: TlsIdentity): TlsOptions => ({
  cert,
  key,
  ca,
  requestCert: true,
  rejectUnauthorized: true,
  minVersion: 'TLSv1.3',
  handshakeTimeout: 5_000,
  ALPNProtocols: [signerProtocol],
})

/** Listens with TLS for clients whose certificate the authority signed. */
export const listenOnTls = async (
  handle: HandleRequest,
  { host, port, identity }: TlsListen,
  log: Logger,
): Promise<SignerListener & { readonly port: number }> => {
  const connections = new Set<Socket>()
  const server = createTlsServer(tlsOptionsOf(identity), (socket) => {
    if (socket.alpnProtocol !== signerProtocol) {
      socket.destroy()
      return
    }
    connections.add(socket)
    socket.once('close', () => connections.delete(socket))
    serveConnection(handle, log, socket)
  })
  server.maxConnections = connectionsMax
  server.on('tlsClientError', (error, socket) =>
    log.warn({ err: error, address: socket.remoteAddress }, 'TLS client refused by the signer'),
  )
  await started(server, () => server.listen(port, host))
  server.on('error', (error) => log.error({ err: error }, 'signer cannot accept a TLS connection'))
  const address = server.address()
  return {
    port: typeof address === 'object' && address ? address.port : port,
    close: (waitMs) => closeServer(server, connections, waitMs),
  }
}

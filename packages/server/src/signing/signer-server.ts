import { chmodSync, existsSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { keyPurposes } from '@pohf/protocol'
import { z } from 'zod'
import type { Logger } from '../platform/ops/log.ts'
import type { Keyring } from './keyring.ts'
import type { KeyPurpose, Typ } from './rules.ts'

/** Requests and responses are one line of JSON each. A longer line closes the connection. */
const lineBytesMax = 8_388_608
const batchMax = 256

type SignerRequest = {
  readonly id: number
  readonly op: string
  readonly batch?: unknown[]
  readonly typ?: string
  readonly payload?: unknown
  readonly purpose?: string
  readonly kid?: string
  readonly span?: unknown
}

const instantMs = z.int().min(0).max(8_640_000_000_000)
const journalSpan = z.strictObject({
  from: instantMs,
  to: instantMs,
  cursor: z.strictObject({ file: z.string().regex(/^\d{4}-\d{2}\.log$/), offset: z.int().min(0) }).optional(),
})

const handleRequest = (keyring: Keyring, request: SignerRequest): unknown => {
  switch (request.op) {
    case 'sign':
      if (!Array.isArray(request.batch) || request.batch.length > batchMax)
        throw new Error(
          `sign request ${request.id} has ${Array.isArray(request.batch) ? `a batch of ${request.batch.length}` : 'no batch'}; at most ${batchMax} claims are signed at once`,
        )
      return keyring.sign(request.batch)
    case 'sign-typed':
      return keyring.signTyped(request.typ as Typ, request.payload)
    case 'public-keys':
      return keyring.publicKeys()
    case 'list':
      return keyring.list()
    case 'rotate':
      if (!keyPurposes.includes(request.purpose as KeyPurpose))
        throw new Error(`unknown key purpose ${request.purpose} in rotate request ${request.id}`)
      return keyring.rotate(request.purpose as KeyPurpose)
    case 'self-test':
      return keyring.selfTest()
    case 'journal':
      return keyring.readJournal(journalSpan.parse(request.span))
    case 'revoke':
      return keyring.revoke(String(request.kid))
    default:
      throw new Error(`unknown signer operation ${request.op} in request ${request.id}`)
  }
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

const serveConnection = (keyring: Keyring, log: Logger, socket: Socket): void => {
  let rest = ''
  // The listening socket keeps the signer alive; a client's open connection must not.
  socket.unref()
  socket.setEncoding('utf8')
  socket.on('error', () => socket.destroy())
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
        socket.write(`${JSON.stringify({ id: request.id, result: handleRequest(keyring, request) })}\n`)
      } catch (error) {
        log.error({ err: error, signerRequestId: request.id, op: request.op }, 'signer request failed')
        socket.write(
          `${JSON.stringify({ id: request.id, error: error instanceof Error ? error.message : 'unknown error' })}\n`,
        )
      }
    }
  })
}

type SocketOptions = { readonly socketPath: string; readonly mode: number }

/** How often the signer looks whether its socket file is still there. */
const socketCheckMs = 500

/**
 * Listens again whenever the socket file is gone: a folder that was cleared must not cut clients off until a restart.
 * Connections that are open stay open. A file that another process put there is left alone.
 */
const keepListening = (server: Server, { socketPath, mode }: SocketOptions, log: Logger): NodeJS.Timeout => {
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
    // Ends the accepting at the old file; open connections continue.
    server.close()
    server.listen(socketPath)
  }, socketCheckMs).unref()
}

type SignerServer = {
  /** Serves on until every client has closed its connection, for at most `waitMs`; then closes. */
  readonly close: (waitMs: number) => Promise<void>
}

/** Listens on a Unix socket: mode 0600 for the signer's user alone, 0660 for the group of the socket's folder as well. */
export const startSignerServer = async (
  keyring: Keyring,
  { socketPath, mode }: SocketOptions,
  log: Logger,
): Promise<SignerServer> => {
  // A signer that was killed leaves its socket file behind.
  rmSync(socketPath, { force: true })
  const connections = new Set<Socket>()
  const server = createServer((socket) => {
    connections.add(socket)
    socket.once('close', () => connections.delete(socket))
    serveConnection(keyring, log, socket)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(socketPath, () => resolve(void server.off('error', reject)))
  })
  chmodSync(socketPath, mode)
  const watch = keepListening(server, { socketPath, mode }, log)
  return {
    close: async (waitMs) => {
      const deadline = performance.now() + waitMs
      while (connections.size > 0 && performance.now() < deadline) await setTimeout(20)
      clearInterval(watch)
      server.close()
      for (const socket of connections) socket.destroy()
    },
  }
}

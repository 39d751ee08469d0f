import { Server as NetServer, type Socket } from 'node:net'
import { setImmediate, setTimeout } from 'node:timers/promises'
import type { FastifyHttpOptions, FastifyInstance, FastifyRequest, RawServerDefault } from 'fastify'
import { Refusal } from './errors.ts'

/**
 * `starting`: only the health pages are answered. `stopping`: every request is served, and every response closes its
 * connection, so that the client's next request goes to another process.
 */
export type ServingState = { value: 'starting' | 'serving' | 'stopping' }

export const healthPaths: ReadonlySet<string | undefined> = new Set(['/livez', '/readyz'])
/** How long a connection that was accepted last, or that is idle, has for a request that is on its way. */
const lingerMs = 500
/** Whoever keeps opening connections must not hold up the stop. */
const acceptTurnsMax = 100

/** Adds the behaviour of each state; returns the function that closes the listener after every request was answered. */
export const addGracefulClose = (app: FastifyInstance, state: ServingState): (() => Promise<void>) => {
  const connections = new Set<Socket>()
  let accepted = 0
  app.server.on('connection', (socket: Socket) => {
    accepted += 1
    connections.add(socket)
    socket.once('close', () => connections.delete(socket))
  })
  app.addHook('onRequest', async (request) => {
    if (state.value === 'starting' && !healthPaths.has(request.routeOptions.url))
      throw new Refusal('overloaded', { headers: { 'retry-after': '2' } })
  })
  app.addHook('onSend', async (_request, reply) => {
    if (state.value === 'stopping') reply.header('connection', 'close')
  })
  return async () => {
    if (app.server.listening) {
      // What waits to be accepted is reset by the close, and libuv accepts one connection in a turn of the event loop.
      for (let turn = 0, before = -1; turn < acceptTurnsMax && before < accepted; turn++) {
        before = accepted
        await setImmediate()
      }
      const drained = new Promise<void>((resolve) => app.server.once('close', () => resolve()))
      // Only stops accepting: close() of node:http would also reset idle connections whose next request is on its way.
      NetServer.prototype.close.call(app.server)
      await setTimeout(lingerMs)
      // On a busy process, requests have arrived that no turn of the event loop has read yet.
      for (let turn = 0; turn < 2; turn++) await setImmediate()
      app.server.closeIdleConnections()
      // Node counts a connection without a single byte as busy. Browsers open such connections in advance.
      for (const socket of connections) if (socket.bytesRead === 0) socket.destroy()
      await drained
    }
    await app.close()
  }
}

/** A request whose headers are not complete after this time, or whose body sends nothing for this time, is closed. */
const stallMs = 10_000
/** How long a connection may be silent while its request is served. */
const silentMs = 60_000

/**
 * A body that goes on arriving has two minutes: the longest that any row takes, 512 KiB, at 35 kbit/s. Node looks for requests
 * that are late twice a minute, unless it is told otherwise.
 */
export const timeouts = {
  connectionTimeout: silentMs,
  requestTimeout: 120_000,
  keepAliveTimeout: 72_000,
  http: { headersTimeout: stallMs, connectionsCheckingInterval: 1_000 },
} satisfies FastifyHttpOptions<RawServerDefault>

/** Whether the headers announce a body. Without one, nobody reads the request, and its end comes after its answer. */
const hasBody = ({ headers }: FastifyRequest): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

/** Closes the connection of a request whose body stalls. */
export const addStallTimeout = (app: FastifyInstance): void => {
  app.addHook('preParsing', async (request) => {
    const { raw } = request
    const { socket } = raw
    // A request from inside the process has no connection.
    if (!hasBody(request) || !('setTimeout' in socket)) return
    // Any byte that arrives begins the time anew; when it is over, Node destroys the socket.
    socket.setTimeout(stallMs)
    raw.once('end', () => socket.setTimeout(silentMs))
  })
}

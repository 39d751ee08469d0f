import type { FastifyHttpOptions, FastifyInstance, FastifyRequest, RawServerDefault } from 'fastify'

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

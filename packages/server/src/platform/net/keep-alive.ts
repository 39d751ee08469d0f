import type { Agent as HttpAgent, RequestOptions } from 'node:http'
import https from 'node:https'
import type { Duplex } from 'node:stream'
import { http } from './node-http.ts'

/**
 * Idle connections to one peer: as many as a worker uses for one agent. With 16, deliveries that ended together closed their
 * connections, and the next deliveries opened new ones. `idleMax` bounds the idle connections to all peers, because each is
 * a file descriptor.
 */
const idlePerPeerMax = 96
const idleMax = 256
/** Many servers close an idle connection after 5 s. A request that meets the closing has to be sent again. */
const idleMs = 4_000
/** Counted from the first response. A peer whose certificate was revoked or replaced is asked for it again within this time. */
const ageMsMax = 60_000

/** Request options of Node with the key of the connections that may carry the request. */
type KeyedOptions = RequestOptions & { readonly connectionKey?: string }

const idle = new Set<Duplex>()
const firstUsedAt = new WeakMap<Duplex, number>()

/** Counts a connection as idle where the limits permit it. */
const startIdle = (socket: Duplex): boolean => {
  const known = firstUsedAt.get(socket)
  if (idle.size >= idleMax || (known !== undefined && performance.now() - known >= ageMsMax)) return false
  if (known === undefined) {
    firstUsedAt.set(socket, performance.now())
    socket.once('close', () => idle.delete(socket))
  }
  idle.add(socket)
  return true
}

/**
 * Bounds the connections of an agent, and separates them by `connectionKey` in addition to address, port and TLS name.
 * Node calls `keepSocketAlive` when a response has ended, and `reuseSocket` before a further request. It closes an idle
 * connection on which the peer sends anything.
 */
const limitConnections = <Agent extends HttpAgent>(agent: Agent): Agent => {
  const nameOf = agent.getName.bind(agent)
  const keep: (socket: Duplex) => unknown = agent.keepSocketAlive.bind(agent)
  const reuse = agent.reuseSocket.bind(agent)
  agent.getName = (options: KeyedOptions = {}) => `${options.connectionKey ?? ''} ${nameOf(options)}`
  agent.keepSocketAlive = (socket) => keep(socket) === true && startIdle(socket)
  agent.reuseSocket = (socket, request) => {
    idle.delete(socket)
    reuse(socket, request)
  }
  return agent
}

const options = { keepAlive: true, maxFreeSockets: idlePerPeerMax, timeout: idleMs }
/** Connections to receivers that users named, kept open between requests with the same key. */
export const keepAliveAgents = {
  http: limitConnections(new http.Agent(options)),
  https: limitConnections(new https.Agent(options)),
  idleCount: (): number => idle.size,
}

import { lookup } from 'node:dns/promises'
import type { Agent, IncomingHttpHeaders, IncomingMessage } from 'node:http'
import https from 'node:https'
import { BlockList, isIP } from 'node:net'
import { keepAliveAgents } from './keep-alive.ts'
import { http } from './node-http.ts'

const nonPublicRanges = new BlockList()
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.31.196.0', 24],
  ['192.52.193.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['192.175.48.0', 24],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const)
  nonPublicRanges.addSubnet(network, prefix, 'ipv4')
for (const [network, prefix] of [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const)
  nonPublicRanges.addSubnet(network, prefix, 'ipv6')
/** Everything outside 2000::/3 is special: mapped, NAT64, unique local, link-local, multicast. */
const globalUnicast = new BlockList()
globalUnicast.addSubnet('2000::', 3, 'ipv6')

/** Whether an address is on the public internet. */
export const isPublicAddress = (address: string): boolean => {
  const version = isIP(address)
  if (version === 4) return !nonPublicRanges.check(address, 'ipv4')
  return version === 6 && globalUnicast.check(address, 'ipv6') && !nonPublicRanges.check(address, 'ipv6')
}

export class OutboundRefused extends Error {}

export type OutboundRequest = {
  readonly url: string
  readonly method: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly timeoutMs: number
  readonly responseBytesMax: number
  /** `user`: a URL that a user gave, only public addresses. `operator`: from our own settings, any address. */
  readonly trust: 'user' | 'operator'
  /** Set where BASE_URL is loopback: then receivers on loopback are wanted. */
  readonly allowLoopback?: boolean
  /**
   * Reuses a connection that an earlier request left open. The peer may close it at that moment, and then the request is
   * sent again: only for requests that may arrive twice.
   */
  readonly idempotent?: boolean
  /**
   * For `trust: 'user'`: whose connections an idempotent request may reuse, such as an agent. A receiver that answers
   * twice on a connection then confuses its own owner only. Without it every request gets a new connection.
   */
  readonly connectionOwner?: string
  /** Runs with the checked address before the connection; an error ends the request. */
  readonly beforeConnect?: (address: string) => Promise<void>
}
export type OutboundResponse = {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** False where the response was cut, at the size limit, by the timeout or by the peer. */
  readonly complete: boolean
  readonly bytes: Buffer
  /** The bytes as text. */
  readonly body: string
}

const isLoopback = (address: string) => address === '::1' || address.startsWith('127.')

/** The host without the brackets that IPv6 has in an address. */
const hostOf = (url: URL) => url.hostname.replace(/^\[|\]$/g, '')

/** Every address of a host name. */
export type Lookup = (host: string) => Promise<readonly { readonly address: string }[]>
/** Every name below localhost is this machine (RFC 6761); not every resolver knows it. */
const systemLookup: Lookup = (host) =>
  lookup(host.endsWith('.localhost') ? 'localhost' : host, { all: true, verbatim: true })

/**
 * The guard against SSRF: resolves a host once and checks every answer, literals included. URL parsing has already
 * normalised odd forms.
 */
const resolveAllowedAddress = async (find: Lookup, url: URL, request: OutboundRequest): Promise<string> => {
  const host = hostOf(url)
  const answers = isIP(host) ? [{ address: host }] : await find(host)
  const first = answers[0]
  if (!first) throw new OutboundRefused(`host ${host} has no address`)
  if (request.trust === 'operator') return first.address
  for (const { address } of answers) {
    if (request.allowLoopback && isLoopback(address)) continue
    if (!isPublicAddress(address))
      throw new OutboundRefused(`host ${host} resolves to ${address}, which is not a public address`)
  }
  return first.address
}

/** Idle connections are few and time out; connections in use are bounded by their requests. */
const keepAliveOptions = { keepAlive: true, maxFreeSockets: 16, timeout: 15_000 }
const httpKeepAliveAgent = new http.Agent(keepAliveOptions)
const httpsKeepAliveAgent = new https.Agent(keepAliveOptions)
const agentFor = (url: URL, request: OutboundRequest) => {
  if (request.idempotent !== true) return false
  if (request.trust === 'operator')
    return url.protocol === 'https:' ? httpsKeepAliveAgent : httpKeepAliveAgent
  if (request.connectionOwner === undefined) return false
  return url.protocol === 'https:' ? keepAliveAgents.https : keepAliveAgents.http
}
const isConnectionClosed = (error: Error) =>
  'code' in error && (error.code === 'ECONNRESET' || error.code === 'EPIPE')

type Connection = { readonly url: URL; readonly address: string; readonly signal: AbortSignal }

/** Resolves within the timeout: the system's resolver takes no signal, and a dead name server must not outlast it. */
const resolveInTime = async (
  find: Lookup,
  url: URL,
  request: OutboundRequest,
  signal: AbortSignal,
): Promise<string> => {
  const timedOut = Promise.withResolvers<never>()
  const fail = () => timedOut.reject(signal.reason)
  signal.addEventListener('abort', fail, { once: true })
  const address = await Promise.race([resolveAllowedAddress(find, url, request), timedOut.promise])
  signal.removeEventListener('abort', fail)
  return address
}

/**
 * A keep-alive connection is reused only for the same owner, host name, port, TLS name, and address as it was checked just
 * now.
 */
const requestOptionsOf = ({ url, address, signal }: Connection, request: OutboundRequest) => ({
  connectionKey: `${request.connectionOwner ?? ''} ${url.host}`,
  host: address,
  servername: isIP(hostOf(url)) ? undefined : url.hostname,
  port: url.port || (url.protocol === 'https:' ? 443 : 80),
  path: `${url.pathname}${url.search}`,
  method: request.method,
  headers: {
    host: url.host,
    ...request.headers,
    ...(request.body === undefined ? {} : { 'content-length': Buffer.byteLength(request.body) }),
  },
  signal,
})

const isPeerAllowed = (peer: string, request: OutboundRequest): boolean =>
  request.trust === 'operator' ||
  isPublicAddress(peer) ||
  (request.allowLoopback === true && isLoopback(peer.replace('::ffff:', '')))

/** A response that is cut at the size limit still counts: its status is known. */
const readResponse = (
  response: IncomingMessage,
  bytesMax: number,
  resolve: (response: OutboundResponse) => void,
): void => {
  const chunks: Buffer[] = []
  let size = 0
  response.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size > bytesMax) response.destroy()
    else chunks.push(chunk)
  })
  response.on('close', () => {
    const bytes = Buffer.concat(chunks)
    resolve({
      status: response.statusCode ?? 0,
      headers: response.headers,
      complete: response.complete && size <= bytesMax,
      bytes,
      get body() {
        return bytes.toString('utf8')
      },
    })
  })
  response.on('error', () => undefined)
}

const sendOnce = (
  connection: Connection,
  request: OutboundRequest,
  agent: Agent | false,
): Promise<OutboundResponse> =>
  new Promise((resolve, reject) => {
    let responseStarted = false
    const client = connection.url.protocol === 'https:' ? https : http
    const outgoing = client.request({ ...requestOptionsOf(connection, request), agent }, (response) => {
      responseStarted = true
      const peer = response.socket.remoteAddress ?? ''
      if (isPeerAllowed(peer, request)) readResponse(response, request.responseBytesMax, resolve)
      else
        outgoing.destroy(
          new OutboundRefused(
            `host ${hostOf(connection.url)} responded from ${peer}, which is not a public address`,
          ),
        )
    })
    outgoing.on('error', (error) => {
      // The peer closed the idle connection, so it did not read the request: send it again on a new connection.
      if (outgoing.reusedSocket && !responseStarted && isConnectionClosed(error))
        resolve(sendOnce(connection, request, false))
      else reject(error)
    })
    outgoing.end(request.body)
  })

/** Makes a sender of single requests: to the checked address only, no redirects, bounded in time and size. */
export const makeSend =
  (find: Lookup) =>
  async (request: OutboundRequest): Promise<OutboundResponse> => {
    const url = new URL(request.url)
    if (url.protocol !== 'https:' && url.protocol !== 'http:')
      throw new OutboundRefused(`protocol ${url.protocol} for host ${hostOf(url)} is not http or https`)
    if (request.trust === 'user' && (url.username || url.password))
      throw new OutboundRefused(`URL for host ${hostOf(url)} contains a user name or password`)
    // Not AbortSignal.timeout: its timer stays for the whole time, and then makes an error that nobody sees.
    const timeout = new AbortController()
    const timer = setTimeout(
      () => timeout.abort(new DOMException(`no response within ${request.timeoutMs} ms`, 'TimeoutError')),
      request.timeoutMs,
    )
    const { signal } = timeout
    try {
      const address = await resolveInTime(find, url, request, signal)
      await request.beforeConnect?.(address)
      return await sendOnce({ url, address, signal }, request, agentFor(url, request))
    } finally {
      clearTimeout(timer)
    }
  }

/** Sends with the system's resolver. */
export const send = makeSend(systemLookup)

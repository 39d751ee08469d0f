import { lookup } from 'node:dns/promises'
import http from 'node:http'
import https from 'node:https'
import { BlockList, isIP } from 'node:net'

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
  /** `user`: an address that a user gave, guarded. `operator`: from our own settings, exempt. */
  readonly trust: 'user' | 'operator'
  /** Where base_url is loopback, loopback receivers are the point. */
  readonly allowLoopback?: boolean
  /**
   * Uses a connection again that an earlier request left open. The other side may close it at that very moment, and then
   * the request is sent once more: only for what may arrive twice.
   */
  readonly idempotent?: boolean
}
export type OutboundResponse = {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  readonly body: string
}

const isLoopback = (address: string) => address === '::1' || address.startsWith('127.')

/** The host without the brackets that IPv6 has in an address. */
const hostOf = (url: URL) => url.hostname.replace(/^\[|\]$/g, '')

/** Every address of a host name. */
export type Lookup = (host: string) => Promise<readonly { readonly address: string }[]>
const systemLookup: Lookup = (host) => lookup(host, { all: true, verbatim: true })

/** Resolves once and checks every answer, literals included: URL parsing has already normalised odd forms. */
const resolveAllowedAddress = async (find: Lookup, url: URL, request: OutboundRequest): Promise<string> => {
  const host = hostOf(url)
  const answers = isIP(host) ? [{ address: host }] : await find(host)
  const first = answers[0]
  if (!first) throw new OutboundRefused(`${host} has no address`)
  if (request.trust === 'operator') return first.address
  for (const { address } of answers) {
    if (request.allowLoopback && isLoopback(address)) continue
    if (!isPublicAddress(address)) throw new OutboundRefused(`${host} leads to an address that is not public`)
  }
  return first.address
}

/** Idle connections are few and go after a while; those that are in use are bounded by their requests. */
const keepAliveOptions = { keepAlive: true, maxFreeSockets: 16, timeout: 15_000 }
const httpKeepAliveAgent = new http.Agent(keepAliveOptions)
const httpsKeepAliveAgent = new https.Agent(keepAliveOptions)
const agentFor = (url: URL, request: OutboundRequest) => {
  // What users point at is reached by a connection of its own, whose peer is checked.
  if (request.idempotent !== true || request.trust !== 'operator') return false
  return url.protocol === 'https:' ? httpsKeepAliveAgent : httpKeepAliveAgent
}
const isConnectionClosed = (error: Error) =>
  'code' in error && (error.code === 'ECONNRESET' || error.code === 'EPIPE')

/** A sender of single requests: to the checked address only, no redirects, bounded in time and size. */
export const makeSend =
  (find: Lookup) =>
  async (request: OutboundRequest): Promise<OutboundResponse> => {
    const url = new URL(request.url)
    if (url.protocol !== 'https:' && url.protocol !== 'http:')
      throw new OutboundRefused('only http and https')
    if (request.trust === 'user' && (url.username || url.password))
      throw new OutboundRefused('credentials in the address')
    const signal = AbortSignal.timeout(request.timeoutMs)
    const timedOut = Promise.withResolvers<never>()
    const fail = () => timedOut.reject(signal.reason)
    signal.addEventListener('abort', fail, { once: true })
    // The system's resolver takes no signal, and a dead name server must not outlast the timeout.
    const address = await Promise.race([resolveAllowedAddress(find, url, request), timedOut.promise])
    signal.removeEventListener('abort', fail)
    const client = url.protocol === 'https:' ? https : http
    const sendOnce = (
      agent: http.Agent | false,
      resolve: (response: OutboundResponse) => void,
      reject: (reason: unknown) => void,
    ) => {
      let responseStarted = false
      const outgoing = client.request(
        {
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
          agent,
        },
        (response) => {
          responseStarted = true
          const peer = response.socket.remoteAddress ?? ''
          if (
            request.trust === 'user' &&
            !isPublicAddress(peer) &&
            !(request.allowLoopback && isLoopback(peer.replace('::ffff:', '')))
          ) {
            outgoing.destroy(new OutboundRefused('the peer is not public'))
            return
          }
          const chunks: Buffer[] = []
          let size = 0
          response.on('data', (chunk: Buffer) => {
            size += chunk.length
            if (size > request.responseBytesMax) response.destroy()
            else chunks.push(chunk)
          })
          // A response that is cut at the limit is still an answer: its status stands.
          response.on('close', () =>
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              body: Buffer.concat(chunks).toString('utf8'),
            }),
          )
          response.on('error', () => undefined)
        },
      )
      outgoing.on('error', (error) => {
        // Closed while it was idle, so nobody read the request: once more, on a connection of its own.
        if (outgoing.reusedSocket && !responseStarted && isConnectionClosed(error))
          sendOnce(false, resolve, reject)
        else reject(error)
      })
      outgoing.end(request.body)
    }
    return new Promise((resolve, reject) => sendOnce(agentFor(url, request), resolve, reject))
  }

/** Sends by the machine's own resolver. */
export const send = makeSend(systemLookup)

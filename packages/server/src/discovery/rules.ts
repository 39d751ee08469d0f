import { SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/server'
import { isLoopbackHost } from '../platform/net/loopback.ts'

/** The version in which every request names its own version and there is no handshake. */
export const statelessVersion = '2026-07-28'
/** The versions of the SDK, newest first. */
export const supportedVersions: readonly string[] = [
  statelessVersion,
  ...SUPPORTED_PROTOCOL_VERSIONS.filter((version) => version !== statelessVersion),
]

const hostnameOf = (url: string): string | undefined =>
  URL.canParse(url) ? new URL(url).hostname.toLowerCase() : undefined

type HostHeaders = { readonly host: string | undefined; readonly origin: string | undefined }

/**
 * The guard against DNS rebinding: Host and Origin reveal a page of another site whose name points here. Ports do not
 * count, and every loopback name is the same host. A proxy on this machine may send a loopback Host; a page of another
 * site cannot. A client without Origin is not a page.
 */
export const isOwnHost = (baseUrl: string, { host, origin }: HostHeaders): boolean => {
  const own = hostnameOf(baseUrl)
  const isOwn = (name: string | undefined) =>
    name !== undefined && (name === own || (own !== undefined && isLoopbackHost(own) && isLoopbackHost(name)))
  const hostname = host === undefined ? undefined : hostnameOf(`http://${host}`)
  if (hostname !== undefined && !isOwn(hostname) && !isLoopbackHost(hostname)) return false
  if (host !== undefined && hostname === undefined) return false
  return origin === undefined || isOwn(hostnameOf(origin))
}

/** True where the caller accepts an event stream and no JSON. */
export const wantsEventStream = (accept: string | undefined): boolean => {
  const types = (accept ?? '').split(',').map((part) => part.split(';')[0]?.trim().toLowerCase() ?? '')
  const takesJson = types.some((type) => ['application/json', 'application/*', '*/*'].includes(type))
  return types.includes('text/event-stream') && !takesJson
}

import { isLoopbackHost } from '../platform/net/loopback.ts'

/** Versions with the `initialize` handshake, oldest first. */
const handshakeVersions = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'] as const
const newestHandshake = '2025-11-25'
/** Versions where every request names its own version and there is no handshake. */
export const statelessVersions: readonly string[] = ['2026-07-28']
export const supportedVersions: readonly string[] = [...statelessVersions, ...handshakeVersions.toReversed()]

/** The version that `initialize` returns: the requested one where it has a handshake, else the newest. */
export const negotiate = (requested: unknown): string =>
  handshakeVersions.find((version) => version === requested) ?? newestHandshake

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

/** Decodes a mirrored header: text that is not ASCII is base64 between fixed marks. */
const decodeMirrored = (value: string): string => {
  const framed = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/.exec(value)?.[1]
  return framed === undefined ? value : Buffer.from(framed, 'base64').toString('utf8')
}

/** The fields of a message that appear in both headers and body. */
export type MirroredFields = {
  readonly bodyVersion: string | undefined
  readonly headerVersion: string | undefined
  readonly method: string
  readonly methodHeader: string | undefined
  readonly name: string | undefined
  readonly nameHeader: string | undefined
}

/**
 * The header that differs from the body, or undefined. A client that names its version in the body follows 2026-07-28
 * and must mirror; for all others a header that is present must agree, and a missing one is accepted.
 */
export const findHeaderMismatch = (fields: MirroredFields): string | undefined => {
  const strict = fields.bodyVersion !== undefined && statelessVersions.includes(fields.bodyVersion)
  const differs = (header: string | undefined, body: string | undefined) =>
    header === undefined
      ? strict && body !== undefined
      : body !== undefined && decodeMirrored(header) !== body
  if (differs(fields.headerVersion, fields.bodyVersion)) return 'MCP-Protocol-Version'
  if (differs(fields.methodHeader, fields.method)) return 'Mcp-Method'
  return differs(fields.nameHeader, fields.name) ? 'Mcp-Name' : undefined
}

import { isIP, isIPv4, isIPv6 } from 'node:net'

/**
 * The address of a client. Nothing behind the edge reads an address from other text, so each client has one narrow and one
 * wide network, however its proxy writes the address.
 */
export type ClientAddress = {
  /** The address without port and zone; an IPv4-mapped address as IPv4. */
  readonly text: string
  /** One subscriber: an IPv4 address, or the /64 of an IPv6 address. */
  readonly narrow: string
  /** What one customer of a provider can hold: the /24 of an IPv4 address, or the /48 of an IPv6 address. */
  readonly wide: string
}

/** Every client whose address cannot be read. They are one client: a text that is no address must give no network of its own. */
export const unknownAddress: ClientAddress = { text: 'unknown', narrow: 'unknown', wide: 'unknown' }

/** Whether the text is an IPv4 or IPv6 address. */
export const isAddress = (text: string): boolean => isIP(text) !== 0

/** The eight groups of an IPv6 address. */
const groupsOf = (address: string): readonly string[] => {
  // URL parsing normalises every form of an address.
  const normalised = new URL(`http://[${address.split('%')[0]}]`).hostname.slice(1, -1)
  const [head = '', tail = ''] = normalised.split('::')
  const left = head.split(':').filter((part) => part !== '')
  const right = tail.split(':').filter((part) => part !== '')
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => '0')
  return [...left, ...zeros, ...right]
}

type Embedding = { readonly prefix: string; readonly at: number; readonly inverted?: true }
/** How a socket for both families writes an IPv4 address, RFC 4291. */
const mapped: Embedding = { prefix: '0:0:0:0:0:ffff:', at: 6 }
/**
 * Prefixes of IPv6 addresses that contain the IPv4 address of the client, and where. By 6to4 each IPv4 address has a /48 of
 * its own, and by Teredo a client chooses the first 64 bits (the server) at will: one client would be many networks.
 */
const embeddings: readonly Embedding[] = [
  mapped,
  { prefix: '64:ff9b:0:0:0:0:', at: 6 }, // NAT64, RFC 6052
  { prefix: '2002:', at: 1 }, // 6to4, RFC 3056
  { prefix: '2001:0:', at: 6, inverted: true }, // Teredo, RFC 4380
]

/** The four numbers of the IPv4 address that the groups contain. */
const embeddedIn = (groups: readonly string[], { at, inverted }: Embedding): readonly string[] =>
  groups.slice(at, at + 2).flatMap((group) => {
    const half = Number.parseInt(group, 16) ^ (inverted ? 0xffff : 0)
    return [String(half >> 8), String(half & 255)]
  })

/** The eight groups of an IPv6 address, or the four numbers of an IPv4 address, also of one that an IPv6 address contains. */
export const addressPartsOf = (address: string): readonly string[] => {
  if (!isIPv6(address)) return address.split('.')
  const groups = groupsOf(address)
  const text = groups.join(':')
  const embedding = embeddings.find(({ prefix }) => text.startsWith(prefix))
  return embedding ? embeddedIn(groups, embedding) : groups
}

/** As `addressPartsOf`, but an address of a tunnel stays an IPv6 address: nobody gets the rights of an IPv4 address by it. */
export const peerPartsOf = (address: string): readonly string[] => {
  if (!isIPv6(address)) return address.split('.')
  const groups = groupsOf(address)
  return groups.join(':').startsWith(mapped.prefix) ? embeddedIn(groups, mapped) : groups
}

/** The bits of an address, and how many there are: 32 or 128. */
export type AddressBits = { readonly bits: bigint; readonly width: number }
export const addressBitsOf = (parts: readonly string[]): AddressBits =>
  parts.length === 8
    ? { bits: BigInt(`0x${parts.map((group) => group.padStart(4, '0')).join('')}`), width: 128 }
    : { bits: BigInt(parts.reduce((sum, number) => sum * 256 + Number(number), 0)), width: 32 }

const canonicalTextOf = (address: string): string => {
  const parts = peerPartsOf(address)
  return parts.length === 8 ? new URL(`http://[${parts.join(':')}]`).hostname.slice(1, -1) : parts.join('.')
}

/** `1.2.3.4:5678`, `[2001:db8::1]:80`, `[2001:db8::1]` and `fe80::1%eth0`, as proxies write addresses. */
const writtenPattern =
  /^(?:(?<v4>[0-9.]{7,15})(?::\d{1,5})?|\[(?<bracketed>[0-9A-Fa-f:.]{2,45})(?:%[^\]]*)?\](?::\d{1,5})?|(?<v6>[0-9A-Fa-f:.]{2,45})(?:%.*)?)$/

/** Reads an address as a socket or a proxy writes it. What is no address gives `unknownAddress`. */
export const readClientAddress = (written: string | undefined): ClientAddress => {
  const { v4, bracketed, v6 } = writtenPattern.exec(written?.trim() ?? '')?.groups ?? {}
  const address = v4 ?? bracketed ?? v6 ?? ''
  if (v4 === undefined ? !isIPv6(address) : !isIPv4(address)) return unknownAddress
  const parts = addressPartsOf(address)
  const text = canonicalTextOf(address)
  return parts.length === 8
    ? { text, narrow: `${parts.slice(0, 4).join(':')}::/64`, wide: `${parts.slice(0, 3).join(':')}::/48` }
    : { text, narrow: parts.join('.'), wide: `${parts.slice(0, 3).join('.')}.0/24` }
}

import type { Ctx } from '../ops/context.ts'
import { isInRange, readRange } from '../net/address-range.ts'
import {
  addressBitsOf,
  peerPartsOf,
  readClientAddress,
  unknownAddress,
  type ClientAddress,
} from './client-address.ts'

/** Proxies that a request may have passed; more entries are not read. */
const hopsMax = 32
const warnEveryMs = 60_000
const warnedCharsMax = 60

/** The entries of X-Forwarded-For from the last proxy to the first. Empty list elements do not count, RFC 9110, 5.6.1. */
const entriesOf = (forwardedFor: string | readonly string[] | undefined): readonly string[] =>
  [forwardedFor ?? []]
    .flat()
    .join(',')
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
    .toReversed()

/** Shortened, and without characters that could change the meaning of a log line. */
const shownInLog = (text: string): string =>
  text.slice(0, warnedCharsMax).replaceAll(/[^\x20-\x7e]/g, '?') + (text.length > warnedCharsMax ? '…' : '')

/** What a connection says of its client. */
type Arrival = {
  /** The address of the other end of the connection. */
  readonly peer: string | undefined
  readonly forwardedFor: string | readonly string[] | undefined
}

/**
 * Reads the address of the client: the peer of the connection, or, where that is a trusted proxy, the last entry of
 * X-Forwarded-For that no trusted proxy has. What stands before that entry was sent by the client itself.
 */
export const makeClientReader = ({ config, clock, log }: Pick<Ctx, 'config' | 'clock' | 'log'>) => {
  const ranges = config.TRUSTED_PROXIES.map(readRange)
  let warnedAt = -Infinity

  const isTrusted = (address: ClientAddress): boolean => {
    if (ranges.length === 0 || address === unknownAddress) return false
    const bits = addressBitsOf(peerPartsOf(address.text))
    return ranges.some((range) => isInRange(bits, range))
  }

  const warn = (proxy: string, sent: string): void => {
    const now = clock.now().getTime()
    // A clock that was set back must not silence the warning.
    if (now >= warnedAt && now - warnedAt < warnEveryMs) return
    warnedAt = now
    log.warn(
      { proxy, sent: shownInLog(sent) },
      'a trusted proxy sent no address in X-Forwarded-For; all such clients share the limits of one',
    )
  }

  return ({ peer, forwardedFor }: Arrival): ClientAddress => {
    const proxy = readClientAddress(peer)
    if (!isTrusted(proxy)) return proxy
    const entries = entriesOf(forwardedFor)
    let client = proxy
    for (const entry of entries.slice(0, hopsMax)) {
      client = readClientAddress(entry)
      if (client === unknownAddress) warn(proxy.text, entry)
      if (!isTrusted(client)) return client
    }
    if (entries.length <= hopsMax) return client
    warn(proxy.text, `${entries.length} entries`)
    return unknownAddress
  }
}

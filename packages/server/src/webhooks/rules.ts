import { createHmac } from 'node:crypto'
import type { EventEnvelope } from '@pohf/protocol'
import { isLoopbackHost } from '../platform/config.ts'
import { isPublicAddress } from '../platform/outbound.ts'

/** Enabled endpoints that one agent may have. */
export const endpointsMax = 50
const bodyBytesMax = 20_480

/** Names that lead nowhere on the public internet, whatever a resolver says. */
const localSuffixes = ['.local', '.internal', '.localdomain', '.home.arpa']

const isLocalName = (host: string): boolean =>
  !host.includes('.') || isLoopbackHost(host) || localSuffixes.some((suffix) => host.endsWith(suffix))

/** The address that a host names literally: URL parsing has made one form of 0x7f.1, 2130706433 and the like. */
const literalOf = (hostname: string): string | undefined => {
  if (hostname.startsWith('[')) return hostname.slice(1, -1)
  return /^\d{1,3}(\.\d{1,3}){3}$/.test(hostname) ? hostname : undefined
}

/**
 * Why a URL cannot be a receiver, by its written form alone; undefined where it can. What a name leads to is
 * judged at every delivery, because the answer may change after registration.
 */
export const urlFault = (text: string, loopback: boolean): string | undefined => {
  const url = new URL(text)
  const host = url.hostname.replace(/\.$/, '')
  if (url.protocol !== 'https:' && !(loopback && url.protocol === 'http:')) return 'must begin with https://'
  if (url.username !== '' || url.password !== '') return 'must not hold a user name or password'
  if (url.port === '0') return 'must name a port from 1 to 65535'
  const literal = literalOf(host)
  if (loopback && isLoopbackHost(host)) return undefined
  if (literal !== undefined && !isPublicAddress(literal)) return 'must not name an address that is not public'
  if (literal === undefined && !loopback && isLocalName(host)) return 'must name a public host'
  return undefined
}

const secretPrefix = 'whsec_'
export const secretOf = (bytes: Buffer): string => `${secretPrefix}${bytes.toString('base64')}`

/** The Standard Webhooks signature. The key is what the secret decodes to, not its text. */
const signatureOf = (
  secret: string,
  message: { readonly id: string; readonly seconds: number; readonly body: string },
): string => {
  const key = Buffer.from(secret.slice(secretPrefix.length), 'base64')
  const content = `${message.id}.${message.seconds}.${message.body}`
  return `v1,${createHmac('sha256', key).update(content).digest('base64')}`
}

/** Every header of a delivery; both names carry the same signature. */
export const headersOf = (
  secret: string,
  message: { readonly id: string; readonly at: Date; readonly body: string },
): Record<string, string> => {
  const seconds = Math.floor(message.at.getTime() / 1_000)
  const signature = signatureOf(secret, { id: message.id, seconds, body: message.body })
  return {
    'content-type': 'application/json',
    'user-agent': 'PoHF-Webhooks/1.0',
    'webhook-id': message.id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': signature,
    'x-service-signature': signature,
  }
}

/** What is sent and signed. An event too large for a push still announces itself, without its data. */
export const bodyOf = (envelope: EventEnvelope): string => {
  const body = JSON.stringify(envelope)
  return Buffer.byteLength(body) <= bodyBytesMax ? body : JSON.stringify({ ...envelope, data: {} })
}

/** What came of an attempt: an answer, or why there was none. */
export type Reply =
  { readonly status: number; readonly retryAfter: string | undefined } | { readonly fault: string }
export type Outcome = 'delivered' | 'failed' | 'gone'

/** Any 2xx is success, 410 asks for no more, all else is a failure: redirects too, which are never followed. */
export const outcomeOf = (reply: Reply): Outcome => {
  if ('fault' in reply) return 'failed'
  if (reply.status >= 200 && reply.status < 300) return 'delivered'
  return reply.status === 410 ? 'gone' : 'failed'
}

const secondMs = 1_000
const minuteMs = 60 * secondMs
const hourMs = 60 * minuteMs
/** The wait before each attempt; in all 75.6 hours. */
const waitsMs = [
  0,
  5 * secondMs,
  5 * minuteMs,
  30 * minuteMs,
  2 * hourMs,
  5 * hourMs,
  10 * hourMs,
  14 * hourMs,
  20 * hourMs,
  24 * hourMs,
] as const
const retryAfterMsMax = 24 * hourMs

const retryAfterMs = (header: string, at: Date): number => {
  const asked = /^\d{1,9}$/.test(header) ? Number(header) * secondMs : Date.parse(header) - at.getTime()
  return Number.isNaN(asked) ? 0 : Math.min(Math.max(asked, 0), retryAfterMsMax)
}

/**
 * How long to wait after the given attempt failed; undefined after the last. Spread by a tenth either way, so that
 * a receiver that comes back is not met by everything at once, and never sooner than the receiver asked for.
 */
export const waitMsAfter = (
  attempt: number,
  reply: Reply,
  spread: { readonly at: Date; readonly fraction: number },
): number | undefined => {
  const planned = waitsMs[attempt]
  if (planned === undefined) return undefined
  const asked =
    'status' in reply && reply.retryAfter !== undefined ? retryAfterMs(reply.retryAfter, spread.at) : 0
  return Math.max(Math.round(planned * (0.9 + 0.2 * spread.fraction)), asked)
}

const failingDaysMax = 5
/** Whether an endpoint has failed without a break for so long that it is switched off. */
export const isFailingTooLong = (failingSince: Date, at: Date): boolean =>
  at.getTime() - failingSince.getTime() >= failingDaysMax * 24 * hourMs

import { createHmac, createSecretKey, hash, type KeyObject } from 'node:crypto'
import type { EventEnvelope } from '@pohf/protocol'
import { readClientAddress } from '../platform/http/client-address.ts'
import { isLoopbackHost } from '../platform/net/loopback.ts'
import { isPublicAddress } from '../platform/net/outbound.ts'
import type { EndpointReply } from './delivery/rules.ts'

/** Enabled endpoints that one agent may have. */
export const endpointsMax = 50
/** All endpoints that it may have, disabled ones included, until it deletes some. */
export const storedEndpointsMax = 200
const bodyBytesMax = 20_480

/** Suffixes of names that are never public, whatever a resolver says. */
const localSuffixes = ['.local', '.internal', '.localdomain', '.home.arpa']

const isLocalName = (host: string): boolean =>
  !host.includes('.') || isLoopbackHost(host) || localSuffixes.some((suffix) => host.endsWith(suffix))

/** The literal IP address of a host name; URL parsing has normalised 0x7f.1, 2130706433 and the like. */
const literalOf = (hostname: string): string | undefined => {
  if (hostname.startsWith('[')) return hostname.slice(1, -1)
  return /^\d{1,3}(\.\d{1,3}){3}$/.test(hostname) ? hostname : undefined
}

/**
 * Why a URL cannot be a receiver, by its text alone; undefined where it can. What a name resolves to is checked at every
 * delivery, because it may change after registration.
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

/**
 * One text for one receiver: without a fragment, which is never sent, an empty query or a final dot of the host name. The
 * URL parser normalises the rest, such as the case of the host and the default port.
 */
export const normaliseUrl = (text: string): string => {
  const url = new URL(text)
  url.hash = ''
  if (url.search === '') url.search = ''
  url.hostname = url.hostname.replace(/\.$/, '')
  return url.href
}

/** What limits a receiver that has not answered 2xx yet: one attempt at a time, and so many failures in ten minutes. */
export type HostLimit = { readonly host: string; readonly failuresMax: number }
const hostLengthMax = 300

/** The limit of a host, for all agents together. A developer's machine has another program at every port. */
export const hostLimitOf = (text: string): HostLimit => {
  const { host, hostname } = new URL(text)
  const name = isLoopbackHost(hostname) ? host : hostname
  return { host: `host ${name}`.slice(0, hostLengthMax), failuresMax: 30 }
}

/** A third of the failures of a host, so that no agent alone uses up those of the others. */
const agentFailuresMax = 10
export const agentLimitOf = (agentId: string, { host }: HostLimit): HostLimit => ({
  host: `agent ${agentId} ${host}`,
  failuresMax: agentFailuresMax,
})
/** The limit of one agent at one address: an agent can point any number of host names at an address. */
export const addressLimitOf = (agentId: string, address: string): HostLimit =>
  agentLimitOf(agentId, {
    host: `address ${readClientAddress(address).narrow}`,
    failuresMax: agentFailuresMax,
  })

const secretPrefix = 'whsec_'
export const formatSecret = (bytes: Buffer): string => `${secretPrefix}${bytes.toString('base64')}`

/** The key is the decoded secret, not its text. */
export const signingKeyOf = (secret: string): KeyObject =>
  createSecretKey(Buffer.from(secret.slice(secretPrefix.length), 'base64'))

/** The signature of a webhook, by Standard Webhooks. */
const signatureOf = (
  key: KeyObject,
  message: { readonly id: string; readonly seconds: number; readonly body: string },
): string => {
  const content = `${message.id}.${message.seconds}.${message.body}`
  return `v1,${createHmac('sha256', key).update(content).digest('base64')}`
}

/** The headers of a delivery; both signature headers hold the same signatures, one for each current key. */
export const signedHeadersOf = (
  keys: readonly KeyObject[],
  message: { readonly id: string; readonly at: Date; readonly body: string },
): Record<string, string> => {
  const seconds = Math.floor(message.at.getTime() / 1_000)
  const signature = keys
    .map((key) => signatureOf(key, { id: message.id, seconds, body: message.body }))
    .join(' ')
  return {
    'content-type': 'application/json',
    'user-agent': 'PoHF-Webhooks/1.0',
    'webhook-id': message.id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': signature,
    'x-service-signature': signature,
    // Not signed: a receiver whose verification fails can tell a changed body from a wrong secret.
    'content-digest': `sha-256=:${hash('sha256', message.body, 'base64')}:`,
  }
}

/** The body that is sent and signed. An event that is too large is sent without its data. */
export const bodyOf = (envelope: EventEnvelope): string => {
  const body = JSON.stringify(envelope)
  return Buffer.byteLength(body) <= bodyBytesMax ? body : JSON.stringify({ ...envelope, data: {} })
}

const secondMs = 1_000
const minuteMs = 60 * secondMs
const hourMs = 60 * minuteMs
/** The retry schedule: the delay before each attempt; 75.6 hours in all. */
const retryDelaysMs = [
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
  const requestedMs = /^\d{1,9}$/.test(header) ? Number(header) * secondMs : Date.parse(header) - at.getTime()
  return Number.isNaN(requestedMs) ? 0 : Math.min(Math.max(requestedMs, 0), retryAfterMsMax)
}

/**
 * The delay before the retry after this attempt; undefined after the last. With jitter of a tenth either way, so that a
 * receiver that recovers does not get everything at once, and never shorter than its Retry-After.
 */
export const retryDelayMsAfter = (
  attempt: number,
  reply: EndpointReply,
  jitter: { readonly at: Date; readonly fraction: number },
): number | undefined => {
  const planned = retryDelaysMs[attempt]
  if (planned === undefined) return undefined
  const requestedMs =
    'status' in reply && reply.retryAfter !== undefined ? retryAfterMs(reply.retryAfter, jitter.at) : 0
  return Math.max(Math.round(planned * (0.9 + 0.2 * jitter.fraction)), requestedMs)
}

const failuresTolerated = 2
const circuitOpenMsFirst = 5 * secondMs
const circuitOpenMsMax = 5 * minuteMs
/** How long the Retry-After of one response may pause all deliveries to the endpoint; its own delivery waits in full. */
const endpointPauseMsMax = hourMs

/**
 * The circuit breaker: how long nothing is sent after so many consecutive failures. From the third on 5 s, then doubled
 * each time up to 5 min; a longer Retry-After is respected.
 */
export const circuitOpenMsAfter = (failures: number, reply: EndpointReply, at: Date): number => {
  const opened =
    failures <= failuresTolerated
      ? 0
      : Math.min(circuitOpenMsFirst * 2 ** Math.min(failures - failuresTolerated - 1, 20), circuitOpenMsMax)
  const requestedMs =
    'status' in reply && reply.retryAfter !== undefined ? retryAfterMs(reply.retryAfter, at) : 0
  return Math.max(opened, Math.min(requestedMs, endpointPauseMsMax))
}

const dayMs = 24 * hourMs
const failingDaysMax = 5
/** Whether an endpoint has failed for so long without a success that it is disabled. */
export const isFailingTooLong = (failingSince: Date, at: Date): boolean =>
  at.getTime() - failingSince.getTime() >= failingDaysMax * dayMs

/** Hours of failure after which the owner is notified; the third notice is about the disabling. */
const noticeHours = [1, 24] as const

type FailureState = { readonly failingSince: Date; readonly lastFailureAt: Date; readonly notices: number }
/** How long after its first failure an endpoint is monitored. */
export const firstMonitorMs = noticeHours[0] * hourMs

/**
 * What is due for a failing endpoint: a notice, a probe, and the time of the next check. A probe is sent a day after the
 * last attempt, and one at the end of the five days, so that no endpoint is disabled by old failures.
 */
export const planMonitoring = (
  { failingSince, lastFailureAt, notices }: FailureState,
  at: Date,
): {
  readonly noticeHours: number | undefined
  readonly notices: number
  readonly probe: boolean
  readonly nextAt: Date
} => {
  const now = at.getTime()
  const start = failingSince.getTime()
  const passed = noticeHours.filter((hours) => now >= start + hours * hourMs).length
  const end = start + failingDaysMax * dayMs
  const probe = now >= Math.min(lastFailureAt.getTime() + dayMs, end)
  const nextProbe = probe
    ? // After the end, a probe that was not sent is queued again.
      Math.min(now + dayMs, end > now ? end : now + hourMs)
    : Math.min(lastFailureAt.getTime() + dayMs, end)
  const nextNotice = noticeHours[Math.max(passed, notices)]
  return {
    noticeHours: passed > notices ? noticeHours[passed - 1] : undefined,
    notices: Math.max(passed, notices),
    probe,
    nextAt: new Date(Math.min(nextProbe, nextNotice === undefined ? Infinity : start + nextNotice * hourMs)),
  }
}

export type Notice =
  { readonly kind: 'failing'; readonly hours: number } | { readonly kind: 'gone' | 'disabled' }

/** The mail to an endpoint's owner. It names the host only: the rest of the URL may hold a secret. */
export const noticeMailOf = (about: {
  readonly endpointId: string
  readonly host: string
  readonly since: Date
  readonly baseUrl: string
  readonly notice: Notice
}): { subject: string; text: string } => {
  const { endpointId, host, baseUrl, notice } = about
  const since = about.since.toISOString()
  const consoleLink = `See every attempt and why it failed: ${baseUrl}/console#/webhooks/${endpointId}`
  if (notice.kind === 'failing')
    return {
      subject: `Your webhook at ${host} has failed for ${notice.hours === 1 ? 'an hour' : 'a day'}`,
      text: [
        `The webhook endpoint ${endpointId} at ${host} has accepted no delivery since ${since}.`,
        '',
        `We keep trying. If it does not recover, it is disabled ${failingDaysMax} days after that time.`,
        'No event is lost: you can resend the missed events with one command.',
        '',
        consoleLink,
      ].join('\n'),
    }
  return {
    subject: `Your webhook at ${host} was disabled`,
    text: [
      notice.kind === 'gone'
        ? `The webhook endpoint ${endpointId} at ${host} answered 410 Gone, which asks us to stop.`
        : `The webhook endpoint ${endpointId} at ${host} has accepted no delivery since ${since}, for ${failingDaysMax} days.`,
      'It is disabled and receives no more events.',
      '',
      'When it works again, one command enables it and sends the events that it missed:',
      `npx pohf webhooks recover ${endpointId} --since ${since}`,
      '',
      consoleLink,
    ].join('\n'),
  }
}

const endpointEventTypes: ReadonlySet<string> = new Set(['endpoint.failing', 'endpoint.disabled'])

/** Whether an endpoint receives an event: what it subscribed to, except events about its own failure. */
export const isSubscribed = (
  endpoint: { readonly endpoint_id: string; readonly events: readonly string[] },
  { type, data }: Pick<EventEnvelope, 'type' | 'data'>,
): boolean =>
  (endpoint.events.includes('*') || endpoint.events.includes(type)) &&
  !(endpointEventTypes.has(type) && data['endpointId'] === endpoint.endpoint_id)

/** How far back a recovery reaches: as long as settled deliveries are kept, so that none is mistaken for a missing one. */
export const recoverDaysMax = 30
export const isTooOldToRecover = (since: Date, at: Date): boolean =>
  at.getTime() - since.getTime() > recoverDaysMax * dayMs

const faultExplanations: ReadonlyMap<string, string> = new Map([
  ['timeout', 'No answer within 15 seconds. Answer with 2xx first and do the work afterwards.'],
  ['ECONNREFUSED', 'Nothing listens at that address and port. Is the receiver running?'],
  ['ECONNRESET', 'The receiver hung up before it answered. Look at its log, or at the proxy in front of it.'],
  ['ENOTFOUND', 'The host name leads nowhere. Is it spelt right, and public?'],
  ['EAI_AGAIN', 'The host name could not be looked up for now. If it stays so, look at its name servers.'],
  ['EHOSTUNREACH', 'There is no route to that address. Is the receiver reachable from the internet?'],
  ['ENETUNREACH', 'There is no route to that network. Is the receiver reachable from the internet?'],
  ['ETIMEDOUT', 'The connection was not accepted in time. A firewall may drop it.'],
  ['CERT_HAS_EXPIRED', 'The certificate has expired. Renew it.'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'The certificate is self-signed. Use one of a public authority.'],
  [
    'SELF_SIGNED_CERT_IN_CHAIN',
    'The certificate chain contains a self-signed certificate. Use a certificate of a public authority.',
  ],
  [
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    'The certificate chain is incomplete. Send the intermediate certificates too.',
  ],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'The certificate is for another host name.'],
  ['address_refused', 'The host resolves to an address that is not public. Nothing was sent.'],
])

const statusExplanations: ReadonlyMap<number, string> = new Map([
  [400, 'The receiver answered 400. Check that it verifies the signature over the raw body, before parsing.'],
  [401, 'The receiver did not accept the signature. Check the secret with: npx pohf webhooks verify'],
  [403, 'The receiver, or a firewall in front of it, forbids the request.'],
  [404, 'The receiver has nothing at this path. Check the URL.'],
  [405, 'The path exists but does not accept POST.'],
  [410, 'The receiver answered 410 Gone, so the endpoint was disabled.'],
  [413, 'The receiver rejects the size of the body. Our bodies have at most 20 KB.'],
  [415, 'The receiver does not accept application/json.'],
  [429, 'The receiver asks for fewer requests. The next attempt waits as long as its Retry-After says.'],
])

/** Why an attempt failed, and what to do; null where it succeeded. */
export const explainAttempt = (reply: {
  readonly status: number | null
  readonly fault: string | null
}): string | null => {
  const { status, fault } = reply
  if (status === null)
    return (
      faultExplanations.get(fault ?? '') ??
      `The connection failed (${fault ?? 'unknown'}), so there was no answer.`
    )
  if (status >= 200 && status < 300) return null
  const known = statusExplanations.get(status)
  if (known !== undefined) return known
  if (status >= 300 && status < 400)
    return `The receiver redirects (${status}). Redirects are not followed: register the final URL.`
  return status >= 500
    ? `The receiver failed (${status}). Its own log says why.`
    : `The receiver refused the request (${status}).`
}

type Position = { readonly at: string; readonly eventId: string }
export const writeCursor = ({ at, eventId }: Position): string =>
  Buffer.from(JSON.stringify([at, eventId])).toString('base64url')

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
/** The position of a cursor; undefined where it is not valid. */
export const readCursor = (cursor: string): Position | undefined => {
  const value = parseJson(Buffer.from(cursor, 'base64url').toString('utf8'))
  if (!Array.isArray(value) || value.length !== 2) return undefined
  const [at, eventId] = value as [unknown, unknown]
  if (typeof at !== 'string' || !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/.test(at)) return undefined
  if (Number.isNaN(Date.parse(at)) || at < '1970') return undefined
  if (typeof eventId !== 'string' || !/^(~|[a-z0-9_]{1,64})$/.test(eventId)) return undefined
  return { at, eventId }
}

/** Where a reader without a cursor starts: just before `since`, or a day ago. */
export const initialPosition = (since: Date | undefined, at: Date): Position => ({
  at: new Date((since?.getTime() ?? at.getTime() - dayMs) - 1).toISOString().replace('Z', '999Z'),
  eventId: '~',
})

// What many forged credentials in one day need, found by behaviour: ask from a network until the server refuses, and go on in
// the next clock hour. The server runs in this process, on a real database, with a clock that is moved.
import type { Harness, TestResponse } from '../../../server/test/fixtures/harness.ts'
import { makeSessionKey } from '../../../server/test/fixtures/people/recorder.ts'
import type { openSecurityKey } from '../../../server/test/fixtures/people/security-key.ts'
import { passOpenedSessions } from '../../../server/test/fixtures/scored-session.ts'
import type { Outcome, Site } from './family.ts'
import { outcomeOf } from './mint.ts'

/** The settings of a server on which a day is simulated. Limits by address for a minute are another matter. */
export const daySettings = {
  TRUSTED_PROXIES: '127.0.0.1',
  ROOT_BUDGETS: 'on',
  ADDRESS_LIMITS: 'off',
  KEY_LIMIT_PER_MINUTE: '10000000',
} as const

/** A network that a forger rents: a /24, or a /48 of IPv6. */
export type Network = { readonly addressAt: (n: number) => string; readonly addresses: number }
/** In 198.18.0.0/15, which is reserved for measurements (RFC 2544). */
export const ipv4Network = (n: number): Network => ({
  addressAt: (host) => `198.${18 + ((n >> 8) & 1)}.${n & 255}.${1 + host}`,
  addresses: 254,
})
/** In 2001:db8::/32, which is reserved for documentation; an address stands for its /64. */
export const ipv6Network = (n: number): Network => ({
  addressAt: (host) => `2001:db8:${n.toString(16)}:${host.toString(16)}::1`,
  addresses: 65_536,
})

/** A key of an authenticator, which answers for sessions. */
export type AuthenticatorKey = Pick<ReturnType<typeof openSecurityKey>, 'attest'>

type Forgery = { readonly site: Site; readonly address: string; readonly key?: AuthenticatorKey | undefined }

const agentCall = (harness: Harness, site: Site, path: string, body: unknown): Promise<TestResponse> =>
  harness.call('POST', `/api/agents/${path}`, { key: site.apiKey, body })

/** A session that a page at this address opened and that counts as passed; or why it was not opened. */
export const openPassedSession = async (
  harness: Harness,
  { site, address }: Forgery,
): Promise<{ readonly sessionId: string } | { readonly refused: string }> => {
  const { jwk } = await makeSessionKey()
  const opened = await harness.call('POST', '/api/sessions', {
    body: { site: site.agentId, kind: 'view', key: jwk },
    headers: { 'x-forwarded-for': address },
  })
  if (opened.status !== 200) return { refused: String((opened.json as { error?: unknown }).error) }
  const { sessionId } = opened.json as { sessionId: string }
  await passOpenedSessions(harness, site.agentId, [sessionId])
  return { sessionId }
}

/** One view credential for a session from this address, with the word of an authenticator where there is a key. */
export const forge = async (harness: Harness, forgery: Forgery): Promise<Outcome> => {
  const { site, key } = forgery
  const session = await openPassedSession(harness, forgery)
  if ('refused' in session) return session
  const { sessionId } = session
  await key?.attest(site.apiKey, sessionId)
  return outcomeOf(await agentCall(harness, site, 'verify', { sessionId }))
}

/** Whether there is a credential; with `substantial`, one of that level. */
export const isMinted = (outcome: Outcome, level: 'low' | 'substantial' = 'low'): boolean =>
  'assurance' in outcome && (level === 'low' || outcome.assurance === level)

/** Asks, a few at a time, until the first refusal or until there are `max`; gives how many were minted. */
export const countUntilRefused = async (
  ask: () => Promise<boolean>,
  max: number,
  atATime = 8,
): Promise<number> => {
  let minted = 0
  while (minted < max) {
    const results = await Promise.all(Array.from({ length: Math.min(atATime, max - minted) }, ask))
    minted += results.filter(Boolean).length
    if (results.includes(false)) break
  }
  return minted
}

/** How many credentials an hour gives to whoever asks at these addresses, one after the other, and where asking stopped. */
const exhaustHour = async (
  ask: (address: string) => Promise<boolean>,
  { addressAt, addresses }: Network,
  from: number,
  max: number,
): Promise<{ minted: number; next: number }> => {
  let [minted, next] = [0, from]
  while (next < addresses && minted < max) {
    const count = await countUntilRefused(() => ask(addressAt(next)), max - minted)
    minted += count
    next += 1
    if (count === 0) break
  }
  return { minted, next }
}

export type Capacity = {
  /** The most in a clock hour. */
  readonly perHour: number
  readonly perDay: number
  /** Whether the server refused before the bound of the measurement; without it the figures are that bound. */
  readonly isLimited: boolean
}

const hourMs = 3_600_000
const dayMs = 24 * hourMs

/** Moves the clock to the first second of the next UTC day, or of the next clock hour. */
const advanceTo = async (harness: Harness, stepMs: number): Promise<void> => {
  const now = harness.ctx.clock.now().getTime()
  await harness.advance(stepMs - (now % stepMs) + 1_000)
}

/** What one network gives in a UTC day, by asking in every clock hour until it gives no more. */
export const measureNetwork = async (
  harness: Harness,
  network: Network,
  ask: (address: string) => Promise<boolean>,
  max: number,
): Promise<Capacity> => {
  await advanceTo(harness, dayMs)
  let [perHour, perDay, next] = [0, 0, 0]
  for (let hour = 0; hour < 24 && perDay < max; hour += 1) {
    // With a single address the next hour asks there again.
    const from = network.addresses === 1 ? 0 : next
    const found = await exhaustHour(ask, network, from, max - perDay)
    next = found.next
    perHour = Math.max(perHour, found.minted)
    perDay += found.minted
    if (found.minted === 0) break
    if (hour < 23 && perDay < max) await advanceTo(harness, hourMs)
  }
  return { perHour, perDay, isLimited: perDay < max }
}

/** One address of a network. */
export const singleAddress = ({ addressAt }: Network): Network => ({
  addressAt: () => addressAt(0),
  addresses: 1,
})

/** Mints so many in one UTC day from these networks, or as many as they give. */
export const forgeInOneDay = async (
  harness: Harness,
  networks: readonly Network[],
  ask: (address: string) => Promise<boolean>,
  count: number,
): Promise<number> => {
  await advanceTo(harness, dayMs)
  const nextOf = new Map<Network, number>()
  let minted = 0
  for (let hour = 0; hour < 24 && minted < count; hour += 1) {
    if (hour > 0) await advanceTo(harness, hourMs)
    const before = minted
    for (const network of networks) {
      const found = await exhaustHour(ask, network, nextOf.get(network) ?? 0, count - minted)
      nextOf.set(network, found.next)
      minted += found.minted
    }
    if (minted === before) break
  }
  return minted
}

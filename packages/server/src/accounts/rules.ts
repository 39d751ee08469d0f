import { consoleBrowserCookie, consoleCookie, type AccountRole } from '@pohf/protocol'
import { makeCookieReader, strictCookie } from '../platform/sign-in/own-page.ts'

/** A session ends after this time, whatever its person does. */
export const sessionHours = 24
/** Session timeout by inactivity. An open console gets a console token every ten minutes, which counts as use. */
export const idleHours = 4
/**
 * Changes that outlast the session need a sign-in this recent: people, passkeys, claims, keys, webhooks (not their removal),
 * settings of an agent, live billing.
 */
export const recentMinutes = 60
export const bearerMinutes = 10
export const linkMinutes = 15
export const challengeMinutes = 5
export const invitationDays = 7

export const peopleMax = 50
export const accountsPerPersonMax = 20
export const sessionsMax = 20
export const passkeysMax = 10
export const agentsMax = 10
export const invitationsPerDayMax = 20

export const sessionCookie = (token: string): string =>
  strictCookie(consoleCookie, token, sessionHours * 3_600)
export const expiredSessionCookie = strictCookie(consoleCookie, '', 0)
export const browserCookie = (token: string): string =>
  strictCookie(consoleBrowserCookie, token, linkMinutes * 60)
export const readSessionCookie = makeCookieReader(consoleCookie)
export const readBrowserCookie = makeCookieReader(consoleBrowserCookie)

/** The name of an account in a mail to somebody else, without the characters from which mail programs make links. */
export const plainName = (name: string): string =>
  name
    .replaceAll(/[^\p{L}\p{M}\p{N} -]+/gu, ' ')
    .replaceAll(/ +/g, ' ')
    .trim()
    .slice(0, 60) || 'an account'

/** Whether the account would be left without an owner. */
export const leavesNoOwner = (
  owners: readonly string[],
  change: { readonly personId: string; readonly role: AccountRole | undefined },
): boolean => change.role !== 'owner' && owners.every((owner) => owner === change.personId)

/** What a console token contains. The role is not in it: it is read at each use, so that a change counts at once. */
export type BearerClaims = { readonly sessionId: string; readonly agentId: string; readonly expiresAt: Date }
export const bearerFields = ({ sessionId, agentId, expiresAt }: BearerClaims) =>
  [sessionId, agentId, Math.floor(expiresAt.getTime() / 1_000)] as const
export const readBearerFields = (fields: readonly unknown[] | undefined): BearerClaims | undefined => {
  const [sessionId, agentId, seconds] = fields ?? []
  if (typeof sessionId !== 'string' || typeof agentId !== 'string' || typeof seconds !== 'number')
    return undefined
  return { sessionId, agentId, expiresAt: new Date(seconds * 1_000) }
}

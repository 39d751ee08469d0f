import { createHash } from 'node:crypto'
import { keyPrefixes, operatorBrowserCookie, operatorCookie } from '@pohf/protocol'
import { canonicalJson } from '../platform/ops/canonical.ts'
import type { Config } from '../platform/ops/config.ts'
import { isWellFormedKey } from '../platform/ops/keys.ts'
import { makeCookieReader, strictCookie, type Site } from '../platform/sign-in/own-page.ts'

/** A session ends after this time, whatever its operator does. */
export const sessionHours = 12
/** A session that nobody uses ends earlier. */
export const idleMinutes = 30
/** How recent a sign-in must be for operations that outlast the session or move money. */
export const recentMinutes = 15
export const bearerMinutes = 10
export const challengeMinutes = 5
export const passkeysMax = 10
export const sessionsMax = 20

/** Where operators sign in with passkeys. */
export const siteOf = ({ OPERATOR_BASE_URL }: Pick<Config, 'OPERATOR_BASE_URL'>): Site => {
  const { origin, hostname } = new URL(OPERATOR_BASE_URL)
  return { origin, rpId: hostname }
}

export const sessionCookie = (token: string): string =>
  strictCookie(operatorCookie, token, sessionHours * 3_600)
export const expiredSessionCookie = strictCookie(operatorCookie, '', 0)
export const browserCookie = (token: string): string =>
  strictCookie(operatorBrowserCookie, token, challengeMinutes * 60)
export const readSessionCookie = makeCookieReader(operatorCookie)
export const readBrowserCookie = makeCookieReader(operatorBrowserCookie)

/** What a bearer contains. The operator is not in it: the session is read at each use, so that its end counts at once. */
export type BearerClaims = { readonly sessionId: string; readonly expiresAt: Date }
export const bearerFields = ({ sessionId, expiresAt }: BearerClaims) =>
  [sessionId, Math.floor(expiresAt.getTime() / 1_000)] as const
export const readBearerFields = (fields: readonly unknown[] | undefined): BearerClaims | undefined => {
  const [sessionId, seconds] = fields ?? []
  if (typeof sessionId !== 'string' || typeof seconds !== 'number') return undefined
  return { sessionId, expiresAt: new Date(seconds * 1_000) }
}

export const isOperatorKey = (text: string): boolean => isWellFormedKey([keyPrefixes.operator], text)

export type AuditEntry = {
  readonly seq: bigint
  readonly at: Date
  readonly operatorId: string
  readonly action: string
  readonly target: string
  readonly details: Readonly<Record<string, unknown>>
}

export const initialHash = Buffer.alloc(32)

/** The hash of an entry in the hash chain of the audit log: over the previous hash and every field. */
export const hashEntry = (previous: Buffer, entry: AuditEntry): Buffer => {
  const line = [
    entry.seq.toString(),
    entry.at.toISOString(),
    entry.operatorId,
    entry.action,
    entry.target,
    entry.details,
  ]
  return createHash('sha256').update(previous).update(canonicalJson(line)).digest()
}

type ChainedEntry = AuditEntry & { readonly prevHash: Buffer; readonly hash: Buffer }
/** Whether consecutive entries after `previous` are unchanged and complete. */
export const isChainIntact = (
  previous: { seq: bigint; hash: Buffer },
  entries: readonly ChainedEntry[],
): boolean => {
  let last = previous
  for (const entry of entries) {
    const fits =
      entry.seq === last.seq + 1n &&
      entry.prevHash.equals(last.hash) &&
      entry.hash.equals(hashEntry(last.hash, entry))
    if (!fits) return false
    last = entry
  }
  return true
}

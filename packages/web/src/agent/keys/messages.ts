import type { Scope } from '@pohf/protocol'
import { pluralize } from '../../shared/design/time.ts'
import type { ApiKey } from '../wire.ts'

/** What each scope allows, in the order of the form. */
export const scopeTexts: Readonly<Record<Scope, string>> = {
  verify: 'mint credentials and bind payments',
  evidence: 'read sessions, invite members, attest devices',
  work: 'order work and read purchases',
  approvals: 'ask people to approve actions, and use approvals',
  webhooks: 'manage webhooks and read events',
  tracking: 'read metrics and report conversions',
  credits: 'read the balance and buy credits',
  partners: 'convert points and request payouts',
  index: 'read licensed series of the index',
  keys: 'manage keys, name and allowed origins',
}

export const allScopes = Object.keys(scopeTexts) as Scope[]

export const scopesText = (scopes: readonly Scope[]): string =>
  scopes.length === allScopes.length ? 'all' : scopes.join(', ')

export type KeyState = 'active' | 'expiring' | 'expired' | 'revoked'

export const keyState = ({ revokedAt, expiresAt }: ApiKey, now: number): KeyState => {
  if (revokedAt !== null) return 'revoked'
  if (expiresAt === null) return 'active'
  return Date.parse(expiresAt) <= now ? 'expired' : 'expiring'
}

export const keyTones: Readonly<Record<KeyState, string>> = {
  active: 'ok',
  expiring: 'warn',
  expired: '',
  revoked: 'stop',
}

export const isUsable = (key: ApiKey, now: number): boolean =>
  ['active', 'expiring'].includes(keyState(key, now))

/** The first line of the page. */
export const keysFinding = (keys: readonly ApiKey[], now: number): string => {
  const usable = keys.filter((key) => isUsable(key, now))
  const unused = usable.filter(({ lastUsedAt }) => lastUsedAt === null).length
  return `${pluralize(usable.length, 'key works', 'keys work')}${unused > 0 ? `, ${unused} never used` : ''}`
}

import { keyPrefixes, scopes, type AttestationSettings, type Scope } from '@pohf/protocol'
import { isWellFormedKey } from '../platform/ops/keys.ts'

export const isAgentKey = (text: string): boolean =>
  isWellFormedKey([keyPrefixes.live, keyPrefixes.test], text)

/** Keys that one agent may hold at the same time. */
export const keysMax = 20
/** The limit with rotation, which adds a key while the replaced one works until its overlap ends. */
export const keysWithReplacedMax = 2 * keysMax
/** The links that are mailed, and the prefix of the token in each. */
export const mailTokenPrefixes = { confirm: 'cnf_', recover: 'rcv_' } as const
export type MailTokenPurpose = keyof typeof mailTokenPrefixes
export const confirmHours = 72
export const recoverMinutes = 60

export const allScopes: readonly Scope[] = scopes

type KeyState = {
  readonly expires_at: Date | null
  readonly revoked_at: Date | null
  readonly suspended_at: Date | null
}
/** Whether a stored key is usable at this time. */
export const isKeyUsable = (key: KeyState, at: Date): boolean =>
  key.revoked_at === null && (key.expires_at === null || key.expires_at > at)

/** What an operator searches agents by. */
export const searchKindOf = (search: string): 'none' | 'id' | 'email' | 'name' => {
  if (search === '') return 'none'
  if (search.startsWith('agt_')) return 'id'
  return search.includes('@') ? 'email' : 'name'
}

/** An app, or a relying party of passkeys. */
export type AppReference = { readonly kind: 'app' | 'rp_id'; readonly name: string }

/** The apps and relying parties that an agent named. An operator admits them one by one. */
export const declaredAppsOf = ({
  webauthn,
  playIntegrity,
  appAttest,
}: AttestationSettings): AppReference[] => [
  ...webauthn.rpIds.map((name) => ({ kind: 'rp_id' as const, name })),
  ...playIntegrity.packages.map(({ name }) => ({ kind: 'app' as const, name })),
  ...appAttest.appIds.map((name) => ({ kind: 'app' as const, name })),
]

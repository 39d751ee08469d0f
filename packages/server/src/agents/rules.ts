import { scopes, type Mode, type Scope } from '@pohf/protocol'
import { isWellFormedKey } from '../platform/ops/keys.ts'

export const keyPrefixes: Record<Mode, string> = { live: 'svc_live_', test: 'svc_test_' }
export const isAgentKey = (text: string): boolean => isWellFormedKey(Object.values(keyPrefixes), text)

/** Keys that one agent may hold at the same time. */
export const keysMax = 20
/** The limit with rotation, which adds a key while the replaced one works until its overlap ends. */
export const keysWithReplacedMax = 2 * keysMax
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

import type { KeyObject } from 'node:crypto'
import type { Ctx } from '../../platform/ops/context.ts'
import { signingKeyOf } from '../rules.ts'

/** Keys that a worker caches. Decrypting a secret and importing its key costs more than signing with it. */
const keysMax = 2_000
const keyCache = new WeakMap<Ctx['secrets'], Map<string, KeyObject>>()

/** The key of an encrypted secret. A ciphertext never changes its meaning, so the cache never goes stale. */
export const openSigningKey = (ctx: Ctx, sealed: string): KeyObject => {
  const keys = keyCache.get(ctx.secrets) ?? new Map<string, KeyObject>()
  keyCache.set(ctx.secrets, keys)
  const known = keys.get(sealed)
  if (known) return known
  const key = signingKeyOf(ctx.secrets.open('webhook', sealed))
  const [oldest] = keys.keys()
  if (keys.size >= keysMax && oldest !== undefined) keys.delete(oldest)
  keys.set(sealed, key)
  return key
}

import type { Config } from '../ops/config.ts'
import { hashKey } from '../ops/keys.ts'
import { Refusal } from './errors.ts'
import type { ClientAddress } from './client-address.ts'
import { makeRefusalDelay, type ClientLimit, type RateLimiter } from './rate-limiter.ts'

/** The limit of brute force: look-ups of keys that do not exist. */
const unknownKeyLimit: ClientLimit = { name: 'unknown_key', perNetwork: 60, windowSeconds: 60 }
const knownMax = 10_000
const isUnknownKey = (error: unknown): boolean => error instanceof Refusal && error.code === 'invalid_api_key'

/**
 * Limits by address how many keys that do not exist are looked up, before the database is asked. A key that was valid
 * in this process before is looked up whatever the address did, so a stranger behind the same address cannot lock it out.
 */
export const makeKeyLookups = (config: Pick<Config, 'addressLimits'>, limiter: RateLimiter) => {
  const delayRefusal = makeRefusalDelay()
  const known = new Set<string>()
  const pending = new Map<string, Promise<unknown>>()

  const remember = (hash: string): void => {
    known.add(hash)
    const [oldest] = known
    if (known.size > knownMax && oldest !== undefined) known.delete(oldest)
  }

  /** Takes a look-up before it runs and returns it where the key is valid: calls at once cannot pass the limit together. */
  const lookUpUnknown = async <T>(
    address: ClientAddress,
    hash: string,
    lookup: () => Promise<T>,
  ): Promise<T> => {
    const taken = limiter.takeFor(unknownKeyLimit, address)
    if (!taken.allowed) {
      await delayRefusal()
      throw new Refusal('rate_limited', {
        message: 'This address or its network sent too many API keys that do not exist.',
        headers: taken.headers,
      })
    }
    const running = lookup()
    pending.set(
      hash,
      running.catch(() => undefined),
    )
    try {
      const caller = await running
      remember(hash)
      limiter.releaseFor(unknownKeyLimit, address)
      return caller
    } catch (error) {
      if (!isUnknownKey(error)) limiter.releaseFor(unknownKeyLimit, address)
      throw error
    } finally {
      pending.delete(hash)
    }
  }

  return async <T>(address: ClientAddress, key: string, lookup: () => Promise<T>): Promise<T> => {
    if (!config.addressLimits) return lookup()
    const hash = hashKey(key).toString('base64')
    // The first calls with a new key often come together: all but one wait, so that they take one look-up.
    for (let first = pending.get(hash); first && !known.has(hash); first = pending.get(hash)) await first
    if (!known.has(hash)) return lookUpUnknown(address, hash, lookup)
    try {
      return await lookup()
    } catch (error) {
      if (isUnknownKey(error)) known.delete(hash)
      throw error
    }
  }
}

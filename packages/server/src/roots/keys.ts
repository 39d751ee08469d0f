import { createHmac } from 'node:crypto'
import type { Tx } from '../platform/db/db.ts'
import { openFor, sealFor, type Secrets } from '../platform/ops/secrets.ts'
import { dayBefore } from './rules.ts'
import { findKey, insertKey } from './store.ts'

/** The key of a day: it makes tags, and seals the addresses of sessions. */
type DayKey = {
  readonly tagKey: Buffer
  readonly sealAddresses: (addresses: readonly string[]) => string
  readonly openAddresses: (sealed: string) => string[]
}

/** Made from the secret of the day. */
export const dayKeyOf = (secret: string): DayKey => ({
  tagKey: createHmac('sha256', secret).update('tags').digest(),
  sealAddresses: (addresses) => sealFor(secret, JSON.stringify(addresses)),
  openAddresses: (sealed) => JSON.parse(openFor(secret, sealed)) as string[],
})

const purpose = 'root-keys'

/**
 * Opens the key of a day. Undefined where another master key sealed it: the tags and addresses of that day are then lost, as
 * if the key were destroyed.
 */
const openKey = (secrets: Secrets, sealed: string): DayKey | undefined => {
  let secret: string
  try {
    secret = secrets.open(purpose, sealed)
  } catch {
    return undefined
  }
  return dayKeyOf(secret)
}

/** The key of `day`, made where the day has none; undefined where it is destroyed, or due to be. */
export type FindDayKey = (tx: Tx, day: string, today: string) => Promise<DayKey | undefined>

export const makeFindDayKey = (secrets: Secrets): FindDayKey => {
  const known = new Map<string, DayKey>()
  return async (tx, day, today) => {
    // A destroyed key leaves this process too.
    for (const cached of known.keys()) if (cached < dayBefore(today)) known.delete(cached)
    if (day < dayBefore(today)) return undefined
    const cached = known.get(day)
    if (cached) return cached
    if (!(await findKey(tx, day))) await insertKey(tx, day, secrets.seal(purpose, tx.ids.random()))
    const stored = await findKey(tx, day)
    const key = stored?.sealed ? openKey(secrets, stored.sealed) : undefined
    // A key that this transaction made is not kept: the transaction may fail, and the day then gets another one.
    if (key && stored?.isCommitted) known.set(day, key)
    return key
  }
}

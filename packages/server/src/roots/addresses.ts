import type { Tx } from '../platform/db/db.ts'
import { readClientAddress, type ClientAddress } from '../platform/http/client-address.ts'
import { Refusal } from '../platform/http/errors.ts'
import type { FindDayKey } from './keys.ts'
import type { FindFactor } from './networks.ts'
import { addressesMax, dayOf, networkTagsOf } from './rules.ts'
import { insertSessionNetworks, lockSessionNetworks, updateSessionNetworks } from './store.ts'

/** A live session: when it began, and the time of the call. */
type SeenSession = { readonly sessionId: string; readonly at: Date; readonly now: Date }
export type NoteAddress = (tx: Tx, session: SeenSession, address: ClientAddress) => Promise<void>

/** Networks of sessions that this process knows to be stored; the oldest are forgotten and read again. */
const knownMax = 100_000

const tooMany = () =>
  new Refusal('telemetry_refused', {
    details: [
      {
        path: 'session',
        code: 'addresses',
        message: `comes from more than ${addressesMax} addresses: begin a new session`,
      },
    ],
  })

export const makeNoteAddress = (findDayKey: FindDayKey, findFactor: FindFactor): NoteAddress => {
  const known = new Set<string>()
  return async (tx, { sessionId, at, now }, address) => {
    // A phone changes its address within a /64, which is one network and counts once.
    const name = `${sessionId} ${address.narrow}`
    if (known.has(name)) return
    const row = { sessionId, day: dayOf(at) }
    const key = await findDayKey(tx, row.day, dayOf(now))
    if (!key) return
    const tags = networkTagsOf(key.tagKey, address, findFactor(address))
    const first = { keyDay: row.day, tags: [tags], sealed: key.sealAddresses([address.text]) }
    if (await insertSessionNetworks(tx, row, first)) return
    const networks = await lockSessionNetworks(tx, row)
    if (!networks) throw new Error(`networks of session ${sessionId} not found while noting an address`)
    const addresses = key.openAddresses(networks.sealed)
    if (addresses.some((one) => readClientAddress(one).narrow === address.narrow)) {
      // Stored by an earlier transaction, so it stays stored whatever becomes of this one.
      if (known.size >= knownMax) for (const oldest of known) if (known.delete(oldest)) break
      known.add(name)
      return
    }
    if (addresses.length >= addressesMax) throw tooMany()
    await updateSessionNetworks(tx, row, {
      ...networks,
      tags: [...networks.tags, tags],
      sealed: key.sealAddresses([...addresses, address.text]),
    })
  }
}

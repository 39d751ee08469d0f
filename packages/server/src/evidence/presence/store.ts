import type { Mode } from '@pohf/protocol'
import type { Tx } from '../../platform/db/db.ts'
import type { GeoPoint } from '../rules.ts'

type Photo = {
  readonly agentId: string
  readonly mode: Mode
  readonly hash: Buffer
  readonly sessionId: string
}

/** Claims a photo; false when it was used before. */
export const insertPhotoHash = async (tx: Tx, photo: Photo): Promise<boolean> => {
  const result = await tx
    .insertInto('photo_hashes')
    .values({
      scope: photo.mode === 'live' ? 'live' : photo.agentId,
      photo_hash: photo.hash,
      agent_id: photo.agentId,
      session_id: photo.sessionId,
    })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return result.numInsertedOrUpdatedRows === 1n
}

/** Rounds to about a kilometre. */
const roundToKilometre = ({ lat, lng, at }: GeoPoint & { at: Date }) => ({
  lat: Math.round(lat * 100) / 100,
  lng: Math.round(lng * 100) / 100,
  at,
})

type MemberKey = { readonly agentId: string; readonly mode: Mode; readonly memberRef: string }

/** Stores the first location; false when the member has one, which then stays locked by this transaction. */
export const insertPresence = async (
  tx: Tx,
  key: MemberKey,
  location: GeoPoint & { at: Date },
): Promise<boolean> => {
  const result = await tx
    .insertInto('presences')
    .values({
      agent_id: key.agentId,
      mode: key.mode,
      member_ref: key.memberRef,
      ...roundToKilometre(location),
    })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return result.numInsertedOrUpdatedRows === 1n
}

export const findPresence = async (tx: Tx, key: MemberKey): Promise<(GeoPoint & { at: Date }) | undefined> =>
  tx
    .selectFrom('presences')
    .select(['lat', 'lng', 'at'])
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('member_ref', '=', key.memberRef)
    .forUpdate()
    .executeTakeFirst()

export const updatePresence = async (
  tx: Tx,
  key: MemberKey,
  location: GeoPoint & { at: Date },
): Promise<void> => {
  await tx
    .updateTable('presences')
    .set(roundToKilometre(location))
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('member_ref', '=', key.memberRef)
    .execute()
}

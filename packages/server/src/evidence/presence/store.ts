import type { Mode } from '@pohf/protocol'
import type { Tx } from '../../platform/db/db.ts'
import type { GeoPoint } from '../rules.ts'

type Photo = {
  readonly agentId: string
  readonly mode: Mode
  readonly hash: Buffer
  readonly sessionId: string
}

const scopeOf = ({ mode, agentId }: Pick<Photo, 'mode' | 'agentId'>): string =>
  mode === 'live' ? 'live' : agentId

/** How the journal of the signer names a photo, before it is keyed. */
export const photoName = (photo: Pick<Photo, 'mode' | 'agentId' | 'hash'>): string =>
  `${scopeOf(photo)} ${photo.hash.toString('base64url')}`

type PresenceKey = Pick<Photo, 'agentId' | 'mode' | 'sessionId'>
/** The names of the photos that sessions of presence were submitted with. */
export const listPhotoNames = async (
  tx: Tx,
  sessions: readonly PresenceKey[],
): Promise<ReadonlyMap<string, readonly string[]>> => {
  const rows = await tx
    .selectFrom('photo_hashes')
    .select(['agent_id', 'session_id', 'photo_hash'])
    .where('agent_id', 'in', [...new Set(sessions.map(({ agentId }) => agentId))])
    .where(
      'session_id',
      'in',
      sessions.map(({ sessionId }) => sessionId),
    )
    .execute()
  const photos = Map.groupBy(rows, (row) => `${row.agent_id} ${row.session_id}`)
  return new Map(
    sessions.map(({ agentId, mode, sessionId }) => [
      sessionId,
      (photos.get(`${agentId} ${sessionId}`) ?? []).map((row) =>
        photoName({ agentId, mode, hash: row.photo_hash }),
      ),
    ]),
  )
}

/** Claims a photo; false when it was used before. */
export const insertPhotoHash = async (tx: Tx, photo: Photo): Promise<boolean> => {
  const result = await tx
    .insertInto('photo_hashes')
    .values({
      scope: scopeOf(photo),
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

import { sql } from 'kysely'
import type { Mode } from '@pohf/protocol'
import type { Tx } from '../../platform/db/db.ts'

/** The purposes whose keys sign credentials. */
export type CredentialPurpose = 'live' | 'test' | 'onchain' | 'onchain-test'
export type Rotation = {
  readonly kid: string
  readonly purpose: CredentialPurpose
  readonly mode: Mode
  readonly activateAt: Date
}

/** Records successors of keys; those that are recorded already stay as they are. */
export const insertRotations = async (tx: Tx, rotations: readonly Rotation[]): Promise<void> => {
  await tx
    .insertInto('key_rotations')
    .values(
      rotations.map(({ kid, purpose, mode, activateAt }) => ({
        kid,
        purpose,
        mode,
        activate_at: activateAt,
      })),
    )
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** The first rotation of which not every subscriber has been told, locked, with the last agent that was. */
export const lockOpenRotation = async (
  tx: Tx,
): Promise<(Rotation & { readonly toldUntil: string }) | undefined> => {
  const row = await tx
    .selectFrom('key_rotations')
    .select(['kid', 'purpose', 'mode', 'activate_at', 'told_until'])
    .where('told_at', 'is', null)
    .orderBy('activate_at')
    .limit(1)
    .forUpdate()
    .skipLocked()
    .executeTakeFirst()
  if (!row) return undefined
  const { kid, purpose, mode, activate_at: activateAt, told_until: toldUntil } = row
  return { kid, purpose, mode, activateAt, toldUntil }
}

/** Records until which agent subscribers were told; without one, that all were. */
export const updateRotationTold = async (
  tx: Tx,
  kid: string,
  toldUntil: string | undefined,
): Promise<void> => {
  await tx
    .updateTable('key_rotations')
    .set(toldUntil === undefined ? { told_at: sql<Date>`pohf_now()` } : { told_until: toldUntil })
    .where('kid', '=', kid)
    .execute()
}

/** Deletes rotations 30 days after the key began to sign: no signer calls it pending again. */
export const deleteOldRotations = async (tx: Tx): Promise<void> => {
  await tx
    .deleteFrom('key_rotations')
    .where('activate_at', '<', sql<Date>`pohf_now() - interval '30 days'`)
    .execute()
}

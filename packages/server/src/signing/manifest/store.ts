import type { Tx } from '../../platform/db/db.ts'

/** A reader that is far behind catches up over several reads. */
const manifestsMax = 20
const revocationsMax = 1_000

/** The manifests from a version on, in order. Where several claim one version, at most one of them verifies. */
export const listManifestsFrom = async (tx: Tx, version: number): Promise<string[]> => {
  const rows = await tx
    .selectFrom('key_manifests')
    .select('jws')
    .where('version', '>=', version)
    .orderBy('version')
    .limit(manifestsMax)
    .execute()
  return rows.map(({ jws }) => jws)
}

/** The newest manifest that was written; undefined where the deployment has published no key yet. */
export const findNewestManifest = async (tx: Tx): Promise<string | undefined> => {
  const row = await tx
    .selectFrom('key_manifests')
    .select('jws')
    .orderBy('version', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.jws
}

/** Whether this deployment has published keys before. */
export const hasManifest = async (tx: Tx): Promise<boolean> => (await findNewestManifest(tx)) !== undefined

export const insertManifest = async (
  tx: Tx,
  row: { readonly version: number; readonly jws: string },
): Promise<void> => {
  await tx
    .insertInto('key_manifests')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

export const listRevocations = async (tx: Tx): Promise<string[]> => {
  const rows = await tx.selectFrom('key_revocations').select('jws').limit(revocationsMax).execute()
  return rows.map(({ jws }) => jws)
}

export const insertRevocation = async (
  tx: Tx,
  row: { readonly kid: string; readonly jws: string },
): Promise<void> => {
  await tx
    .insertInto('key_revocations')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

import { join } from 'node:path'
import type { Ctx } from '../ops/context.ts'
import { inTransaction, type Tx } from './db.ts'

/** This process has another master key than those that wrote the database. The message says what to do. */
export class MasterKeyMismatch extends Error {
  constructor(dataDir: string) {
    super(
      `${join(dataDir, 'master.key')} is not the master key with which this database was written. With it, recordings, mails and webhook secrets could not be read, and known people would get new identifiers.\n` +
        '  - On a further machine: stop, and copy master.key from a machine that works into DATA_DIR.\n' +
        '  - If DATA_DIR points to another folder than before, set it to the right one.\n' +
        '  - If the file was lost, restore it from its backup.\n' +
        '  - If there is no backup, follow "The key folder is lost" in docs/operate/runbooks.md.',
    )
  }
}

const findFingerprint = async (tx: Tx): Promise<string | undefined> => {
  const row = await tx.selectFrom('platform_master_key').select('fingerprint').executeTakeFirst()
  return row?.fingerprint
}

/** Compares the master key with the fingerprint in the database. The first process to start on a database writes it. */
export const requireMasterKey = async (ctx: Ctx): Promise<void> => {
  const fingerprint = ctx.secrets.derive('fingerprint').toString('base64url')
  const known = await inTransaction(ctx, 'system', async (tx) => {
    const found = await findFingerprint(tx)
    if (found !== undefined) return found
    await tx
      .insertInto('platform_master_key')
      .values({ fingerprint })
      // Two processes may start at once: both read what the first wrote.
      .onConflict((conflict) => conflict.doNothing())
      .execute()
    return findFingerprint(tx)
  })
  if (known !== fingerprint) throw new MasterKeyMismatch(ctx.config.DATA_DIR)
}

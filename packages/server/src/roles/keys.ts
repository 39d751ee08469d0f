import type { Config } from '../platform/ops/config.ts'
// Imported file by file, and the database only where it is asked: the supervisor stays small.
import { KeyFolderMismatch, hasKeys, requireKeyFolder } from '../signing/folder/key-folder.ts'

/** Stops the start of a single machine whose key folder lacks the keys that its database knows of. */
export const requireKeys = async (config: Config): Promise<void> => {
  requireKeyFolder(config)
  const isElsewhere = config.SIGNER_URL.length > 0 || config.ADMISSION_KEY !== undefined
  if (isElsewhere || hasKeys(config.KEYS_DIR)) return
  const { hasPublished } = await import('./keys-database.ts')
  if (await hasPublished(config)) throw new KeyFolderMismatch(config.KEYS_DIR, 'holds no keys')
}

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

/** SQLite's result code for a file that another connection has locked. */
const sqliteBusy = 5

/** A folder of keys has one signer. The message says what to do. */
export class KeyFolderInUse extends Error {
  constructor(folder: string, options: ErrorOptions) {
    super(
      `Another signer uses the key folder ${folder}. Stop that signer first, or set KEYS_DIR to a folder of its own for this one and admit its keys: docs/operate/keys.md.`,
      options,
    )
  }
}

/**
 * Holds the key folder for this process alone, until `release` or the end of the process.
 *
 * Node has no flock. SQLite locks a file with fcntl: the kernel releases it when the process ends, however it ends, and it
 * holds between containers that share the folder. A file with a process id does neither, and an abstract socket is known
 * only within one network namespace. The file stays empty.
 */
export const lockKeyFolder = (folder: string): { readonly release: () => void } => {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const file = new DatabaseSync(join(folder, 'signer.lock'), { timeout: 0 })
  try {
    // Without a journal file: a crash would leave it behind.
    file.exec('pragma journal_mode = memory; begin exclusive')
  } catch (error) {
    file.close()
    if (error instanceof Error && 'errcode' in error && error.errcode === sqliteBusy)
      throw new KeyFolderInUse(folder, { cause: error })
    throw new Error(`key folder ${folder} cannot be locked`, { cause: error })
  }
  return { release: () => file.close() }
}

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { findAdmission } from '../manifest/files.ts'

type KeyFolders = {
  readonly DATA_DIR: string
  readonly KEYS_DIR: string
  readonly ADMISSION_KEY?: string | undefined
}

/** The keys of the deployment are not in the key folder. The message says what to do. */
export class KeyFolderMismatch extends Error {
  constructor(keysDir: string, found: string) {
    super(
      `${keysDir} ${found}, but this deployment has published keys before. With new keys, no credential that it issued so far could be verified.\n` +
        '  - If the folder is elsewhere, set KEYS_DIR to it.\n' +
        '  - If it was lost, restore it from its backup.\n' +
        '  - If there is no backup, follow "A key folder is lost" in docs/operate/keys.md.',
    )
  }
}

/** Whether a signer has used this folder. */
export const hasKeys = (keysDir: string): boolean =>
  existsSync(join(keysDir, 'keyring.json')) || findAdmission(join(keysDir, 'manifests')) !== undefined

const findKnownAdmission = (dataDir: string): string | undefined => {
  try {
    return findAdmission(join(dataDir, 'manifests'))
  } catch (error) {
    // A signer with a user of its own cannot read the folder of the api: then the api compares.
    if (error instanceof Error && 'code' in error && error.code === 'EACCES') return undefined
    throw error
  }
}

/**
 * Compares the key folder with what the api of this machine remembers in DATA_DIR. A folder that is empty or belongs to
 * another deployment stops the start. A signer that joins names the admission key, and signs nothing until it is admitted.
 */
export const requireKeyFolder = ({ DATA_DIR: dataDir, KEYS_DIR: keysDir, ...config }: KeyFolders): void => {
  const known = findKnownAdmission(dataDir)
  if (known === undefined || config.ADMISSION_KEY === known) return
  const own = findAdmission(join(keysDir, 'manifests'))
  if (own === undefined && !hasKeys(keysDir)) throw new KeyFolderMismatch(keysDir, 'holds no keys')
  if (own !== undefined && own !== known)
    throw new KeyFolderMismatch(
      keysDir,
      `belongs to another deployment (admission key ${own}, expected ${known})`,
    )
}

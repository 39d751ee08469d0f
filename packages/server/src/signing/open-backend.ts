import { join } from 'node:path'
import type { SignerConfig } from '../platform/ops/config.ts'
import { fileBackend, type Backend } from './backend.ts'
import { pkcs11Backend } from './pkcs11.ts'

/**
 * Generates keys in a new back end while keys of the previous one sign until they retire. So a deployment moves into a
 * token by an ordinary rotation, and no verifier sees a key that was not published a day before.
 */
export const withPreviousBackend = (newer: Backend, older: Backend): Backend => {
  const backendOf = (ref: string) => (ref.startsWith(`${newer.name}:`) ? newer : older)
  return {
    name: newer.name,
    generate: newer.generate,
    sign: (ref, data) => backendOf(ref).sign(ref, data),
    destroy: (ref) => backendOf(ref).destroy(ref),
    close: () => {
      newer.close()
      older.close()
    },
  }
}

/** Opens the back end that the settings name. */
export const openBackend = (config: SignerConfig): Backend => {
  const files = fileBackend(join(config.KEYS_DIR, 'private'))
  if (config.SIGNER_BACKEND === 'file') return files
  const { PKCS11_MODULE: module, PKCS11_TOKEN_LABEL: label, PKCS11_PIN_FILE: pinFile } = config
  if (module === undefined || label === undefined || pinFile === undefined)
    throw new Error('SIGNER_BACKEND=pkcs11 needs PKCS11_MODULE, PKCS11_TOKEN_LABEL and PKCS11_PIN_FILE')
  return withPreviousBackend(pkcs11Backend({ module, label, pinFile }), files)
}

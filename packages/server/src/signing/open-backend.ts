import { join } from 'node:path'
import type { SignerConfig } from '../platform/ops/config.ts'
import { fileBackend, type Backend } from './backend.ts'
import { pkcs11Backend } from './pkcs11.ts'

/**
 * New keys in one place while the keys of an older place sign to the end of their time. So a deployment moves into
 * a token by an ordinary rotation, and no verifier meets a key that was not published a day before.
 */
export const withOlder = (newer: Backend, older: Backend): Backend => {
  const of = (ref: string) => (ref.startsWith(`${newer.name}:`) ? newer : older)
  return {
    name: newer.name,
    generate: newer.generate,
    sign: (ref, data) => of(ref).sign(ref, data),
    destroy: (ref) => of(ref).destroy(ref),
    close: () => {
      newer.close()
      older.close()
    },
  }
}

/** The back end that the settings ask for. */
export const openBackend = (config: SignerConfig): Backend => {
  const files = fileBackend(join(config.KEYS_DIR, 'private'))
  if (config.SIGNER_BACKEND === 'file') return files
  const { PKCS11_MODULE: module, PKCS11_TOKEN_LABEL: label, PKCS11_PIN_FILE: pinFile } = config
  if (module === undefined || label === undefined || pinFile === undefined)
    throw new Error('the token is not fully named')
  return withOlder(pkcs11Backend({ module, label, pinFile }), files)
}

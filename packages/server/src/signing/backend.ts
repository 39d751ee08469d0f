import { createPrivateKey, generateKeyPairSync, sign, type JsonWebKey, type KeyObject } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rawSignature } from './rules.ts'

/** Stores private keys and signs with them. Only references leave it. */
export type Backend = {
  readonly name: string
  readonly generate: () => { readonly ref: string; readonly x: string; readonly y: string }
  /** An ECDSA P-256 signature over SHA-256 of the data: the 64 bytes of JWS, r then s. */
  readonly sign: (ref: string, data: Buffer) => Buffer
  /** Destroys the private key, so that a retired key can never sign again. Does nothing where it is gone already. */
  readonly destroy: (ref: string) => void
  readonly close: () => void
}

/** Keys as files, mode 0600, in a folder that only the signer reads. For development and small deployments. */
export const fileBackend = (folder: string): Backend => {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const loaded = new Map<string, KeyObject>()
  const path = (ref: string) => join(folder, `${ref}.json`)
  const load = (ref: string): KeyObject => {
    const known = loaded.get(ref)
    if (known) return known
    const key = createPrivateKey({
      key: JSON.parse(readFileSync(path(ref), 'utf8')) as JsonWebKey,
      format: 'jwk',
    })
    loaded.set(ref, key)
    return key
  }
  return {
    name: 'file',
    generate: () => {
      const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      const jwk = privateKey.export({ format: 'jwk' })
      const { x, y } = jwk
      if (x === undefined || y === undefined)
        throw new Error(`generated key of type ${jwk.kty} and curve ${jwk.crv} has no x and y`)
      writeFileSync(path(x), JSON.stringify(jwk), { mode: 0o600, flag: 'wx', flush: true })
      return { ref: x, x, y }
    },
    // Converted from DER here: asking OpenSSL for the raw form takes about twice the time.
    sign: (ref, data) => rawSignature(sign('sha256', data, load(ref))),
    destroy: (ref) => {
      loaded.delete(ref)
      rmSync(path(ref), { force: true })
    },
    close: () => loaded.clear(),
  }
}

import { readFileSync } from 'node:fs'
import type { Config, SignerConfig } from '../../platform/ops/config.ts'
import type { SignerAddress } from './signer-connection.ts'
import type { TlsIdentity, TlsListen } from './signer-socket.ts'

type TlsSettings = Pick<Config | SignerConfig, 'SIGNER_TLS_CERT' | 'SIGNER_TLS_KEY' | 'SIGNER_TLS_CA'>

const readIdentity = (config: TlsSettings): TlsIdentity => {
  const { SIGNER_TLS_CERT: cert, SIGNER_TLS_KEY: key, SIGNER_TLS_CA: ca } = config
  if (cert === undefined || key === undefined || ca === undefined)
    throw new Error('TLS to a signer needs SIGNER_TLS_CERT, SIGNER_TLS_KEY and SIGNER_TLS_CA')
  return { cert: readFileSync(cert), key: readFileSync(key), ca: readFileSync(ca) }
}

/** The signers of an api or a worker, in the order in which they are asked. */
export const signerAddressesOf = (config: Config): SignerAddress[] =>
  config.SIGNER_URL.length === 0
    ? [{ path: config.SIGNER_SOCKET }]
    : config.SIGNER_URL.map((url): SignerAddress => {
        if (url.startsWith('unix:')) return { path: url.slice('unix:'.length) }
        const { hostname, port } = new URL(url)
        const host = hostname.replace(/^\[(.+)\]$/, '$1')
        return { host, port: Number(port || 443), identity: readIdentity(config) }
      })

/** Where a signer listens for other machines; undefined where it does not. */
export const tlsListenOf = (config: SignerConfig): TlsListen | undefined => {
  if (config.SIGNER_LISTEN === undefined) return undefined
  const { hostname, port } = new URL(`https://${config.SIGNER_LISTEN}`)
  return {
    host: hostname.replace(/^\[(.+)\]$/, '$1'),
    port: Number(port || 443),
    identity: readIdentity(config),
  }
}

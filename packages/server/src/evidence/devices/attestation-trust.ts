import { readFileSync } from 'node:fs'
import { MetadataService, SettingsService, type MetadataStatement } from '@simplewebauthn/server'
import { compactVerify, decodeProtectedHeader } from 'jose'
import { z } from 'zod'
import type { Config } from '../../platform/ops/config.ts'
import { chainFault, readCertificate, type Certificate } from './certificates.ts'
import type { PlayKeys } from './play-integrity.ts'
import type { FindModel } from './webauthn.ts'

/** Trust anchors for device attestation. */
export type DeviceTrust = {
  readonly appleRoots: readonly Certificate[]
  readonly findModel: FindModel
  readonly playKeysOf: (packageName: string) => PlayKeys | undefined
  /** Custom roots that are not fully trusted: everything they certify counts as software. */
  readonly capped: boolean
}

/** Apple's App Attestation Root CA, valid from 2020-03-18 to 2045-03-15. */
const appleRootPem = `-----BEGIN CERTIFICATE-----
MIICITCCAaegAwIBAgIQC/O+DvHN0uD7jG5yH2IXmDAKBggqhkjOPQQDAzBSMSYw
JAYDVQQDDB1BcHBsZSBBcHAgQXR0ZXN0YXRpb24gUm9vdCBDQTETMBEGA1UECgwK
QXBwbGUgSW5jLjETMBEGA1UECAwKQ2FsaWZvcm5pYTAeFw0yMDAzMTgxODMyNTNa
Fw00NTAzMTUwMDAwMDBaMFIxJjAkBgNVBAMMHUFwcGxlIEFwcCBBdHRlc3RhdGlv
biBSb290IENBMRMwEQYDVQQKDApBcHBsZSBJbmMuMRMwEQYDVQQIDApDYWxpZm9y
bmlhMHYwEAYHKoZIzj0CAQYFK4EEACIDYgAERTHhmLW07ATaFQIEVwTtT4dyctdh
NbJhFs/Ii2FdCgAHGbpphY3+d8qjuDngIN3WVhQUBHAoMeQ/cLiP1sOUtgjqK9au
Yen1mMEvRq9Sk3Jm5X8U62H+xTD3FE9TgS41o0IwQDAPBgNVHRMBAf8EBTADAQH/
MB0GA1UdDgQWBBSskRBTM72+aEH/pwyp5frq5eWKoTAOBgNVHQ8BAf8EBAMCAQYw
CgYIKoZIzj0EAwMDaAAwZQIwQgFGnByvsiVbpTKwSga0kP0e8EeDS4+sQmTvb7vn
53O5+FRXgeLhpJ06ysC5PrOyAjEAp5U4xDgEgllF7En3VcE3iexZZtKeYnpqtijV
oyFraWVIyd/dganmrduC1bmTBGwD
-----END CERTIFICATE-----`

const pemPattern = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g
const derOf = (pem: string): Buffer => Buffer.from(pem.replaceAll(/-----[^-]+-----/g, ''), 'base64')
const parseCertificates = (pem: string): Certificate[] =>
  (pem.match(pemPattern) ?? []).slice(0, 32).map((one) => readCertificate(derOf(one)))
/** The certificates of the operator's file. */
const readRoots = (file: string): Certificate[] => {
  try {
    return parseCertificates(readFileSync(file, 'utf8'))
  } catch (cause) {
    throw new Error(`ATTEST_ROOTS_FILE ${file} cannot be read`, { cause })
  }
}

const revokedStatuses: ReadonlySet<string> = new Set([
  'REVOKED',
  'USER_VERIFICATION_BYPASS',
  'ATTESTATION_KEY_COMPROMISE',
  'USER_KEY_REMOTE_COMPROMISE',
  'USER_KEY_PHYSICAL_COMPROMISE',
])
const metadata = z.object({
  entries: z
    .array(
      z.object({
        aaguid: z.string().optional(),
        metadataStatement: z
          .looseObject({
            keyProtection: z.array(z.string()).max(16).default([]),
            attestationRootCertificates: z.array(z.string()).max(1_000).default([]),
          })
          .optional(),
        statusReports: z.array(z.object({ status: z.string() })).max(1_000),
      }),
    )
    .max(10_000),
})

/** Reads the FIDO metadata file: a token signed under one of the roots. */
const readMetadata = async (file: string, roots: readonly Certificate[], at: Date) => {
  const text = readFileSync(file, 'utf8')
  const { x5c = [] } = decodeProtectedHeader(text.trim()) as { x5c?: string[] }
  const chain = x5c.slice(0, 8).map((der) => readCertificate(Buffer.from(der, 'base64')))
  const [leaf] = chain
  const fault = chainFault(chain, roots, at)
  if (!leaf || fault)
    throw new Error(
      `ATTEST_FIDO_METADATA_FILE ${file} is not signed under a trusted root: ${fault ?? 'no certificate chain'}`,
    )
  const { payload } = await compactVerify(text.trim(), leaf.openssl.publicKey, {
    algorithms: ['RS256', 'ES256'],
  })
  return metadata.parse(JSON.parse(new TextDecoder().decode(payload)))
}

const certificationLevelOf = (reports: readonly { readonly status: string }[]): number =>
  Math.max(0, ...reports.map(({ status }) => Number(/^FIDO_CERTIFIED_L([123])/.exec(status)?.[1] ?? 0)))

const loadModels = async (file: string | undefined, roots: readonly Certificate[], at: Date) => {
  const entries = file === undefined ? [] : (await readMetadata(file, roots, at)).entries
  const good = entries.flatMap(({ aaguid, metadataStatement, statusReports }) =>
    aaguid === undefined ||
    // Without roots the library accepts any certificate for the model, so its keys count as software.
    !metadataStatement?.attestationRootCertificates.length ||
    statusReports.some(({ status }) => revokedStatuses.has(status))
      ? []
      : [{ aaguid, statement: metadataStatement, level: certificationLevelOf(statusReports) }],
  )
  // The library holds one metadata list per process. It accepts unknown models; they count as software.
  await MetadataService.initialize({
    mdsServers: [],
    statements: good.map(({ statement }) => statement as unknown as MetadataStatement),
    verificationMode: 'permissive',
  })
  return new Map(
    good.map(({ aaguid, statement, level }) => [aaguid, { level, keyProtection: statement.keyProtection }]),
  )
}

const playKeysFile = z.record(
  z.string().max(256),
  z.object({ decryptionKey: z.base64().max(64), verificationKey: z.base64().max(512) }),
)
const readPlayKeysFile = (file: string) => {
  try {
    return playKeysFile.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch (cause) {
    throw new Error(`ATTEST_PLAY_KEYS_FILE ${file} cannot be read`, { cause })
  }
}
const loadPlayKeys = (file: string | undefined): ReadonlyMap<string, PlayKeys> => {
  if (file === undefined) return new Map()
  return new Map(
    Object.entries(readPlayKeysFile(file)).map(([name, keys]) => [
      name,
      {
        decryptionKey: Buffer.from(keys.decryptionKey, 'base64'),
        verificationKey: Buffer.from(keys.verificationKey, 'base64'),
      },
    ]),
  )
}

/** Loads the files that the settings name, else the built-in roots. */
export const loadDeviceTrust = async (config: Config, at: Date): Promise<DeviceTrust> => {
  const own = config.ATTEST_ROOTS_FILE === undefined ? undefined : readRoots(config.ATTEST_ROOTS_FILE)
  if (own?.length === 0)
    throw new Error(`ATTEST_ROOTS_FILE ${config.ATTEST_ROOTS_FILE} contains no certificate`)
  const fidoRoots =
    own ?? SettingsService.getRootCertificates({ identifier: 'mds' }).flatMap(parseCertificates)
  const models = await loadModels(config.ATTEST_FIDO_METADATA_FILE, fidoRoots, at)
  const playKeys = loadPlayKeys(config.ATTEST_PLAY_KEYS_FILE)
  return {
    appleRoots: own ?? parseCertificates(appleRootPem),
    findModel: (aaguid) => models.get(aaguid),
    playKeysOf: (packageName) => playKeys.get(packageName),
    capped: own !== undefined && config.ATTEST_ALLOW_CUSTOM_ROOTS === 'off',
  }
}

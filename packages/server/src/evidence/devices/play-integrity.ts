import { createPublicKey } from 'node:crypto'
import { compactDecrypt, compactVerify } from 'jose'
import { z } from 'zod'
import { assertEvidence, type AttestationResult, type AttestedAssurance } from './attestation.ts'

export type PlayKeys = {
  /** AES key of 32 bytes. */
  readonly decryptionKey: Buffer
  /** P-256 public key, DER. */
  readonly verificationKey: Buffer
}
export type PlayTrust = {
  readonly keysOf: (packageName: string) => PlayKeys | undefined
  /** The accepted apps, with the digests of their signing certificates, base64url. */
  readonly packages: readonly { readonly name: string; readonly certificateDigests: readonly string[] }[]
  readonly at: Date
}
type Evidence = {
  readonly integrityToken: string
  readonly packageName: string
  readonly requestType: 'classic' | 'standard'
  readonly challenge: string
}

const verdict = z.object({
  requestDetails: z.object({
    requestPackageName: z.string(),
    nonce: z.string().optional(),
    requestHash: z.string().optional(),
    timestampMillis: z.union([z.string().regex(/^\d{1,16}$/), z.int()]),
  }),
  appIntegrity: z.object({
    appRecognitionVerdict: z.string(),
    packageName: z.string().optional(),
    certificateSha256Digest: z.array(z.string()).max(16).optional(),
  }),
  deviceIntegrity: z
    .object({
      deviceRecognitionVerdict: z.array(z.string()).max(16).default([]),
      recentDeviceActivity: z.object({ deviceActivityLevel: z.string() }).optional(),
    })
    .default({ deviceRecognitionVerdict: [] }),
  accountDetails: z.object({ appLicensingVerdict: z.string() }).optional(),
})

const ageMsMax = 5 * 60_000
/** Tolerance for a phone's clock ahead of ours. */
const aheadMsMax = 60_000

/** Readers of base64url skip spaces and unused bits, so that several texts would be one token. */
const isCanonical = (token: string): boolean =>
  token.split('.').every((part) => Buffer.from(part, 'base64url').toString('base64url') === part)

const decryptToken = async (token: string, keys: PlayKeys) => {
  const { plaintext } = await compactDecrypt(token, keys.decryptionKey, {
    keyManagementAlgorithms: ['A256KW'],
    contentEncryptionAlgorithms: ['A256GCM'],
  })
  const publicKey = createPublicKey({ key: keys.verificationKey, format: 'der', type: 'spki' })
  const { payload } = await compactVerify(plaintext, publicKey, { algorithms: ['ES256'] })
  return verdict.parse(JSON.parse(new TextDecoder().decode(payload)))
}

const assuranceByLabel: readonly (readonly [label: string, assurance: AttestedAssurance])[] = [
  ['MEETS_STRONG_INTEGRITY', 'hardware_strong'],
  ['MEETS_DEVICE_INTEGRITY', 'hardware'],
  ['MEETS_BASIC_INTEGRITY', 'software'],
]

/** Few tokens of this device in the last hour. A device that is asked in a loop has a higher level. */
const quietLevels: ReadonlySet<string | undefined> = new Set(['LEVEL_1', 'LEVEL_2'])

/** Verifies a Google Play integrity token of an Android app; only the app's owner can decrypt it. */
export const verifyPlayIntegrity = async (
  evidence: Evidence,
  trust: PlayTrust,
): Promise<AttestationResult> => {
  const app = trust.packages.find(({ name }) => name === evidence.packageName)
  const keys = trust.keysOf(evidence.packageName)
  if (!app || !keys) return { attested: false, reason: 'app_unknown' }
  const token = isCanonical(evidence.integrityToken)
    ? await decryptToken(evidence.integrityToken, keys).catch(() => undefined)
    : undefined
  if (!token) return { attested: false, reason: 'token_unreadable' }
  const { requestDetails: request, appIntegrity, deviceIntegrity, accountDetails } = token
  assertEvidence(request.requestPackageName === app.name, 'app_unknown')
  const bound = evidence.requestType === 'classic' ? request.nonce : request.requestHash
  assertEvidence(bound === evidence.challenge, 'challenge_mismatch')
  const ageMs = trust.at.getTime() - Number(request.timestampMillis)
  assertEvidence(ageMs <= ageMsMax && ageMs >= -aheadMsMax, 'token_stale')
  assertEvidence(appIntegrity.appRecognitionVerdict === 'PLAY_RECOGNIZED', 'app_not_from_store')
  assertEvidence(appIntegrity.packageName === app.name, 'app_unknown')
  const digests = appIntegrity.certificateSha256Digest ?? []
  assertEvidence(
    digests.length > 0 && digests.every((digest) => app.certificateDigests.includes(digest)),
    'app_signer_unknown',
  )
  assertEvidence(accountDetails?.appLicensingVerdict !== 'UNLICENSED', 'app_unlicensed')
  const labels = deviceIntegrity.deviceRecognitionVerdict
  assertEvidence(!labels.includes('MEETS_VIRTUAL_INTEGRITY'), 'device_virtual')
  const level = assuranceByLabel.find(([label]) => labels.includes(label))
  if (!level) return { attested: false, reason: 'device_unrecognised' }
  const [, assurance] = level
  const isQuiet = quietLevels.has(deviceIntegrity.recentDeviceActivity?.deviceActivityLevel)
  const counts = isQuiet && assurance !== 'software'
  return {
    attested: true,
    assurance,
    root: counts ? { name: app.name, app: { kind: 'app', name: app.name } } : undefined,
  }
}

import { cellTagPattern, keyPurposes } from '@pohf/protocol'
import { z } from 'zod'
import { publicPoint, type StatementKey } from './key-pair.ts'
import {
  keepRetiredMs,
  kidOf,
  publicJwkOf,
  publishAheadMs,
  publishUntilMax,
  type PublishedJwk,
} from '../rules.ts'
import { signerIdPattern } from '../signer-id.ts'
import { readJws, signJws } from './jws.ts'

export const manifestTyp = 'pohf-keys+jwt'
const requestTyp = 'pohf-key-request+jwt'
const revocationTyp = 'pohf-key-revocation+jwt'

const hash = z.string().regex(/^[A-Za-z0-9_-]{43}$/)
const instantMs = z.int().min(0).max(8_640_000_000_000)
const signerId = z.string().regex(signerIdPattern)
const cell = z.string().regex(cellTagPattern)
const purpose = z.enum(keyPurposes)

const keysMax = 4_000
const requestKey = z.strictObject({
  kid: hash,
  ...publicPoint.shape,
  purpose,
  /** When it leaves the published keys. It signs until the longest credential would outlive this. */
  publishUntil: instantMs,
})
const manifestKey = requestKey.extend({ signer: signerId, cell, signFrom: instantMs })
export type ManifestKey = z.output<typeof manifestKey>

const manifestSchema = z
  .strictObject({
    version: z.int().min(1).max(1_000_000_000),
    /** The hash of the version before; null in the first. */
    previous: hash.nullable(),
    issuedAt: instantMs,
    admission: publicPoint,
    /** Each signer with the key that signs its requests and revocations. */
    signers: z.array(z.strictObject({ signer: signerId, cell, ...publicPoint.shape })).max(64),
    keys: z.array(manifestKey).max(keysMax),
    /** `until`: when the revoked key would have left the published keys. */
    revocations: z.array(z.strictObject({ kid: hash, at: instantMs, until: instantMs })).max(keysMax),
  })
  .refine(
    ({ version, previous }) => (version === 1) === (previous === null),
    'only version 1 has no previous',
  )
  .refine(({ keys }) => keys.every((key) => kidOf(key) === key.kid), 'a kid is not the thumbprint of its key')
  .refine(({ keys }) => new Set(keys.map(({ kid }) => kid)).size === keys.length, 'a kid occurs twice')
  .refine(
    ({ signers }) => new Set(signers.map(({ signer }) => signer)).size === signers.length,
    'a signer occurs twice',
  )
export type Manifest = z.output<typeof manifestSchema>

/** A manifest that the admission key signed. */
export type VerifiedManifest = { readonly jws: string; readonly hash: string; readonly manifest: Manifest }

/** Verifies a manifest. Only the admission key with this thumbprint is trusted, whoever carried the manifest. */
export const verifyManifest = (jws: unknown, admissionKid: string): VerifiedManifest => {
  const read = readJws(jws, manifestTyp)
  const manifest = manifestSchema.parse(read.payload)
  if (read.kid !== admissionKid || kidOf(manifest.admission) !== admissionKid)
    throw new Error(`a key manifest is signed by admission key ${read.kid}, expected ${admissionKid}`)
  if (!read.isSignedBy(manifest.admission))
    throw new Error(
      `the signature of key manifest version ${manifest.version} by ${admissionKid} does not verify`,
    )
  return { jws: String(jws), hash: read.hash, manifest }
}

/** The thumbprint of the admission key that a manifest names. Nothing is verified. */
export const admissionOf = (jws: string): string | undefined => {
  try {
    return readJws(jws, manifestTyp).kid
  } catch {
    return undefined
  }
}

/** What a signer says about itself, to be admitted. */
const keyRequest = z.strictObject({
  signer: signerId,
  cell,
  at: instantMs,
  identity: publicPoint,
  keys: z.array(requestKey).max(keysMax),
})
export type KeyRequest = z.output<typeof keyRequest>

export const signRequest = (key: StatementKey, request: Omit<KeyRequest, 'identity'>): string =>
  signJws(key, requestTyp, { ...request, identity: key.point })

/** Reads a request; its signer has proved that it holds the identity key that the request names. */
export const verifyRequest = (jws: unknown): KeyRequest => {
  const read = readJws(jws, requestTyp)
  const request = keyRequest.parse(read.payload)
  if (kidOf(request.identity) !== read.kid || !read.isSignedBy(request.identity))
    throw new Error(`the request of signer ${request.signer} is not signed by its identity key`)
  return request
}

const revocationSchema = z.strictObject({ kid: hash, signer: signerId, at: instantMs })
export type Revocation = z.output<typeof revocationSchema>

export const signRevocation = (key: StatementKey, revocation: Revocation): string =>
  signJws(key, revocationTyp, revocation)

/**
 * Verifies a revocation. Every admitted signer may revoke every key, also one whose own keys are revoked: the order of
 * two revocations cannot be proved, so an order that mattered would make two apis publish different keys.
 */
export const verifyRevocation = (jws: unknown, manifest: Manifest): Revocation => {
  const read = readJws(jws, revocationTyp)
  const revocation = revocationSchema.parse(read.payload)
  const signer = manifest.signers.find((each) => each.signer === revocation.signer)
  if (!signer) throw new Error(`signer ${revocation.signer} is not admitted and revokes nothing`)
  if (kidOf(signer) !== read.kid || !read.isSignedBy(signer))
    throw new Error(`a revocation of key ${revocation.kid} is not signed by signer ${revocation.signer}`)
  if (!manifest.keys.some(({ kid }) => kid === revocation.kid))
    throw new Error(`key ${revocation.kid} of a revocation is not in manifest version ${manifest.version}`)
  return revocation
}

/** The key that a revocation names. Nothing is verified. */
export const revokedKidOf = (jws: unknown): string | undefined => {
  try {
    return revocationSchema.parse(readJws(jws, revocationTyp).payload).kid
  } catch {
    return undefined
  }
}

type ManifestRevocation = Manifest['revocations'][number]

/** What the operator who admits a request decides. */
export type AdmissionTerms = {
  /** When a new key may begin to sign: long enough after it was published, unless the operator says at once. */
  readonly signFrom: 'published-ahead' | 'at-once'
  /** Thumbprints of identity keys of new signers, compared by the operator: a request alone does not say whose it is. */
  readonly newIdentities: readonly string[]
}
type Admission = AdmissionTerms & {
  readonly request: KeyRequest
  readonly revocations: readonly Revocation[]
  readonly now: number
}

const admittedKeys = (current: Manifest | undefined, admission: Admission): ManifestKey[] => {
  const { request, now, signFrom } = admission
  const before = new Map(current?.keys.map((key) => [key.kid, key]))
  const entries = request.keys.map((key): ManifestKey => {
    const known = before.get(key.kid)
    if (known && (known.signer !== request.signer || known.purpose !== key.purpose))
      throw new Error(`key ${key.kid} is a ${known.purpose} key of ${known.signer} already`)
    if (kidOf(key) !== key.kid) throw new Error(`kid ${key.kid} is not the thumbprint of its key`)
    const aheadMs = signFrom === 'at-once' ? 0 : publishAheadMs(key.purpose)
    return {
      ...key,
      publishUntil: Math.min(key.publishUntil, publishUntilMax(key.purpose, now)),
      signer: request.signer,
      cell: request.cell,
      signFrom: known?.signFrom ?? now + aheadMs,
    }
  })
  const requested = new Map(entries.map((key) => [key.kid, key]))
  const kept = (current?.keys ?? []).map((key) => requested.get(key.kid) ?? key)
  return [...kept, ...entries.filter((key) => !before.has(key.kid))].filter((key) => key.publishUntil > now)
}

const signersWith = (
  current: Manifest | undefined,
  { request, newIdentities }: Admission,
): Manifest['signers'] => {
  const entry = { signer: request.signer, cell: request.cell, ...request.identity }
  const known = current?.signers.find(({ signer }) => signer === request.signer)
  if (known && kidOf(known) !== kidOf(entry))
    throw new Error(`signer ${request.signer} is admitted with another identity key`)
  if (!known && !newIdentities.includes(kidOf(entry)))
    throw new Error(
      `signer ${request.signer} with identity ${kidOf(entry)} is new. If pohf keys admission show prints this identity on its machine, add --identity ${kidOf(entry)}`,
    )
  return known ? (current?.signers ?? []) : [...(current?.signers ?? []), entry]
}

/** The next version: the present one with the keys of a request, and with every revocation that is known. */
export const nextManifest = (
  key: StatementKey,
  current: VerifiedManifest | undefined,
  admission: Admission,
): string => {
  const { now } = admission
  const keys = admittedKeys(current?.manifest, admission)
  const until = new Map(keys.map(({ kid, publishUntil }) => [kid, publishUntil]))
  const earlier = current?.manifest.revocations ?? []
  const added = admission.revocations
    .filter(({ kid }) => until.has(kid) && !earlier.some((each) => each.kid === kid))
    .map(({ kid, at }): ManifestRevocation => ({ kid, at, until: until.get(kid) ?? now }))
  const revocations = [...earlier, ...added].filter((each) => each.until > now)
  const revoked = new Set(revocations.map(({ kid }) => kid))
  const manifest: Manifest = {
    version: (current?.manifest.version ?? 0) + 1,
    previous: current?.hash ?? null,
    issuedAt: now,
    admission: key.point,
    signers: signersWith(current?.manifest, admission),
    keys: keys.filter(({ kid }) => !revoked.has(kid)),
    revocations,
  }
  return signJws(key, manifestTyp, manifestSchema.parse(manifest))
}

/** A key that signs now must stay published for as long as the longest credential lives. */
export const maySign = (key: ManifestKey, now: number): boolean => now < key.publishUntil - keepRetiredMs

/** The key set of all signers, in the order of the manifest: every api publishes the same. */
export const publishedKeysOf = (
  manifest: Manifest,
  isRevoked: (kid: string) => boolean,
  now: number,
): PublishedJwk[] =>
  manifest.keys
    .filter(({ kid, publishUntil }) => publishUntil > now && !isRevoked(kid))
    .map(({ kid, x, y, purpose: use }) => ({ ...publicJwkOf({ x, y, kid }), pohf_purpose: use }))

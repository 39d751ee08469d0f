import { createHash } from 'node:crypto'
import { assurances, rootKinds, rootsMax, type Assurance } from '@pohf/protocol'
import type { ValidProof } from '../members/index.ts'
import type { ShownRoot } from '../roots/index.ts'
import type { DeviceAssurance } from './devices/attestation.ts'

export type GeoPoint = { readonly lat: number; readonly lng: number }
const earthRadiusKm = 6_371
const radians = (degrees: number) => (degrees * Math.PI) / 180

/** Great-circle distance. */
export const distanceKm = (a: GeoPoint, b: GeoPoint): number => {
  const dLat = radians(b.lat - a.lat)
  const dLng = radians(b.lng - a.lng)
  const h =
    Math.sin(dLat / 2) ** 2 + Math.cos(radians(a.lat)) * Math.cos(radians(b.lat)) * Math.sin(dLng / 2) ** 2
  return 2 * earthRadiusKm * Math.asin(Math.min(1, Math.sqrt(h)))
}

/** The speed of an airliner. Locations are stored to about a kilometre, so short moves in no time are tolerated. */
const speedKmhMax = 1_000
const toleranceKm = 5
export const isPlausibleMove = (from: GeoPoint & { at: Date }, to: GeoPoint & { at: Date }): boolean => {
  const km = distanceKm(from, to)
  const hours = Math.max(0, to.at.getTime() - from.at.getTime()) / 3_600_000
  return km <= toleranceKm || km <= hours * speedKmhMax
}

/** Whether the node reports a failure of the contract itself (revert, out of gas) rather than of the node. */
export const isContractRejection = (error: { readonly code: number; readonly message: string }): boolean =>
  error.code === 3 ||
  /revert|out of gas|outofgas|oog|opcode|invalid ?jump|stack (over|under)flow/i.test(error.message)
const hex32 = /^(?:0x|sha-?256[:=-])?([0-9a-f]{64})$/i
const base64Of32 = /^(?:sha-?256[:=-])?([A-Za-z0-9+/_-]{43})=?$/i
/**
 * The canonical form of a photo hash: hex and base64, upper case, prefixes and spaces around one SHA-256 give one
 * key; other text is kept.
 */
export const canonicalPhotoHash = (photoHash: string): string => {
  const text = photoHash.trim()
  const [, hex] = hex32.exec(text) ?? []
  if (hex !== undefined) return `sha256:${hex.toLowerCase()}`
  const [, base64] = base64Of32.exec(text) ?? []
  if (base64 !== undefined) return `sha256:${Buffer.from(base64, 'base64').toString('hex')}`
  return `text:${photoHash}`
}

export const nonceMinutes = 5

/** How long an attestation is valid. Play reports a momentary state, so it expires sooner. */
export const attestationDays = { webauthn: 30, app_attest: 30, play_integrity: 1 } as const

type WalletMessageFields = {
  readonly baseUrl: string
  readonly nonce: string
  readonly issuedAt: Date
  readonly expiresAt: Date
  readonly agentId: string
  readonly wallet?: string | undefined
  readonly chainId?: number | undefined
  readonly memberId?: string | undefined
}
/** The message that the wallet signs: EIP-4361 when the wallet is known, else our own text with the same facts. */
export const walletMessage = (text: WalletMessageFields): string => {
  const { host } = new URL(text.baseUrl)
  const memberPhrase = text.memberId === undefined ? '' : ` for the member ${text.memberId}`
  const statement = `Bind this wallet to a verified human${memberPhrase}, as asked by ${text.agentId}.`
  const times = [
    `Nonce: ${text.nonce}`,
    `Issued At: ${text.issuedAt.toISOString()}`,
    `Expiration Time: ${text.expiresAt.toISOString()}`,
  ]
  if (text.wallet === undefined)
    return [
      `${host} asks you to sign with your wallet.`,
      '',
      statement,
      '',
      `URI: ${text.baseUrl}`,
      ...times,
    ].join('\n')
  const head = [`${host} wants you to sign in with your Ethereum account:`, text.wallet, '', statement, '']
  return [...head, `URI: ${text.baseUrl}`, 'Version: 1', `Chain ID: ${text.chainId ?? 1}`, ...times].join(
    '\n',
  )
}

/**
 * Whether the attested assurance is `hardware` or `hardware_strong`. A certificate of level 1 suffices for it and proves no key
 * in hardware: see `keepsKeysInHardware`.
 */
export const isHardware = (device: DeviceAssurance | undefined): boolean =>
  device === 'hardware' || device === 'hardware_strong'

/** What a proof says of an act of its person. */
export const proofRoot = ({ named, human, checkedAt, level, ...facts }: ValidProof): ShownRoot => ({
  ...facts,
  // Whose word it is decides what it is worth: the reader's list of issuers, not we.
  level: named ? 'low' : level,
  key: human,
  at: checkedAt,
})

const levelOf = ({ level }: ShownRoot): number => assurances.indexOf(level)

/** The roots that a credential names and spends from, the strongest first: by level, then those that count humans. */
export const orderRoots = (roots: readonly ShownRoot[]): readonly ShownRoot[] =>
  roots
    .toSorted(
      (a, b) =>
        levelOf(b) - levelOf(a) ||
        Number(b.counted) - Number(a.counted) ||
        rootKinds.indexOf(a.kind) - rootKinds.indexOf(b.kind),
    )
    .slice(0, rootsMax)

/** A passkey, an enrolment, a wallet, an address or a history raises nothing: a script can have them. */
export const assuranceOf = (roots: readonly ShownRoot[]): Assurance =>
  assurances[Math.max(0, ...roots.map(levelOf))] ?? 'low'

/** The text that a device signs for an act: it contains the nonce, the session and the thumbprint of the session's key. */
export const boundChallenge = (
  nonce: string,
  { sessionId, jkt }: { readonly sessionId: string; readonly jkt: string },
): string =>
  createHash('sha256').update(['pohf-attest-1', nonce, sessionId, jkt].join('\0')).digest('base64url')

/** How long a verdict about a member raises personhood: as long as a session can get its first credential. */
export const memberVerdictMs = 24 * 3_600_000

/** Presence rests on a session of the member that ended at most this long ago. */
export const presenceSessionMs = 15 * 60_000

import { createHash } from 'node:crypto'
import {
  credentialClaims,
  keyPurposes,
  lifetimeDays,
  onchainClaims,
  testLifetimeDays,
  type CredentialClaims,
} from '@pohf/protocol'
import { z } from 'zod'
import { canonicalJson } from '../platform/ops/canonical.ts'

declare const validatedBrand: unique symbol
/** Claims that were checked. Only `lint` makes one, and only this can be signed. */
export type ValidatedClaims = CredentialClaims & { readonly [validatedBrand]: true }

const dayS = 86_400
const dayMs = 86_400_000

/** Checks claims before they are signed: the closed list, and a lifetime that fits the kind. */
export const validateClaims = (claims: unknown): ValidatedClaims => {
  const checked = credentialClaims.parse(claims)
  const days = checked.test ? testLifetimeDays : lifetimeDays[checked.kind]
  if (checked.exp - checked.iat !== days * dayS)
    throw new Error(`a ${checked.kind} credential lives ${days} days`)
  return checked as ValidatedClaims
}

/** What the journal keeps of a payload: enough to know it again, nothing to read. */
export const payloadHash = (payload: unknown): string =>
  createHash('sha256').update(canonicalJson(payload)).digest('base64url')

/** ECDSA P-256 from DER (two integers) to the 64 bytes of JWS. */
export const rawSignature = (der: Buffer): Buffer => {
  const raw = Buffer.alloc(64)
  let offset = 2
  for (const end of [32, 64]) {
    const length = der.readUInt8(offset + 1)
    const number = der.subarray(offset + 2, offset + 2 + length)
    const trimmed = number.length > 32 ? number.subarray(number.length - 32) : number
    trimmed.copy(raw, end - trimmed.length)
    offset += 2 + length
  }
  return raw
}

export type KeyPurpose = (typeof keyPurposes)[number]

export const onchainTyp = 'pohf-onchain+jwt'
/** Everything but credentials has its own `typ`, its own key and its own shape. */
export const typedPayloads = {
  'statuslist+jwt': {
    purposeOf: () => 'status',
    schema: z.strictObject({
      iss: z.url(),
      sub: z.url(),
      iat: z.int(),
      exp: z.int(),
      ttl: z.int().min(1).max(86_400),
      status_list: z.strictObject({ bits: z.literal(2), lst: z.string().max(2_000_000) }),
    }),
  },
  'vhh-epoch+jwt': {
    purposeOf: () => 'epoch',
    schema: z.looseObject({ iss: z.url(), iat: z.int(), code: z.string(), epoch: z.string() }),
  },
  [onchainTyp]: {
    // The registry is never told of the test key: what it signs cannot reach a chain.
    purposeOf: (payload) => (payload['test'] === true ? 'onchain-test' : 'onchain'),
    schema: onchainClaims,
  },
} as const satisfies Record<
  string,
  { purposeOf: (payload: Readonly<Record<string, unknown>>) => KeyPurpose; schema: z.ZodType }
>
export type Typ = keyof typeof typedPayloads

/** What the journal calls a thing that has no id of its own. */
export const typedId = (typ: Typ, payload: unknown): string => `${typ}:${payloadHash(payload).slice(0, 16)}`

/** The first part of everything that is signed: three members, in this order. */
export const headerOf = (typ: string, kid: string): string =>
  Buffer.from(JSON.stringify({ alg: 'ES256', typ, kid })).toString('base64url')

type PublicJwk = {
  readonly kty: 'EC'
  readonly crv: 'P-256'
  readonly x: string
  readonly y: string
  readonly kid: string
  readonly alg: 'ES256'
  readonly use: 'sig'
}

/** RFC 7638: the hash of the required members in their fixed order. */
const publicJwkOf = (point: { readonly x: string; readonly y: string }): PublicJwk => {
  const kid = createHash('sha256')
    .update(`{"crv":"P-256","kty":"EC","x":"${point.x}","y":"${point.y}"}`)
    .digest('base64url')
  return { kty: 'EC', crv: 'P-256', x: point.x, y: point.y, kid, alg: 'ES256', use: 'sig' }
}

/**
 * pending: published, not yet used. active: signs. retired: verifies only. removed and revoked: no longer published.
 */
type KeyState = 'pending' | 'active' | 'retired' | 'removed' | 'revoked'
export type KeyRecord = {
  readonly kid: string
  readonly purpose: KeyPurpose
  readonly jwk: PublicJwk
  /** Where the back end finds the private part. */
  readonly ref: string
  readonly state: KeyState
  readonly createdAt: number
  /** When it begins to sign, and when its successor takes over. */
  readonly activeFrom: number
  readonly activeUntil: number
  /** When it leaves the published set. */
  readonly removeAt: number
}

/**
 * Verifiers cache keys for minutes, some for a day: a key is shown this long before it signs. A contract must be told of
 * each key by its owner, who may have to wait for others and for a timelock: that takes longer and is done rarely.
 */
const defaultPeriods = { aheadMs: dayMs, activeMs: 30 * dayMs }
const periods: Readonly<Record<KeyPurpose, typeof defaultPeriods>> = {
  live: defaultPeriods,
  test: defaultPeriods,
  status: defaultPeriods,
  epoch: defaultPeriods,
  onchain: { aheadMs: 30 * dayMs, activeMs: 365 * dayMs },
  'onchain-test': defaultPeriods,
}
export const publishAheadMs = (purpose: KeyPurpose): number => periods[purpose].aheadMs
/** The longest credential lives 365 days; a month more for slow clocks and disputes. */
const keepRetiredMs = (365 + 30) * dayMs
/** The successor is made this long before it is needed. */
const prepareAheadMs = (purpose: KeyPurpose) => publishAheadMs(purpose) + 6 * 3_600_000

/** A published key says what it is used for: a stolen test key must not be able to speak for people. */
export type PublishedJwk = PublicJwk & { readonly pohf_purpose: KeyPurpose }
export const publishedJwks = (keys: readonly KeyRecord[]): PublishedJwk[] =>
  keys
    .filter((key) => key.state === 'pending' || key.state === 'active' || key.state === 'retired')
    .map((key) => ({ ...key.jwk, pohf_purpose: key.purpose }))

export const activeKey = (keys: readonly KeyRecord[], purpose: KeyPurpose): KeyRecord | undefined =>
  keys.find((key) => key.purpose === purpose && key.state === 'active')

/** When a new key of this purpose should begin to sign; undefined where none is needed now. */
export const nextActivation = (
  keys: readonly KeyRecord[],
  purpose: KeyPurpose,
  now: number,
): number | undefined => {
  const active = activeKey(keys, purpose)
  const pending = keys.some((key) => key.purpose === purpose && key.state === 'pending')
  if (!active) return pending ? undefined : now
  return !pending && active.activeUntil - now <= prepareAheadMs(purpose)
    ? Math.max(active.activeUntil, now + publishAheadMs(purpose))
    : undefined
}

type NewKey = {
  readonly purpose: KeyPurpose
  readonly generated: { readonly ref: string; readonly x: string; readonly y: string }
  readonly activeFrom: number
  readonly now: number
}
export const newKeyRecord = ({ purpose, generated: made, activeFrom, now }: NewKey): KeyRecord => {
  const jwk = publicJwkOf(made)
  const { activeMs } = periods[purpose]
  return {
    kid: jwk.kid,
    purpose,
    jwk,
    ref: made.ref,
    state: activeFrom <= now ? 'active' : 'pending',
    createdAt: now,
    activeFrom,
    activeUntil: activeFrom + activeMs,
    removeAt: activeFrom + activeMs + keepRetiredMs,
  }
}

/** Every key in the state that it should have at this time. A purpose without a signing key takes its next one early. */
export const advanceKeyStates = (keys: readonly KeyRecord[], now: number): KeyRecord[] => {
  const due = keys.filter(
    (key) => key.state === 'pending' && (key.activeFrom <= now || !activeKey(keys, key.purpose)),
  )
  const succeeded = new Set(due.map((key) => key.purpose))
  return keys.map((key) => {
    if (due.includes(key))
      return { ...key, state: 'active', activeFrom: now, activeUntil: now + periods[key.purpose].activeMs }
    if (key.state === 'active' && succeeded.has(key.purpose))
      return { ...key, state: 'retired', removeAt: now + keepRetiredMs }
    if (key.state === 'retired' && key.removeAt <= now) return { ...key, state: 'removed' }
    return key
  })
}

/** What the checker knows of a credential that was stored or given out. */
export type IssuedCredential = { readonly credentialId: string; readonly jwt: string }
export type JournalLine = { readonly kid: string; readonly id: string; readonly hash: string }
export type JournalDifference = {
  readonly credentialId: string
  readonly fault: 'not_journaled' | 'another_payload' | 'another_key'
}

const decodeJwtPart = (jwt: string, index: number): Readonly<Record<string, unknown>> =>
  JSON.parse(Buffer.from(jwt.split('.')[index] ?? '', 'base64url').toString('utf8')) as Record<
    string,
    unknown
  >

/** What the journal calls a credential, or the token for chains that was given out beside it. */
export const journalIdOf = ({ credentialId, jwt }: IssuedCredential): string =>
  decodeJwtPart(jwt, 0)['typ'] === onchainTyp ? typedId(onchainTyp, decodeJwtPart(jwt, 1)) : credentialId

/** Every credential must have its line: same id, same key, same payload. */
export const compareWithJournal = (
  issued: readonly IssuedCredential[],
  linesOf: ReadonlyMap<string, readonly JournalLine[]>,
): JournalDifference[] =>
  issued.flatMap((each): JournalDifference[] => {
    const { credentialId, jwt } = each
    const own = linesOf.get(journalIdOf(each))
    if (!own) return [{ credentialId, fault: 'not_journaled' }]
    const hash = payloadHash(decodeJwtPart(jwt, 1))
    const same = own.filter((line) => line.hash === hash)
    if (same.length === 0) return [{ credentialId, fault: 'another_payload' }]
    return same.some((line) => line.kid === decodeJwtPart(jwt, 0)['kid'])
      ? []
      : [{ credentialId, fault: 'another_key' }]
  })

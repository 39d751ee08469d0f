import { createHash } from 'node:crypto'
import {
  approvalReportClaims,
  credentialClaims,
  forgingClaims,
  keyPurposes,
  lifetimeDays,
  modes,
  onchainClaims,
  testLifetimeDays,
  type CredentialClaims,
} from '@pohf/protocol'
import { z } from 'zod'
import { canonicalJson } from '../platform/ops/canonical.ts'

declare const validatedBrand: unique symbol
/** Claims that were validated. Only `validateClaims` makes this type, and only this type can be signed. */
export type ValidatedClaims = CredentialClaims & { readonly [validatedBrand]: true }

const dayS = 86_400
const dayMs = 86_400_000

/** Validates claims before they are signed: the closed list of claims, and the lifetime of the kind. */
export const validateClaims = (claims: unknown): ValidatedClaims => {
  const checked = credentialClaims.parse(claims)
  const days = checked.test ? testLifetimeDays : lifetimeDays[checked.kind]
  if (checked.exp - checked.iat !== days * dayS)
    throw new Error(
      `credential ${checked.jti} of kind ${checked.kind} expires after ${(checked.exp - checked.iat) / dayS} days, expected ${days}`,
    )
  return checked as ValidatedClaims
}

/** The hash of a payload in the journal: enough to recognise it, nothing to read. */
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

const derInteger = (number: Buffer): Buffer => {
  const firstNonZero = number.findIndex((byte) => byte !== 0)
  const digits = number.subarray(firstNonZero === -1 ? number.length - 1 : firstNonZero)
  // The first bit is the sign.
  const padding = (digits[0] ?? 0) >= 0x80 ? [0] : []
  return Buffer.from([0x02, digits.length + padding.length, ...padding, ...digits])
}

/** The reverse of `rawSignature`. */
export const derSignature = (raw: Buffer): Buffer => {
  const integers = Buffer.concat([derInteger(raw.subarray(0, 32)), derInteger(raw.subarray(32, 64))])
  return Buffer.concat([Buffer.from([0x30, integers.length]), integers])
}

export type KeyPurpose = (typeof keyPurposes)[number]

export const onchainTyp = 'pohf-onchain+jwt'
/** Every signed type except credentials has its own `typ`, key and schema. */
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
      /** Counts the changes of the list. The signer adds `pohf_journal`, the head of its journal. */
      pohf_version: z.int().min(0),
    }),
  },
  'vhh-epoch+jwt': {
    purposeOf: () => 'epoch',
    schema: z.looseObject({ iss: z.url(), iat: z.int(), code: z.string(), epoch: z.string() }),
  },
  'checkout+jwt': {
    purposeOf: () => 'order',
    schema: z
      .strictObject({
        iss: z.url(),
        jti: z.string().min(1).max(64),
        iat: z.int(),
        exp: z.int(),
        merchant: z.strictObject({ id: z.url(), name: z.string().max(200), website: z.url() }),
        line_items: z
          .array(
            z.strictObject({
              id: z.string().min(1).max(200),
              quantity: z.int().min(1).max(10_000),
              unit_price: z.number().min(0),
            }),
          )
          .length(1),
        total: z.strictObject({ amount: z.int().min(0), currency: z.literal('USD') }),
      })
      .refine(({ iat, exp }) => exp - iat === 600, 'a quote is valid for 10 minutes'),
  },
  'order+jwt': {
    purposeOf: () => 'order',
    schema: z
      .strictObject({
        iss: z.url(),
        /** The agent without a key, and the one order that the token funds. */
        sub: z.string().regex(/^agt_[a-z0-9]{28}$/),
        order: z.string().regex(/^ord_[a-z0-9]{28}$/),
        mode: z.enum(modes),
        iat: z.int(),
        exp: z.int(),
      })
      .refine(({ iat, exp }) => exp - iat === 86_400, 'an order token is valid for 24 hours'),
  },
  'approval-report+jwt': { purposeOf: () => 'report', schema: approvalReportClaims },
  'pohf-forging+jwt': { purposeOf: () => 'forging', schema: forgingClaims },
  [onchainTyp]: {
    // The test key is never added to a registry, so tokens signed by it are not accepted on a chain.
    purposeOf: (payload) => (payload['test'] === true ? 'onchain-test' : 'onchain'),
    schema: onchainClaims,
  },
} as const satisfies Record<
  string,
  { purposeOf: (payload: Readonly<Record<string, unknown>>) => KeyPurpose; schema: z.ZodType }
>
export type Typ = keyof typeof typedPayloads

/** The journal id of a payload that has no id of its own. */
export const typedId = (typ: Typ, payload: unknown): string => `${typ}:${payloadHash(payload).slice(0, 16)}`

/** The JWS header of everything that is signed: three members, in this order. */
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
export const kidOf = (point: { readonly x: string; readonly y: string }): string =>
  createHash('sha256')
    .update(`{"crv":"P-256","kty":"EC","x":"${point.x}","y":"${point.y}"}`)
    .digest('base64url')

/** `kid` must be the thumbprint of the key. */
export const publicJwkOf = ({ x, y, kid }: Pick<PublicJwk, 'x' | 'y' | 'kid'>): PublicJwk => ({
  kty: 'EC',
  crv: 'P-256',
  x,
  y,
  kid,
  alg: 'ES256',
  use: 'sig',
})

/**
 * reserve: made ahead, becomes pending when a successor is needed. pending: published, not yet used. active: signs. retired:
 * verifies only. removed and revoked: no longer published.
 */
type KeyState = 'reserve' | 'pending' | 'active' | 'retired' | 'removed' | 'revoked'
export type KeyRecord = {
  readonly kid: string
  readonly purpose: KeyPurpose
  readonly jwk: PublicJwk
  /** The back end's reference to the private key. */
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
 * Verifiers cache keys for minutes, some for a day: a key is published this long before it signs. The owner of a contract
 * must add each key by a transaction, perhaps through a multisig and a timelock: that takes longer and happens rarely.
 */
const defaultPeriods = { aheadMs: dayMs, activeMs: 30 * dayMs }
const periods: Readonly<Record<KeyPurpose, typeof defaultPeriods>> = {
  live: defaultPeriods,
  test: defaultPeriods,
  status: defaultPeriods,
  epoch: defaultPeriods,
  onchain: { aheadMs: 30 * dayMs, activeMs: 365 * dayMs },
  'onchain-test': defaultPeriods,
  forging: defaultPeriods,
  order: defaultPeriods,
  report: defaultPeriods,
}
export const publishAheadMs = (purpose: KeyPurpose): number => periods[purpose].aheadMs
/** The longest credential lives 365 days; a month more for slow clocks and disputes. */
export const keepRetiredMs = (365 + 30) * dayMs
/**
 * A key that nobody retires signs for at most this long. While the admission key is away, the signer cannot tell others
 * when it retired a key, so this is what bounds the time that the key is published.
 */
const signingMsMax = (purpose: KeyPurpose) => Math.max(365 * dayMs, 2 * periods[purpose].activeMs)
export const publishUntilMax = (purpose: KeyPurpose, from: number): number =>
  from + signingMsMax(purpose) + keepRetiredMs
/** When a key leaves the published set, as its signer knows it now. */
export const publishUntilOf = (key: KeyRecord): number =>
  key.state === 'retired' ? key.removeAt : publishUntilMax(key.purpose, key.createdAt)
/** The successor is made this long before it is needed. */
const prepareAheadMs = (purpose: KeyPurpose) => publishAheadMs(purpose) + 6 * 3_600_000

/** A published key names its purpose, so that verifiers reject live credentials signed with a stolen test key. */
export type PublishedJwk = PublicJwk & { readonly pohf_purpose: KeyPurpose }
/** Keys that are published once they are admitted. */
export const isPublishable = ({ state }: KeyRecord): boolean => state !== 'removed' && state !== 'revoked'

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
  /** `reserve`: it waits until a successor is needed. */
  readonly activeFrom: number | 'reserve'
  readonly now: number
}
export const newKeyRecord = ({ purpose, generated: made, activeFrom, now }: NewKey): KeyRecord => {
  const jwk = publicJwkOf({ x: made.x, y: made.y, kid: kidOf(made) })
  const key = { kid: jwk.kid, purpose, jwk, ref: made.ref, createdAt: now, state: 'reserve' as const }
  return activeFrom === 'reserve'
    ? { ...key, ...activityOf(purpose, now) }
    : activateAt({ ...key, ...activityOf(purpose, now) }, activeFrom, now)
}

const activityOf = (purpose: KeyPurpose, activeFrom: number) => {
  const activeUntil = activeFrom + periods[purpose].activeMs
  return { activeFrom, activeUntil, removeAt: activeUntil + keepRetiredMs }
}

/** Sets when a key begins to sign. */
export const activateAt = (key: KeyRecord, activeFrom: number, now: number): KeyRecord => ({
  ...key,
  state: activeFrom <= now ? 'active' : 'pending',
  ...activityOf(key.purpose, activeFrom),
})

/** A key that was not replaced for a year, as in a signer that was off, would leave the published set too early. */
const retireIfTooOld = (key: KeyRecord, now: number): KeyRecord => {
  const removeAt = publishUntilMax(key.purpose, key.createdAt)
  return (key.state === 'active' || key.state === 'pending') && now >= removeAt - keepRetiredMs
    ? { ...key, state: 'retired', removeAt }
    : key
}

/** Moves every key into its state of this time. A purpose without an active key activates its pending key early. */
export const advanceKeyStates = (records: readonly KeyRecord[], now: number): KeyRecord[] => {
  const keys = records.map((key) => retireIfTooOld(key, now))
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

/** A credential that was stored or handed out, as the check sees it. */
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

/** The journal id of a credential, or of the on-chain token that was issued beside it. */
export const journalIdOf = ({ credentialId, jwt }: IssuedCredential): string =>
  decodeJwtPart(jwt, 0)['typ'] === onchainTyp ? typedId(onchainTyp, decodeJwtPart(jwt, 1)) : credentialId

/** Finds credentials without a matching journal line: same id, same key, same payload. */
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

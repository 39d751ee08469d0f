import { memberCookie, type Mode, type RootClass, type uniquenessLevels } from '@pohf/protocol'
import type { ValidProof } from './people/valid-proof.ts'
import { hmacOf } from '../platform/ops/secrets.ts'

/** Version of the consent text. A change of its meaning needs a new version. Enrolled members are not asked again. */
export const consentVersion = '2026-11-19'
export const linkDays = 7
export const loginHours = 12
export const challengeMinutes = 5
export const recoveryCodesCount = 8
/** After this a new attention check is required: one from half a year ago says little about today. */
export const attentionDaysMax = 180
/** From this age on a new link asks for the check again, so that no day is without a valid one. */
const attentionRenewDays = 150
export const isCheckDue = (attention: { readonly at: Date } | null, now: Date): boolean =>
  attention === null || now.getTime() - attention.at.getTime() > attentionRenewDays * 86_400_000

export type Uniqueness = (typeof uniquenessLevels)[number]
export type PasskeyAssurance = 'software' | 'hardware' | 'hardware_strong'

/** What the issuer of a class counts. An issuer of the others counts humans. */
const countedBy: Partial<Record<RootClass, Uniqueness>> = {
  employer: 'organization',
  number: 'number',
  deposit: 'deposit',
}
const uniquenessOrder: readonly Uniqueness[] = ['external', 'organization', 'deposit', 'number']
/**
 * How certain it is that this member is not a second account of the same human: by the best issuer that counts, else by the best
 * passkey.
 */
export const uniquenessOf = (
  passkeys: readonly PasskeyAssurance[],
  proofs: readonly Pick<ValidProof, 'class' | 'counted'>[],
): Uniqueness => {
  const counted = proofs.filter((proof) => proof.counted).map((proof) => countedBy[proof.class] ?? 'external')
  const byIssuer = uniquenessOrder.find((one) => counted.includes(one))
  if (byIssuer !== undefined) return byIssuer
  if (passkeys.length === 0) return 'none'
  return passkeys.some((assurance) => assurance !== 'software') ? 'attested' : 'device'
}

const order: readonly PasskeyAssurance[] = ['software', 'hardware', 'hardware_strong']
export const bestAssurance = (passkeys: readonly PasskeyAssurance[]): PasskeyAssurance | undefined =>
  order.findLast((assurance) => passkeys.includes(assurance))

type Site = { readonly BASE_URL: string; readonly loopback: boolean }
/** The origin where people enrol. Passkeys need a host name, so on loopback it is localhost, never an IP address. */
export const originOf = ({
  BASE_URL,
  loopback,
}: Site): { readonly origin: string; readonly rpId: string } => {
  const url = new URL(BASE_URL)
  if (loopback) url.hostname = 'localhost'
  return { origin: url.origin, rpId: url.hostname }
}

type Membership = { readonly agentId: string; readonly mode: Mode; readonly memberId: string }
/** The challenge of this member's attention check: a session recorded for another purpose does not carry it. */
export const attentionChallenge = (key: Buffer, member: Membership): string =>
  `att_${hmacOf(key).update([member.agentId, member.mode, member.memberId].join('\0')).digest('base64url')}`

/** Whether a session says of itself that it is an attention check of a member. */
export const isAttentionChallenge = (challenge: string | null): boolean =>
  challenge?.startsWith('att_') ?? false

/** One human, one action, one nullifier. Fields are length-prefixed, so that no two lists encode alike. */
export const nullifierOf = (key: Buffer, fields: readonly string[]): Buffer =>
  fields
    .reduce((mac, field) => mac.update(`${Buffer.byteLength(field)}:`).update(field), hmacOf(key))
    .digest()

export const loginCookie = (token: string): string =>
  `${memberCookie}=${token}; Path=/; Max-Age=${loginHours * 3_600}; Secure; HttpOnly; SameSite=Strict`
export const expiredLoginCookie = `${memberCookie}=; Path=/; Max-Age=0; Secure; HttpOnly; SameSite=Strict`
const cookiePattern = new RegExp(`(?:^|;\\s*)${memberCookie}=([A-Za-z0-9_-]{43,48})(?:;|$)`)
export const readCookie = (header: string | undefined): string | undefined =>
  cookiePattern.exec(header ?? '')?.[1]

/** Before the name of an issuer in the methods of a member. */
export const proofPrefix = 'external:'

/** A member. `refused` says why no personhood credential may be minted. */
export type Member =
  | {
      readonly status: 'enrolled'
      readonly simulated: true
      readonly methods: readonly string[]
      readonly uniqueness: 'none'
    }
  | {
      readonly status: 'enrolled'
      readonly simulated: false
      readonly methods: readonly string[]
      readonly uniqueness: Uniqueness
      readonly attention: Attention
      readonly passkey: { readonly assurance: PasskeyAssurance; readonly at: Date }
      readonly proofs: readonly ValidProof[]
    }
  | { readonly status: 'refused'; readonly reason: RefusalReason }
type Attention = {
  readonly sessionId: string
  readonly quality: number
  readonly scoring: string
  readonly at: Date
}
type RefusalReason = 'duplicate' | 'banned' | 'invited' | 'consented' | 'withdrawn' | 'attention_too_old'

/** Ids with this prefix are reserved: one that is not listed below does not exist, so that a wrong guess shows. */
const reservedPrefix = 'mem_test_'
/** The reserved ids, so that refusals can be tested. */
export const reservedMembers: ReadonlyMap<string, 'human' | 'duplicate' | 'banned'> = new Map([
  ['mem_test_human', 'human'],
  ['mem_test_duplicate', 'duplicate'],
  ['mem_test_banned', 'banned'],
])
/** To a test key any id without the reserved prefix is a simulated person. */
export const simulatedMember = (memberId: string): Member | undefined => {
  const reserved = reservedMembers.get(memberId)
  if (reserved === undefined && memberId.startsWith(reservedPrefix)) return undefined
  if (reserved === 'duplicate' || reserved === 'banned') return { status: 'refused', reason: reserved }
  return { status: 'enrolled', simulated: true, methods: ['simulated'], uniqueness: 'none' }
}

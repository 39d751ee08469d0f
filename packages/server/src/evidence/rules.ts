import type { Components } from '../sessions/index.ts'

/** The scorer's name in every credential: formula, weights and caps below. */
export const scoring = 'rules-2026.11'

const weights = { focus: 0.25, probe: 0.3, input: 0.25, device: 0.1, history: 0.1 } as const
const gazeWeight = 0.15
/** Keeps one zero from erasing everything else in a product. */
const floor = 0.01

type Flag = { readonly cap: number; readonly blocking: boolean }
const blocking = (cap: number): Flag => ({ cap, blocking: true })
const lowering = (cap: number): Flag => ({ cap, blocking: false })

/** Every flag, the quality it caps at, and whether it refuses by itself. */
export const flagCaps = {
  chain_broken: blocking(0),
  nonce_reuse: blocking(0),
  untrusted_events: blocking(0.05),
  automation_env: blocking(0.1),
  replay_match: blocking(0.1),
  honeypot_hit: blocking(0.1),
  impossible_timing: blocking(0.2),
  clock_skew: blocking(0.3),
  device_shared: blocking(0.3),
  no_approach_path: lowering(0.35),
  synthetic_motion: lowering(0.45),
  background: lowering(0.5),
  probe_missed: lowering(0.5),
  insufficient_evidence: lowering(0.55),
  gaze_away: lowering(0.6),
  geo_mismatch: lowering(0.6),
  datacenter_ip: lowering(0.7),
} as const satisfies Record<string, Flag>
export type FlagName = keyof typeof flagCaps

export const componentNames = ['focus', 'probe', 'input', 'device', 'history'] as const

const weightedMean = (parts: readonly (readonly [value: number, weight: number])[]): number => {
  const total = parts.reduce((sum, [, weight]) => sum + weight, 0)
  if (total === 0) return 0
  return Math.exp(
    parts.reduce((sum, [value, weight]) => sum + weight * Math.log(Math.max(floor, value)), 0) / total,
  )
}

/** Weighted geometric mean of what was measured; gaze may only raise it; flags cap it. Three decimals. */
export const qualityOf = (components: Components, flags: readonly FlagName[]): number => {
  const measured = componentNames.flatMap((name) => {
    const value = components[name]
    return value === null ? [] : [[value, weights[name]] as const]
  })
  const plain = weightedMean(measured)
  const withGaze =
    components.gaze === null ? plain : weightedMean([...measured, [components.gaze, gazeWeight]])
  const cap = Math.min(1, ...flags.map((flag) => flagCaps[flag].cap))
  return Math.round(Math.min(Math.max(plain, withGaze), cap) * 1_000) / 1_000
}

/** (hits + 1) / (offered + 2): three of three is .8, for even a perfect record is short. */
export const probeScore = (hits: number, offered: number): number | null =>
  offered === 0 ? null : (hits + 1) / (offered + 2)
export const historyScore = (good: number, bad: number): number => (good + 2) / (good + bad + 4)
export const deviceScores = { none: 0.3, seen: 0.6, passkey: 0.8, attested: 1 } as const

export type Verdict = {
  readonly quality: number
  readonly verified: boolean
  readonly reasons: readonly string[]
}

const qualityMin = 0.6
const focusMin = 0.5
const probeMin = 0.6
const probesMin = 2

type Attention = {
  readonly components: Components
  readonly flags: readonly FlagName[]
  readonly probesOffered: number
  /** Null where no answer was asked for. */
  readonly answerCorrect: boolean | null
}

/** Whether an attended act counts as a human's: every reason against it is named. */
export const judgeAttention = ({ components, flags, probesOffered, answerCorrect }: Attention): Verdict => {
  const quality = qualityOf(components, flags)
  const probesPassed = probesOffered >= probesMin && (components.probe ?? 0) >= probeMin
  const reasons = [
    ...flags.filter((flag) => flagCaps[flag].blocking).map((flag) => `flag_${flag}`),
    ...(quality < qualityMin ? ['quality_low'] : []),
    ...((components.focus ?? 0) < focusMin ? ['focus_low'] : []),
    ...(probesPassed || answerCorrect === true ? [] : ['attention_unproven']),
    ...(answerCorrect === false ? ['answer_wrong'] : []),
  ]
  return { quality, verified: reasons.length === 0, reasons }
}

type Presence = {
  readonly components: Components
  readonly flags: readonly FlagName[]
  /** An enrolled member or an attested device stands behind it. */
  readonly vouched: boolean
  readonly attested: boolean
}
const presenceQualityMax = 0.55

/** Presence has its own rule: a hash that a client sends proves nothing by itself, so somebody must vouch. */
export const judgePresence = ({ components, flags, vouched, attested }: Presence): Verdict => {
  const scored = qualityOf(components, flags)
  const quality = attested ? scored : Math.min(scored, presenceQualityMax)
  const reasons = [
    ...flags
      .filter((flag) => flagCaps[flag].blocking || flag === 'geo_mismatch')
      .map((flag) => `flag_${flag}`),
    ...(vouched ? [] : ['member_not_enrolled']),
  ]
  return { quality, verified: reasons.length === 0, reasons }
}

export type Place = { readonly lat: number; readonly lng: number }
const earthRadiusKm = 6_371
const radians = (degrees: number) => (degrees * Math.PI) / 180

/** Great-circle distance. */
export const distanceKm = (a: Place, b: Place): number => {
  const dLat = radians(b.lat - a.lat)
  const dLng = radians(b.lng - a.lng)
  const h =
    Math.sin(dLat / 2) ** 2 + Math.cos(radians(a.lat)) * Math.cos(radians(b.lat)) * Math.sin(dLng / 2) ** 2
  return 2 * earthRadiusKm * Math.asin(Math.min(1, Math.sqrt(h)))
}

/** An airliner; places are kept to about a kilometre, so short hops in no time are not counted. */
const speedKmhMax = 1_000
const hopKmFree = 5
export const isPlausibleMove = (from: Place & { at: Date }, to: Place & { at: Date }): boolean => {
  const km = distanceKm(from, to)
  const hours = Math.max(0, to.at.getTime() - from.at.getTime()) / 3_600_000
  return km <= hopKmFree || km <= hours * speedKmhMax
}

export const nonceMinutes = 5

/** How long an attestation speaks for its device. Play says how things stand at the moment, so it ages fast. */
export const attestationDays = { webauthn: 30, app_attest: 30, play_integrity: 1 } as const

type WalletText = {
  readonly baseUrl: string
  readonly nonce: string
  readonly issuedAt: Date
  readonly expiresAt: Date
  readonly agentId: string
  readonly wallet?: string | undefined
  readonly chainId?: number | undefined
  readonly memberId?: string | undefined
}
/** What the wallet signs: EIP-4361 where the wallet is known, else a text of ours with the same facts. */
export const walletMessage = (text: WalletText): string => {
  const { host } = new URL(text.baseUrl)
  const who = text.memberId === undefined ? '' : ` for the member ${text.memberId}`
  const statement = `Bind this wallet to a verified human${who}, as asked by ${text.agentId}.`
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

// The formula: from components and flags to a quality and a verdict. docs/evidence/scoring.md gives the reason for each number.
import type { AttentionReason, FlagName, PresenceReason, SessionReason } from '@pohf/protocol/reasons'
import { exponential, ln } from './arithmetic.ts'

export type { FlagName } from '@pohf/protocol/reasons'

/** The version of formula, weights, caps and rules in this package. A change of any of them is a new one. */
export const rulesVersion = 'rules-2026.11.2'

/** Each between 0 and 1; null where it was not measured, which is never held against anybody. */
export type Components = {
  readonly focus: number | null
  readonly probe: number | null
  readonly input: number | null
  readonly gaze: number | null
  readonly device: number | null
  readonly history: number | null
}

export const weights = { focus: 0.25, probe: 0.3, input: 0.25, device: 0.1, history: 0.1 } as const
export const gazeWeight = 0.15
/** Keeps one zero from erasing everything else in a product. */
const floor = 0.01

type Flag = { readonly cap: number; readonly blocking: boolean }
const blocking = (cap: number) => ({ cap, blocking: true }) as const
const lowering = (cap: number) => ({ cap, blocking: false }) as const

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
} as const satisfies Readonly<Record<FlagName, Flag>>
/** Flags that refuse by themselves. */
export type BlockingFlag = {
  [F in FlagName]: (typeof flagCaps)[F]['blocking'] extends true ? F : never
}[FlagName]
const isBlocking = (flag: FlagName): flag is BlockingFlag => flagCaps[flag].blocking

export const componentNames = ['focus', 'probe', 'input', 'device', 'history'] as const

/** Sums run in the order of the list, so that everybody gets the same bits. */
const weightedMean = (parts: readonly (readonly [value: number, weight: number])[]): number => {
  let total = 0
  let sum = 0
  for (const [value, weight] of parts) {
    total += weight
    sum += weight * ln(Math.max(floor, value))
  }
  return total === 0 ? 0 : exponential(sum / total)
}

/**
 * The quality of a session: weighted geometric mean of what was measured; gaze may only raise it; flags cap it. Three
 * decimals.
 */
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
/** The less motion there was, the nearer to undecided. */
const motionSecondsFull = 10
export const inputScore = (p: number, motionSeconds: number): number =>
  0.5 + (p - 0.5) * Math.min(1, motionSeconds / motionSecondsFull)

export type Verdict<R extends SessionReason = SessionReason> = {
  readonly quality: number
  readonly verified: boolean
  readonly reasons: readonly R[]
}

/**
 * The minimum for an attended act. One probe suffices in a browser that passed on an earlier day, and for an approval, where the
 * person signs with a passkey of their own.
 */
export const verifiedRule = {
  qualityMin: 0.6,
  focusMin: 0.5,
  probeMin: 0.6,
  probesMin: 2,
  probesMinShort: 1,
} as const
export const probesMinOf = (oneProbe: boolean): number =>
  oneProbe ? verifiedRule.probesMinShort : verifiedRule.probesMin

/**
 * Motion of a pointer and platform that nobody calibrated may raise the quality and never lowers it. Nor does it after fewer
 * than two probes, that is at a returning browser or an approval: half a second of motion says little, and one hit leaves no
 * room for it.
 */
export const withInput = (
  components: Components,
  input: number | null,
  { calibrated, probes }: { readonly calibrated: boolean; readonly probes: number },
): Components => {
  const withMotion = { ...components, input }
  const mayLower = calibrated && probes >= verifiedRule.probesMin
  return mayLower || qualityOf(withMotion, []) >= qualityOf(components, []) ? withMotion : components
}

type AttentionInput = {
  readonly components: Components
  readonly flags: readonly FlagName[]
  readonly probesOffered: number
  /** One probe suffices: `needsOneProbe`. */
  readonly oneProbe: boolean
  /** Null where no answer was asked for. */
  readonly answerCorrect: boolean | null
}

/** Whether an attended act counts as a human's: every reason against it is named. */
export const evaluateAttention = ({
  components,
  flags,
  probesOffered,
  oneProbe,
  answerCorrect,
}: AttentionInput): Verdict<AttentionReason | `flag_${BlockingFlag}`> => {
  const quality = qualityOf(components, flags)
  const { qualityMin, focusMin, probeMin } = verifiedRule
  const probesPassed = probesOffered >= probesMinOf(oneProbe) && (components.probe ?? 0) >= probeMin
  const reasons = [
    ...flags.filter(isBlocking).map((flag) => `flag_${flag}` as const),
    ...(quality < qualityMin ? (['quality_low'] as const) : []),
    ...((components.focus ?? 0) < focusMin ? (['focus_low'] as const) : []),
    ...(probesPassed || answerCorrect === true ? [] : (['attention_unproven'] as const)),
    ...(answerCorrect === false ? (['answer_wrong'] as const) : []),
  ]
  return { quality, verified: reasons.length === 0, reasons }
}

type PresenceInput = {
  readonly components: Components
  readonly flags: readonly FlagName[]
  readonly attested: boolean
  /** A photo or a location was submitted; without either there is no evidence. */
  readonly evidenced: boolean
}
const presenceQualityMax = 0.55

/** Presence has its own rule: a hash that a client sends proves nothing by itself, so its quality is limited. */
export const evaluatePresence = ({
  components,
  flags,
  ...shown
}: PresenceInput): Verdict<PresenceReason | `flag_${FlagName}`> => {
  const scored = qualityOf(components, flags)
  const quality = shown.attested ? scored : Math.min(scored, presenceQualityMax)
  const reasons = [
    ...flags
      .filter((flag) => isBlocking(flag) || flag === 'geo_mismatch')
      .map((flag) => `flag_${flag}` as const),
    ...(shown.evidenced ? [] : (['evidence_missing'] as const)),
  ]
  return { quality, verified: reasons.length === 0, reasons }
}

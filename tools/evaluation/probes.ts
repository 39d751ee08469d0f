// Computed, not measured: how often attentive people answer pointing probes in time, and how many of them a sequence of
// questions loses. The times of 33 people at a target game are a lognormal behind a shift; each person varies around an
// own centre.
import { probeWindows } from '../../packages/protocol/src/sessions/probes.ts'
import { probeScore, verifiedRule } from '../../packages/scorer/src/index.ts'

const SHIFT_MS = 400
const MU = 6.51
const SIGMA = 0.41
const PEOPLE = 33
/** Variation within one person as a share of their mean: the median person and the most variable one. */
const VARIATION = { median: 0.25, worst: 0.47 } as const
const QUESTIONS_MAX = 6
/** Rings in a picture; one of them is open. */
const RINGS = 7

/** The chance that a standard normal number is below the value (Abramowitz and Stegun 26.2.17, exact to 7.5e-8). */
function normalShare(value: number): number {
  const t = 1 / (1 + 0.2316419 * Math.abs(value))
  const tail =
    (Math.exp((-value * value) / 2) / Math.sqrt(2 * Math.PI)) *
    t *
    (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
  return value >= 0 ? 1 - tail : tail
}

/** Spread of the logarithm behind the shift that gives a person this variation of the whole time. */
function spreadOf(variation: number): number {
  const meanBehindShift = Math.exp(MU + (SIGMA * SIGMA) / 2)
  const ratio = (variation * (SHIFT_MS + meanBehindShift)) / meanBehindShift
  return Math.sqrt(Math.log(1 + ratio * ratio))
}

/** One answer in time. The window opens before the shift, so only its end matters. */
function hitShare(center: number, spread: number): number {
  return normalShare((Math.log(probeWindows.point.toMs - SHIFT_MS) - center) / spread)
}

/** What follows after so many hits of so many questions. */
type NextStep = 'ask' | 'pass' | 'fail'
type Sequence = (probes: number, hits: number) => NextStep

const isEnough = (probes: number, hits: number): boolean =>
  hits >= verifiedRule.probesMin && (probeScore(hits, probes) ?? 0) >= verifiedRule.probeMin

const canStillPass = (probes: number, hits: number): boolean =>
  Array.from({ length: QUESTIONS_MAX - probes }, (_, more) => more + 1).some((more) =>
    isEnough(probes + more, hits + more),
  )

/** Three questions, then three more after fewer than two hits: the rule until November 2026. */
const before: Sequence = (probes, hits) => {
  if (probes < 3 || (probes > 3 && probes < QUESTIONS_MAX)) return 'ask'
  if (isEnough(probes, hits)) return 'pass'
  return probes < QUESTIONS_MAX ? 'ask' : 'fail'
}

/** Stops as soon as the hits suffice, or can no longer. */
const newVisitor: Sequence = (probes, hits) =>
  isEnough(probes, hits) ? 'pass' : canStillPass(probes, hits) ? 'ask' : 'fail'

/** One hit of one suffices; after a miss as a new visitor. */
const returning: Sequence = (probes, hits) => (probes === 1 && hits === 1 ? 'pass' : newVisitor(probes, hits))

export const sequences = { before, newVisitor, returning } as const
export type SequenceName = keyof typeof sequences

/** One way to the end of a check, and how often somebody takes it who hits with this probability. */
export type Ending = {
  readonly probes: number
  readonly hits: number
  readonly passed: boolean
  readonly share: number
}

/** All ways to the end, those with the same counts together. */
export function outcomesOf(sequence: Sequence, hit: number): Ending[] {
  const outcomes: Ending[] = []
  let open = new Map([[0, 1]])
  for (let probes = 0; open.size > 0; probes += 1) {
    const next = new Map<number, number>()
    for (const [hits, share] of open) {
      const step = sequence(probes, hits)
      if (step !== 'ask') outcomes.push({ probes, hits, passed: step === 'pass', share })
      else {
        next.set(hits + 1, (next.get(hits + 1) ?? 0) + share * hit)
        next.set(hits, (next.get(hits) ?? 0) + share * (1 - hit))
      }
    }
    open = next
  }
  return outcomes
}

/** Hit probabilities of people with their weights: the whole distribution, and the worst of 33. */
export type People = {
  readonly all: readonly { readonly hit: number; readonly weight: number }[]
  readonly worst: number
}

/** The worst of 33 is the slowest at the usual variation or an average one at the greatest. */
export function peopleAtProbes(): People {
  const within = spreadOf(VARIATION.median)
  const between = Math.sqrt(Math.max(0, SIGMA * SIGMA - within * within))
  const deviates = Array.from({ length: 801 }, (_, step) => (step - 400) / 100)
  const weights = deviates.map((deviate) => Math.exp((-deviate * deviate) / 2))
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  // The slowest of 33 lies about where 1 in 34 is slower.
  let slowest = 0
  while (normalShare(slowest) < 1 - 1 / (PEOPLE + 1)) slowest += 0.001
  return {
    all: deviates.map((deviate, index) => ({
      hit: hitShare(MU + deviate * between, within),
      weight: (weights[index] ?? 0) / total,
    })),
    worst: Math.min(hitShare(MU + slowest * between, within), hitShare(MU, spreadOf(VARIATION.worst))),
  }
}

type SequenceRates = {
  /** The mean over people who pass, and the worst of 33. */
  readonly pass: number
  readonly worst: number
  /** The mean number of questions. */
  readonly questions: number
  /** How often somebody passes who points at one of the seven rings without looking. */
  readonly guess: number
}
export type ProbeRates = Readonly<Record<SequenceName, SequenceRates>>

const passShare = (outcomes: readonly Ending[]): number =>
  outcomes.reduce((sum, { passed, share }) => sum + (passed ? share : 0), 0)

function ratesOf(sequence: Sequence, people: People): SequenceRates {
  const mean = (value: (outcomes: readonly Ending[]) => number) =>
    people.all.reduce((sum, { hit, weight }) => sum + weight * value(outcomesOf(sequence, hit)), 0)
  return {
    pass: mean(passShare),
    worst: passShare(outcomesOf(sequence, people.worst)),
    guess: passShare(outcomesOf(sequence, 1 / RINGS)),
    questions: mean((outcomes) => outcomes.reduce((sum, { probes, share }) => sum + share * probes, 0)),
  }
}

/** The same people at the sequence of questions until now, and at the one of today. */
export function computeProbes(): ProbeRates {
  const people = peopleAtProbes()
  return {
    before: ratesOf(before, people),
    newVisitor: ratesOf(newVisitor, people),
    returning: ratesOf(returning, people),
  }
}

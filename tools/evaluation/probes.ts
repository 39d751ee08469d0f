// Computed, not measured: how often attentive people answer pointing probes in time. The times of 33 people at a target
// game are a lognormal behind a shift; each person varies around an own centre.
const SHIFT_MS = 400
const MU = 6.51
const SIGMA = 0.41
const PEOPLE = 33
const WINDOW_MS = [250, 2_500] as const
/** Variation within one person as a share of their mean: the median person and the most variable one. */
const VARIATION = { median: 0.25, worst: 0.47 } as const

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

/** Two of three answers in time. The window opens before the shift, so only its end matters. */
function passOf(center: number, spread: number): number {
  const single = normalShare((Math.log(WINDOW_MS[1] - SHIFT_MS) - center) / spread)
  return 3 * single * single - 2 * single * single * single
}

export type ProbeRates = { readonly pass: number; readonly worst: number }

/** The mean over people, and the worst of 33: the slowest at the usual variation or an average one at the greatest. */
export function computeProbes(): ProbeRates {
  const within = spreadOf(VARIATION.median)
  const between = Math.sqrt(Math.max(0, SIGMA * SIGMA - within * within))
  let sum = 0
  let weights = 0
  for (let step = -400; step <= 400; step += 1) {
    const deviate = step / 100
    const weight = Math.exp((-deviate * deviate) / 2)
    sum += weight * passOf(MU + deviate * between, within)
    weights += weight
  }
  // The slowest of 33 lies about where 1 in 34 is slower.
  let slowest = 0
  while (normalShare(slowest) < 1 - 1 / (PEOPLE + 1)) slowest += 0.001
  return {
    pass: sum / weights,
    worst: Math.min(passOf(MU + slowest * between, within), passOf(MU, spreadOf(VARIATION.worst))),
  }
}

import { deviation, ln, mean } from './arithmetic.ts'
import { differences, energy, lagged, largest, share, smooth } from './series.ts'
import type { Steps } from './steps.ts'
import { SAMPLES_PER_SECOND } from './strokes.ts'

/** How fast it goes, when it is fastest, how the speed rises and falls. */
export function speedFeatures(steps: Steps, seconds: number): number[] {
  const speed = steps.size.map((size) => size * SAMPLES_PER_SECOND)
  const smoothed = smooth(speed)
  const top = largest(speed)
  const smoothTop = largest(smoothed)
  const average = mean(speed)
  const spread = deviation(speed)
  let cubes = 0
  for (const value of speed) cubes += (value - average) * (value - average) * (value - average)
  const acceleration = differences(smoothed)
  const jerk = differences(acceleration)
  const rate = SAMPLES_PER_SECOND * SAMPLES_PER_SECOND
  const jerkCost =
    (energy(jerk) * jerk.length * rate * rate * seconds * seconds * seconds) / SAMPLES_PER_SECOND
  return [
    ln(1 + average),
    ln(1 + top),
    smoothed.indexOf(smoothTop) / smoothed.length,
    spread / (average + 1e-9),
    cubes / speed.length / (spread * spread * spread + 1e-9),
    ln(1 + mean(acceleration.map(Math.abs)) * SAMPLES_PER_SECOND),
    ln(1 + deviation(acceleration) * SAMPLES_PER_SECOND),
    ln(1e-9 + jerkCost / (top * top + 1e-9)),
    mean(speed.slice(-3)) / (top + 1e-9),
    mean(speed.slice(0, 2)) / (top + 1e-9),
    lagged(speed, 1),
    lagged(speed, 2),
    ...peakFeatures(smoothed, smoothTop, seconds),
    ...paceFeatures(steps),
  ]
}

/** Sub-movements: peaks of the speed, the share of the largest, its asymmetry. */
function peakFeatures(speed: readonly number[], top: number, seconds: number): number[] {
  const peaks: number[] = []
  for (let index = 1; index < speed.length - 1; index += 1) {
    const here = speed[index] ?? 0
    if (here > (speed[index - 1] ?? 0) && here >= (speed[index + 1] ?? 0) && here > 0.1 * top)
      peaks.push(here)
  }
  const sorted = peaks.toSorted((left, right) => right - left)
  const crest = speed.indexOf(top)
  let from = crest
  while (from > 0 && (speed[from - 1] ?? 0) <= (speed[from] ?? 0)) from -= 1
  let until = crest
  while (until < speed.length - 1 && (speed[until + 1] ?? 0) <= (speed[until] ?? 0)) until += 1
  let inside = 0
  let all = 0
  let above = 0
  let aboveBefore = 0
  for (let index = 0; index < speed.length; index += 1) {
    const value = speed[index] ?? 0
    all += value
    if (index >= from && index <= until) inside += value
    if (value > top / 2) {
      above += 1
      if (index < crest) aboveBefore += 1
    }
  }
  return [
    peaks.length / seconds,
    (sorted[1] ?? 0) / (top + 1e-9),
    inside / (all + 1e-9),
    above / speed.length,
    aboveBefore / above,
  ]
}

/** The share of the time that the first and last twentieth of the way take, pauses, and repeated or tiny steps. */
function paceFeatures({ dx, dy, size, path }: Steps): number[] {
  let gone = 0
  let head = 0
  let tail = 0
  let same = 0
  let back = 0
  for (let index = 0; index < size.length; index += 1) {
    gone += size[index] ?? 0
    if (gone < 0.05 * path) head += 1
    if (gone > 0.95 * path) tail += 1
    if (index === 0) continue
    const right = dx[index] ?? 0
    const down = dy[index] ?? 0
    const rightBefore = dx[index - 1] ?? 0
    const downBefore = dy[index - 1] ?? 0
    if (right === rightBefore && down === downBefore && (right !== 0 || down !== 0)) same += 1
    if (right * rightBefore + down * downBefore < 0) back += 1
  }
  return [
    head / size.length,
    tail / size.length,
    same / size.length,
    back / size.length,
    share(size, (step) => step === 0),
    share(size, (step) => step > 0 && step < 1.5),
  ]
}

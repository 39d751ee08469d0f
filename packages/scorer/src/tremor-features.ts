import { length, ln, mean } from './arithmetic.ts'
import { differences, energy, lagged, residual } from './series.ts'
import type { Steps } from './steps.ts'
import type { Stroke } from './strokes.ts'

/** Tremor and noise: how large, how white, along or across the way, in slow or in fast motion. */
export function tremorFeatures(stroke: Stroke, { dx, dy, size }: Steps): number[] {
  const restX = residual(stroke.x)
  const restY = residual(stroke.y)
  const second = [...differences(dx), ...differences(dy)]
  const third = [...differences(differences(dx)), ...differences(differences(dy))]
  const fourth = [...differences(differences(differences(dx))), ...differences(differences(differences(dy)))]
  let along = 0
  let across = 0
  const slow: number[] = []
  const fast: number[] = []
  const middle = size.toSorted((left, right) => left - right)[Math.floor(size.length / 2)] ?? 0
  for (let index = 0; index < restX.length; index += 1) {
    const right = (dx[index + 1] ?? 0) + (dx[index + 2] ?? 0)
    const down = (dy[index + 1] ?? 0) + (dy[index + 2] ?? 0)
    const way = length(right, down)
    const offX = restX[index] ?? 0
    const offY = restY[index] ?? 0
    if (way > 0) {
      const forward = (offX * right + offY * down) / way
      const sideways = (offY * right - offX * down) / way
      along += forward * forward
      across += sideways * sideways
    }
    const total = offX * offX + offY * offY
    if ((size[index + 2] ?? 0) <= middle) slow.push(total)
    else fast.push(total)
  }
  return [
    ln(0.01 + Math.sqrt(energy(restX) + energy(restY))),
    lagged(restX, 1) + lagged(restY, 1),
    lagged(restX, 2) + lagged(restY, 2),
    ln((across + 0.05) / (along + 0.05)),
    ln((mean(slow) + 0.02) / (mean(fast) + 0.02)),
    ln((energy(third) + 0.05) / (energy(second) + 0.05)),
    ln((energy(fourth) + 0.05) / (energy(third) + 0.05)),
    ln(across / (restX.length + 1) + 0.01),
  ]
}

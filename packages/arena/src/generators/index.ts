import { bezierMinimumJerk } from './bezier.ts'
import { ghostCursor, ghostCursorTimed } from './ghost-cursor.ts'
import { strokeMorph, strokeReplay } from './human.ts'
import { constantVelocity, playwrightSteps, smoothstep } from './linear.ts'
import { sigmaLognormal } from './sigma-lognormal.ts'
import type { Generator, StrokeLibrary } from './types.ts'
import { windMouse } from './windmouse.ts'

const synthetic = {
  pw_steps: playwrightSteps,
  const_velocity: constantVelocity,
  js_smoothstep: smoothstep,
  ghost_cursor: ghostCursor,
  ghost_cursor_ts: ghostCursorTimed,
  windmouse: windMouse,
  bezier_minjerk: bezierMinimumJerk,
  sigma_lognormal: sigmaLognormal,
} as const satisfies Record<string, Generator>

const human = { stroke_replay: strokeReplay, stroke_morph: strokeMorph } as const satisfies Record<
  string,
  (library: StrokeLibrary) => Generator
>

export type Family = keyof typeof synthetic | keyof typeof human

/** Every family, the simplest first; the last two need a library of human strokes. */
export const families = [...Object.keys(synthetic), ...Object.keys(human)] as readonly Family[]

const isHuman = (family: Family): family is keyof typeof human => Object.hasOwn(human, family)

/** The generator of a family. The human-derived ones refuse to start without a library. */
export const generatorOf = (family: Family, library: StrokeLibrary = []): Generator =>
  isHuman(family) ? human[family](library) : synthetic[family]

const attemptsMax = 12

/** The same generator for somebody who has little time: draws again until a stroke is short enough, else the shortest. */
export const limitDuration =
  (generate: Generator, durationMsMax: number): Generator =>
  (random, from, to) => {
    let best = generate(random, from, to)
    const length = () => best.at(-1)?.t ?? 0
    for (let draw = 1; draw < attemptsMax && length() > durationMsMax; draw += 1) {
      const next = generate(random, from, to)
      if ((next.at(-1)?.t ?? 0) < length()) best = next
    }
    return best
  }

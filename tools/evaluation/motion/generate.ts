// Bots made here from seeds, and people on another clock.
import {
  createRandom,
  families,
  gaussian,
  generatorOf,
  offlineSession,
  uniform,
  type Family,
  type Random,
  type StrokeLibrary,
} from '../../../packages/arena/src/index.ts'
import { toRuns, type MotionPoint } from '../../../packages/scorer/src/index.ts'
import type { Session } from '../data.ts'
import type { Split } from './split.ts'

const FRAME_MS = 1_000 / 60

/** The strokes that an attacker has got hold of: those of the attacker users alone. */
export function attackerLibrary(people: readonly Session[], split: Split): StrokeLibrary {
  return people
    .filter(({ user }) => user !== null && split.attacker.has(user))
    .flatMap(({ points }) => toRuns(points))
}

export function generateBots(library: StrokeLibrary, sessionsPerFamily: number): Session[] {
  return families.flatMap((family, place) =>
    Array.from({ length: sessionsPerFamily }, (_, index) => ({
      family,
      parent: null,
      source: 'generated' as const,
      unit: `generated-${family}-${index}`,
      user: null,
      points: offlineSession(family, 10_000 * (place + 1) + index, library),
    })),
  )
}

/**
 * Each family again with other noise, pace and time law, drawn per session. They are in the training set only, with their
 * parents.
 */
export function generateVariants(library: StrokeLibrary, sessionsPerFamily: number): Session[] {
  return families.flatMap((family, place) =>
    Array.from({ length: sessionsPerFamily }, (_, index) => ({
      family: `${family}_variant`,
      parent: family,
      source: 'generated' as const,
      unit: `variant-${family}-${index}`,
      user: null,
      points: variantSession(family, 500_000 + 10_000 * place + index, library),
    })),
  )
}

function variantSession(family: Family, seed: number, library: StrokeLibrary): MotionPoint[] {
  const random = createRandom(seed)
  const generate = generatorOf(family, library)
  const noise = uniform(random, 0, 1.5)
  const memory = uniform(random, 0, 0.95)
  const pace = uniform(random, 0.7, 1.6)
  const skew = uniform(random, 0.7, 1.4)
  const points: MotionPoint[] = []
  let from = { x: uniform(random, 60, 1_200), y: uniform(random, 60, 700) }
  let now = 0
  while (now < 40_000) {
    const to = { x: uniform(random, 60, 1_200), y: uniform(random, 60, 700) }
    const stroke = generate(random, from, to)
    const last = stroke.at(-1)?.t ?? 0
    let offX = 0
    let offY = 0
    const step = noise * Math.sqrt(1 - memory * memory)
    const bent = stroke.map(({ t, x, y }) => {
      offX = memory * offX + gaussian(random) * step
      offY = memory * offY + gaussian(random) * step
      return { t: now + pace * last * (t / Math.max(last, 1)) ** skew, x: x + offX, y: y + offY }
    })
    points.push(...onFrames(bent, random))
    now += last * pace + 400
    points.push({ t: Math.round(now), x: Math.round(to.x), y: Math.round(to.y), type: 'down' })
    now += 400
    from = to
  }
  return points
}

/** What a browser reports of a path: at each frame the newest place, in whole pixels, where it has changed. */
function onFrames(path: readonly { t: number; x: number; y: number }[], random: Random): MotionPoint[] {
  const points: MotionPoint[] = []
  const first = path[0]
  const last = path.at(-1)
  if (!first || !last) return points
  let at = 0
  for (let t = first.t + random() * FRAME_MS; t <= last.t + FRAME_MS; t += FRAME_MS) {
    while (at < path.length - 1 && (path[at + 1]?.t ?? 0) <= t) at += 1
    const x = Math.round(path[at]?.x ?? 0)
    const y = Math.round(path[at]?.y ?? 0)
    const before = points.at(-1)
    if (!before || before.x !== x || before.y !== y) points.push({ t: Math.round(t), x, y, type: 'move' })
  }
  return points
}

/**
 * The same people, read off by the frame clock that the generated bots go through. Without them in training a model
 * learns the clock: it then takes these people for bots, and every bot of the same clock looks easier than it is.
 */
export function resampleToFrameClock(people: readonly Session[], seed: number): Session[] {
  return people.map((session, index) => {
    const random = createRandom(seed + index)
    const points: MotionPoint[] = []
    let run: MotionPoint[] = []
    const close = () => {
      points.push(...onFrames(run, random))
      run = []
    }
    for (const point of session.points) {
      const before = run.at(-1)
      if (before && (point.type !== 'move' || point.t - before.t > 150 || point.t < before.t)) close()
      if (point.type === 'move') run.push(point)
      else points.push(point)
    }
    close()
    return { ...session, source: 'reclocked' as const, points }
  })
}

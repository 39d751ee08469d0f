// Measures the replay detector: how many replays it finds, how often it takes a person for one, and how long it looks.
import {
  createRandom,
  disguise,
  type Disguise,
  generatorOf,
  offlineSession,
  type Random,
} from '../../../packages/arena/src/index.ts'
import {
  createReplayIndex,
  describeStroke,
  isReplay,
  type ReplayDescriptor,
  type ReplayModel,
  strokeDistance,
  toRuns,
} from '../../../packages/scorer/src/index.ts'
import { createFillerStrokes, type PersonStroke } from './fit.ts'

/** Informative strokes in one session of the evaluation. */
const perSession = 8

type KnownStroke = { readonly user: number; readonly session: number; readonly descriptor: ReplayDescriptor }

const describeAll = (strokes: readonly PersonStroke[], model: ReplayModel): KnownStroke[] =>
  strokes.flatMap(({ user, session, run }) => {
    const descriptor = describeStroke(run, model)
    return descriptor ? [{ user, session, descriptor }] : []
  })

/** Consecutive groups of eight; a rest of fewer is left out. */
const groupIntoSessions = <T>(strokes: readonly T[]): T[][] =>
  Array.from({ length: Math.floor(strokes.length / perSession) }, (_, index) =>
    strokes.slice(index * perSession, (index + 1) * perSession),
  )

const byUser = <T extends { readonly user: number }>(items: readonly T[]): T[][] => [
  ...Map.groupBy(items, ({ user }) => user).values(),
]

type AttackRow = {
  readonly attack: string
  readonly strokes: number
  readonly strokesFound: number
  readonly sessions: number
  readonly sessionsFound: number
}

/** A change of each stroke; or a blend; or the family `stroke_replay` as a browser would report it. */
type AttackMethod = Disguise | 'morph' | 'frames'

const attacks: readonly { readonly name: string; readonly how: AttackMethod }[] = [
  { name: 'exact copy', how: { jitterPx: 0, warp: 0, turns: false } },
  { name: '0.5 px jitter, turned, scaled', how: { jitterPx: 0.5, warp: 0, turns: true } },
  { name: '1 px jitter, 5 % time warp', how: { jitterPx: 1, warp: 0.05, turns: false } },
  { name: '1 px jitter, 5 % time warp, turned, scaled', how: { jitterPx: 1, warp: 0.05, turns: true } },
  { name: '1 px jitter, 10 % time warp, turned, scaled', how: { jitterPx: 1, warp: 0.1, turns: true } },
  { name: '2 px jitter, 20 % time warp, turned, scaled', how: { jitterPx: 2, warp: 0.2, turns: true } },
  { name: '4 px jitter, 30 % time warp, turned, scaled', how: { jitterPx: 4, warp: 0.3, turns: true } },
  { name: 'as a browser reports it at 60 Hz, 0.3 px, turned, scaled 0.7 to 1.4', how: 'frames' },
  { name: 'blend of two strokes', how: 'morph' },
]

type Attacker = { readonly random: Random; readonly strokes: readonly PersonStroke[] }

/** One minute by each attacker, out of the strokes of all. */
const replayInFrames = ({ random, strokes }: Attacker): PersonStroke[] => {
  const library = strokes.map(({ run }) => run)
  const users = new Set(strokes.map(({ user }) => user))
  return [...users].flatMap((user) =>
    toRuns(offlineSession('stroke_replay', Math.floor(random() * 2 ** 31), library)).map((run) => ({
      user,
      session: -1,
      run,
    })),
  )
}

const disguiseAll = ({ random, strokes }: Attacker, how: AttackMethod): PersonStroke[] => {
  if (how === 'frames') return replayInFrames({ random, strokes })
  if (how !== 'morph') return strokes.map((stroke) => ({ ...stroke, run: disguise(random, stroke.run, how) }))
  const morph = generatorOf(
    'stroke_morph',
    strokes.map(({ run }) => run),
  )
  return strokes.map((stroke) => {
    const [first, last] = [stroke.run[0], stroke.run.at(-1)]
    const run = first && last ? morph(random, first, last) : []
    return { ...stroke, run: run.map(({ t, x, y }) => ({ t, x: Math.round(x), y: Math.round(y) })) }
  })
}

/** Every attack by users 101 to 120, whose own strokes are stored, each repeated with other noise. */
function measureAttacks(strokes: readonly PersonStroke[], model: ReplayModel, repeats: number): AttackRow[] {
  const attackers = strokes.filter(({ user }) => user > 100)
  const index = createReplayIndex(model)
  for (const { descriptor } of describeAll(strokes, model)) index.add(descriptor)
  return attacks.map(({ name, how }, attack) => {
    const row = { attack: name, strokes: 0, strokesFound: 0, sessions: 0, sessionsFound: 0 }
    for (let repeat = 0; repeat < repeats; repeat += 1) {
      const random = createRandom(1_000 * attack + repeat)
      const played = describeAll(disguiseAll({ random, strokes: attackers }, how), model)
      const found = played.map(({ user, descriptor }) => ({
        user,
        found: index.find(descriptor).nearest !== undefined,
      }))
      row.strokes += found.length
      row.strokesFound += found.filter((stroke) => stroke.found).length
      for (const session of byUser(found).flatMap(groupIntoSessions)) {
        const matched = session.filter((stroke) => stroke.found).length
        row.sessions += 1
        if (isReplay({ informative: session.length, matched })) row.sessionsFound += 1
      }
    }
    return row
  })
}

type Count = {
  readonly strokes: number
  readonly strokesFound: number
  readonly sessions: number
  readonly sessionsFound: number
}

type SizeRow = {
  readonly size: number
  /** How many of them no person made. */
  readonly generated: number
  /** Everybody who is no attacker; and those of them on whom nothing was fitted. */
  readonly people: Count
  readonly unseen: Count
  readonly lookupMicros: number
  readonly compared: number
}

type ReplayQuery = { readonly user: number; readonly found: boolean }

const count = (asked: readonly ReplayQuery[]): Count => {
  const sessions = byUser(asked).flatMap(groupIntoSessions)
  return {
    strokes: asked.length,
    strokesFound: asked.filter(({ found }) => found).length,
    sessions: sessions.length,
    sessionsFound: sessions.filter((session) =>
      isReplay({ informative: session.length, matched: session.filter(({ found }) => found).length }),
    ).length,
  }
}

/**
 * Innocent people against everybody's stored strokes but those of the session they are in. What fills the index is
 * blended from the other half of the people, never from the strokes that are asked for.
 */
function measureFalsePositives(
  strokes: readonly PersonStroke[],
  model: ReplayModel,
  sizes: readonly number[],
): SizeRow[] {
  const real = describeAll(strokes, model)
  const asked = sizes.map((): ReplayQuery[] => [])
  const spent = sizes.map(() => ({ micros: 0, compared: 0 }))
  for (const isIn of [(user: number) => user <= 50, (user: number) => user > 50 && user <= 100]) {
    const innocents = real.filter(({ user }) => isIn(user))
    const filler = createFillerStrokes(
      strokes.filter(({ user }) => user <= 100 && !isIn(user)),
      model,
      7,
    )
    const index = createReplayIndex(model)
    const amongReal = innocents.map(({ session, descriptor }) =>
      real.some(
        (other) => other.session !== session && strokeDistance(descriptor, other.descriptor) <= model.radius,
      ),
    )
    for (const [at, size] of sizes.entries()) {
      while (index.size < size - real.length) index.add(filler())
      const startedAt = performance.now()
      const answers = innocents.map(({ descriptor }) => index.find(descriptor))
      const sums = spent[at] ?? { micros: 0, compared: 0 }
      sums.micros += (performance.now() - startedAt) * 1_000
      for (const answer of answers) sums.compared += answer.compared
      for (const [who, { user }] of innocents.entries())
        asked[at]?.push({ user, found: amongReal[who] === true || answers[who]?.nearest !== undefined })
    }
  }
  return sizes.map((size, at) => {
    const all = asked[at] ?? []
    return {
      size: Math.max(size, real.length),
      generated: Math.max(0, size - real.length),
      people: count(all),
      unseen: count(all.filter(({ user }) => user > 60)),
      lookupMicros: (spent[at]?.micros ?? 0) / all.length,
      compared: (spent[at]?.compared ?? 0) / all.length,
    }
  })
}

/** Of 8 independent strokes at least 2, each by chance `rate`. */
export const sessionRate = (rate: number): number =>
  1 - (1 - rate) ** perSession - perSession * rate * (1 - rate) ** (perSession - 1)

/** The highest rate that `found` of `asked` still allows with 95 % confidence (Wilson's bound; 3/n for none). */
export const upperRate = (found: number, asked: number): number => {
  if (found === 0) return 3 / asked
  const [rate, z] = [found / asked, 1.645]
  const spread = z * Math.sqrt((rate * (1 - rate)) / asked + (z / (2 * asked)) ** 2)
  return (rate + (z * z) / (2 * asked) + spread) / (1 + (z * z) / asked)
}

export type ReplayReport = {
  readonly attacks: readonly AttackRow[]
  readonly sizes: readonly SizeRow[]
  /** The least share of sessions found among attacks with at most 1 px of jitter. */
  readonly detection: number
  /** The chance that an innocent session is taken for a replay at the largest index: at most so high, with 95 % confidence. */
  readonly falseAlarm: number
}

export function measureReplay(
  strokes: readonly PersonStroke[],
  model: ReplayModel,
  options: { readonly sizes: readonly number[]; readonly repeats: number },
): ReplayReport {
  const attackRows = measureAttacks(strokes, model, options.repeats)
  const sizes = measureFalsePositives(strokes, model, options.sizes)
  const last = sizes.at(-1)
  return {
    attacks: attackRows,
    sizes,
    detection: Math.min(...attackRows.slice(0, 5).map((row) => row.sessionsFound / row.sessions)),
    falseAlarm: last ? sessionRate(upperRate(last.people.strokesFound, last.people.strokes)) : 1,
  }
}

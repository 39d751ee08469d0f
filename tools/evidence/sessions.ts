// Whole sessions judged by the model that ships: how often the flag is raised, and how fast.
import { currentModel } from '../../packages/scorer/src/current-model.ts'
import { judgeMotion } from '../../packages/scorer/src/index.ts'
import { offlineSession } from '../../packages/arena/src/index.ts'
import { readBots, readHumans, type Session } from './data.ts'
import { reclock } from './generate.ts'
import type { Split } from './split.ts'

export type SessionRow = {
  readonly who: string
  readonly sessions: number
  /** Sessions with at least one second of motion. */
  readonly judged: number
  readonly flagged: number
  readonly medianP: number
}

export function judgeSessions(folder: string, split: Split): SessionRow[] {
  const people = readHumans(folder).filter(({ user }) => user !== null && split.test.has(user))
  const captured = readBots(folder).filter(({ source }) => source === 'chromium')
  const families = [...new Set(captured.map(({ family }) => family))]
  return [
    rowOf('test people, as recorded', people),
    rowOf('test people, on the frame clock', reclock(people, 2_000_000)),
    ...families.map((family) =>
      rowOf(
        `${family}, in Chromium`,
        captured.filter((session) => session.family === family),
      ),
    ),
  ]
}

function rowOf(who: string, sessions: readonly Session[]): SessionRow {
  const judged = sessions.map(({ points }) => judgeMotion(points, currentModel)).filter(({ p }) => p !== null)
  const sorted = judged.map(({ p }) => p ?? 0).toSorted((left, right) => left - right)
  return {
    who,
    sessions: sessions.length,
    judged: judged.length,
    flagged: judged.filter(({ synthetic }) => synthetic).length,
    medianP: sorted[Math.floor(sorted.length / 2)] ?? Number.NaN,
  }
}

/** Sessions of one minute judged per second on one core; generating them is not timed. */
export function measureSpeed(): number {
  const sessions = Array.from({ length: 60 }, (_, seed) => offlineSession('sigma_lognormal', seed))
  for (const points of sessions) judgeMotion(points, currentModel)
  const startedAt = performance.now()
  const rounds = 5
  for (let round = 0; round < rounds; round += 1) {
    for (const points of sessions) judgeMotion(points, currentModel)
  }
  return (rounds * sessions.length * 1_000) / (performance.now() - startedAt)
}

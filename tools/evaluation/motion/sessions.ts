// Whole sessions scored by the model that ships: how often the flag is raised, and how fast.
import { currentModel } from '../../../packages/scorer/src/current-model.ts'
import { evaluateMotion } from '../../../packages/scorer/src/index.ts'
import { offlineSession } from '../../../packages/arena/src/index.ts'
import { readBots, readCircles, readHumans, type Session } from '../data.ts'
import { resampleToFrameClock } from './generate.ts'
import type { Split } from './split.ts'

export type SessionRates = {
  readonly who: string
  readonly sessions: number
  /** Sessions with at least one second of motion, and with three. */
  readonly scored: number
  readonly longEnough: number
  readonly flagged: number
  readonly medianP: number
}

const families = (sessions: readonly Session[]) => [...new Set(sessions.map(({ family }) => family))]

export function evaluateSessions(folder: string, split: Split): SessionRates[] {
  const people = readHumans(folder).filter(({ user }) => user !== null && split.test.has(user))
  const captured = readBots(folder).filter(({ source }) => source === 'chromium')
  const circles = readCircles(folder)
  return [
    rowOf('test people, as recorded', people),
    rowOf('test people, on the frame clock', resampleToFrameClock(people, 2_000_000)),
    ...families(captured).map((family) =>
      rowOf(
        `${family}, in Chromium`,
        captured.filter((session) => session.family === family),
      ),
    ),
    ...families(circles).map((family) =>
      rowOf(
        `another study: ${family}`,
        circles.filter((session) => session.family === family),
      ),
    ),
  ]
}

function rowOf(who: string, sessions: readonly Session[]): SessionRates {
  const scored = sessions
    .map(({ points }) => evaluateMotion(points, currentModel))
    .filter(({ p }) => p !== null)
  const sorted = scored.map(({ p }) => p ?? 0).toSorted((left, right) => left - right)
  return {
    who,
    sessions: sessions.length,
    scored: scored.length,
    longEnough: scored.filter(({ motionSeconds }) => motionSeconds >= 3).length,
    flagged: scored.filter(({ synthetic }) => synthetic).length,
    medianP: sorted[Math.floor(sorted.length / 2)] ?? Number.NaN,
  }
}

/** Sessions of one minute scored per second of one core's time, so that a busy machine counts for little. */
export function measureSpeed(): number {
  const sessions = Array.from({ length: 60 }, (_, seed) => offlineSession('sigma_lognormal', seed))
  for (const points of sessions) evaluateMotion(points, currentModel)
  const before = process.cpuUsage()
  const rounds = 5
  for (let round = 0; round < rounds; round += 1) {
    for (const points of sessions) evaluateMotion(points, currentModel)
  }
  const { user, system } = process.cpuUsage(before)
  return (rounds * sessions.length * 1_000_000) / (user + system)
}

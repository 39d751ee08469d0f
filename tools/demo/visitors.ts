// Visitors who are played at the service, and what its scorer says of each. The demo data has these scores and no others.
import { readFileSync } from 'node:fs'
import type { Components, FlagName } from '@pohf/scorer'
import type { SessionCounts } from '../../packages/server/src/platform/db/columns.ts'
import {
  makeStrokes,
  playSession,
  type SessionScript,
} from '../../packages/server/test/fixtures/people/play-session.ts'
import type { Harness } from '../../packages/server/test/fixtures/harness.ts'

type Visitor = {
  readonly name: string
  /** How often this visitor comes, beside the others. */
  readonly weight: number
  readonly script: Omit<SessionScript, 'site'>
}
const seconds = (count: number) => count * 1_000

/** In this order: the last one repeats the motion of the first. */
export const visitors: readonly Visitor[] = [
  { name: 'touch', weight: 20, script: { strokes: makeStrokes(1).slice(0, 3) } },
  { name: 'touch, stays', weight: 12, script: { strokes: makeStrokes(2).slice(0, 6), lastsMs: seconds(24) } },
  { name: 'touch, stays long', weight: 5, script: { strokes: makeStrokes(3), lastsMs: seconds(50) } },
  { name: 'keyboard', weight: 18, script: {} },
  { name: 'keyboard, stays', weight: 12, script: { lastsMs: seconds(14) } },
  { name: 'misses the first question', weight: 10, script: { misses: 1 } },
  { name: 'misses two questions', weight: 5, script: { misses: 2, lastsMs: seconds(20) } },
  { name: 'answers nothing', weight: 4, script: { answers: false } },
  { name: 'page out of view', weight: 3, script: { visible: 0 } },
  { name: 'browser under webdriver', weight: 4, script: { webdriver: true } },
  { name: 'events made by a script', weight: 3, script: { trusted: 0 } },
  { name: 'repeated motion', weight: 2, script: { strokes: makeStrokes(1).slice(0, 3) } },
]

export type VisitorScore = {
  readonly name: string
  readonly quality: number
  readonly verified: boolean
  readonly scoring: string
  readonly components: Components
  readonly flags: readonly FlagName[]
  readonly reasons: readonly string[]
  readonly counted: SessionCounts
}

/** Plays all of them at a live site, and reads what was stored. */
export const playVisitors = async (harness: Harness, site: string): Promise<VisitorScore[]> => {
  const scores: VisitorScore[] = []
  for (const { name, script } of visitors) {
    const { sessionId } = await playSession(harness, { site, ...script })
    const { rows } = await harness.owner.query<Omit<VisitorScore, 'name'>>(
      'select quality, verified, scoring, components, flags, reasons, counted from sessions where session_id = $1',
      [sessionId],
    )
    const [score] = rows
    if (!score) throw new Error(`${name}: ${sessionId} has no score`)
    scores.push({ name, ...score })
  }
  return scores
}

/** As they were played when write-visitor-scores.ts wrote the file; a test plays them again. */
export const visitorScores = JSON.parse(
  readFileSync(new URL('visitor-scores.json', import.meta.url), 'utf8'),
) as readonly VisitorScore[]

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { groupFigures } from './check.ts'

const runOf = (verdict: string, totalMs: number, idleMs: number, questionsMs: readonly number[]) => ({
  times: { verdict, totalMs, idleMs, openingMs: idleMs / 2, endingMs: idleMs / 4, questionsMs },
  session:
    verdict === 'passed'
      ? {
          verified: true,
          quality: 0.692,
          counted: { probes: questionsMs.length, hits: questionsMs.length, motionSeconds: 1.44 },
        }
      : undefined,
  fault: undefined,
})

test('the figures of a group are those of runs that passed, and the others lower the pass rate', () => {
  const passed = Array.from({ length: 10 }, (_, index) =>
    runOf('passed', 4_000 + 100 * index, 400, [1_000, 1_200]),
  )
  const figures = groupFigures([
    ...passed,
    runOf('retry', 60_000, 30_000, [2_500, 2_500, 2_500]),
    { times: undefined, session: undefined, fault: 'the check did not end' },
  ])
  assert.deepEqual(figures, {
    runs: 12,
    passed: 10,
    verified: 10,
    recognised: 0,
    ms: { median: 4_500, p90: 4_800, min: 4_000, max: 4_900 },
    // 4 s of 44.5 s.
    idleShare: 0.09,
    idleMs: { opening: 200, between: 100, ending: 100 },
    questions: { median: 2, max: 2 },
    questionMs: 1_200,
    quality: 0.692,
    motionSeconds: 1.4,
  })
})

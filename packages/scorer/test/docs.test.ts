import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import {
  deviceScores,
  flagCaps,
  gazeWeight,
  historyScore,
  probeScore,
  qualityOf,
  rulesVersion,
  verifiedRule,
  weights,
  type FlagName,
} from '../src/quality.ts'
import { scoreSession } from '../src/score.ts'
import { requiredVisibleMs, requiredVisibleMsReturning } from '../src/visible.ts'
import { keyboardPerson, newVisitorContext, recordOf, fixedModel, type Recording } from './recordings.ts'

const page = readFileSync(new URL('../../../docs/evidence/scoring.md', import.meta.url), 'utf8')
const cells = page
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .map((line) => line.split('|').map((cell) => cell.trim()))

test('docs/evidence/scoring.md has every flag, in order, with its cap and whether it refuses', () => {
  const rows = cells.flatMap(([, name = '', cap, blocking]) => {
    const [, flag] = /^`([a-z_]+)`$/.exec(name) ?? []
    return flag !== undefined && flag in flagCaps ? [[flag, Number(cap), blocking === 'yes']] : []
  })
  const expected = (Object.keys(flagCaps) as FlagName[]).map((flag) => [
    flag,
    flagCaps[flag].cap,
    flagCaps[flag].blocking,
  ])
  assert.deepEqual(rows, expected)
})

test('docs/evidence/scoring.md has the weights, the times, the rule and the version that are in force', () => {
  for (const [name, weight] of Object.entries({ ...weights, gaze: gazeWeight }))
    assert.ok(
      cells.some(([, first, second]) => first === name && Number(second) === weight),
      name,
    )
  assert.ok(page.includes(`${rulesVersion}+`))
  assert.equal(requiredVisibleMs.view, requiredVisibleMs.task)
  assert.ok(page.includes(`${requiredVisibleMs.view / 1_000} s for \`view\` and \`task\``))
  assert.ok(page.includes(`${requiredVisibleMs.work / 1_000} s for \`work\``))
  assert.ok(page.includes(`${requiredVisibleMs.approval / 1_000} s for \`approval\``))
  assert.ok(page.includes(`${requiredVisibleMsReturning / 1_000} s for a returning browser`))
  assert.ok(page.includes(`quality is at least ${verifiedRule.qualityMin}`))
  assert.ok(page.includes(`focus is at least ${verifiedRule.focusMin}`))
  assert.ok(page.includes(`probe score of ${verifiedRule.probeMin}`))
  const best = { focus: 1, probe: probeScore(3, 3), input: 1, gaze: null }
  const recorded = { ...best, device: deviceScores.none, history: historyScore(0, 0) }
  assert.ok(page.includes(`the formula gives at most ${qualityOf(recorded, [])}`))
})

test('the worked examples have the results that docs/evidence/scoring.md states', () => {
  const examples: readonly (readonly [string, Recording])[] = [
    ['attentive person at a keyboard', keyboardPerson()],
    ['the same, 2 of 2', { ...keyboardPerson(), probes: keyboardPerson().probes.slice(0, 2) }],
    ['the same, 2 of 3', keyboardPerson({ answers: [true, true, false] })],
    ['the same, 1 of 3', keyboardPerson({ answers: [true, false, false] })],
    ['webdriver', { ...keyboardPerson(), webdriver: true }],
  ]
  for (const [name, recording] of examples) {
    const row = cells.find(([, first = '']) => first.startsWith(name))
    const { quality, verified } = scoreSession(recordOf(recording), newVisitorContext, fixedModel({}))
    assert.deepEqual([row?.[2], row?.[3]], [String(quality), verified ? 'yes' : 'no'], name)
  }
})

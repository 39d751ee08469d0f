import assert from 'node:assert/strict'
import { test } from 'node:test'
import { budgets, minutesMax, overrunsOf } from './budgets.ts'
import { steps } from './steps.ts'

test('every step of CI has a budget, and no budget is left without its step', () => {
  assert.deepEqual(Object.keys(budgets).toSorted(), steps.map(({ name }) => name).toSorted())
})

test('the budgets of all steps sum to at most 30 minutes', () => {
  const minutes = Object.values(budgets).reduce((sum, each) => sum + each, 0)
  assert.ok(minutes > 0 && minutes <= minutesMax, `they sum to ${minutes} minutes`)
})

test('a step that runs over its budget is named, and one within it is not', () => {
  const overruns = overrunsOf([
    { name: 'types', seconds: 1 },
    { name: 'lint', seconds: 3_600 },
  ])
  assert.equal(overruns.length, 1)
  assert.match(overruns[0] ?? '', /^lint took 3600\.0 s, over its budget of \d+ s$/)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findData, readHumans } from '../data.ts'
import { evaluate } from './evaluate.ts'
import { fitLogistic } from './fit.ts'
import { auc, equalErrorRate, falseRejectionRate } from './metrics.ts'
import { LeakError } from './split.ts'
import { loadDataset, type Dataset } from './dataset.ts'

const data = findData()
const skip = 'missing' in data ? data.missing : false
const folder = 'folder' in data ? data.folder : ''

test('the rates of scores that are known by hand', () => {
  const people = [1, 2, 3, 4]
  assert.equal(auc(people, [-1, 0]), 1)
  assert.equal(auc(people, people), 0.5)
  assert.equal(equalErrorRate(people, [-1, 0]), 0)
  assert.equal(equalErrorRate(people, people), 0.5)
  assert.equal(falseRejectionRate(people, [-1, 0], 0.99), 0)
  assert.equal(falseRejectionRate(people, [0, 2.5], 0.99), 0.5)
  assert.equal(falseRejectionRate(people, [0, 2.5], 0.5), 0)
})

test('the logistic fit finds the side that people are on, and gives the same bits twice', () => {
  const rows = [-2, -1.5, -1, 0.2, 1, 1.5, 2, -0.1].map((value) => Float64Array.of(value))
  const labels = [0, 0, 0, 0, 1, 1, 1, 1]
  const weights = labels.map(() => 1)
  const fit = fitLogistic(rows, labels, weights, 0.1)
  assert.ok((fit.weights[0] ?? 0) > 0.5)
  assert.deepEqual(fitLogistic(rows, labels, weights, 0.1), fit)
})

test('a session whose clock starts again is two sessions', { skip }, () => {
  const sessions = readHumans(folder)
  const of = (user: number) => sessions.filter((session) => session.user === user)
  assert.equal(of(1).length, 2)
  assert.equal(of(62).length, 4)
  for (const { points } of sessions) {
    assert.ok(points.every((point, index) => point.t > (points[index - 1]?.t ?? 0) - 1_000))
  }
})

test(
  'the small form: unseen synthetic families are told from test people, a smuggled test user is caught',
  { skip },
  () => {
    const world = loadDataset(folder, { sessionsPerFamily: 3, variantsPerFamily: 1 })
    const groups = world.split.groups.filter((group) => group.includes('windmouse'))
    const small: Dataset = { ...world, split: { ...world.split, groups } }
    const { families } = evaluate(small, () => {}, [3])
    const windmouse = families.find(({ family }) => family === 'windmouse')
    assert.ok(windmouse && windmouse.auc > 0.99 && windmouse.lostAt95 < 0.05)
    // A test user whose sessions are filed under training: the rows still say whose they are.
    const smuggled = small.people.filter(({ user }) => user === 61)
    assert.ok(smuggled.length > 0)
    const leaky: Dataset = { ...small, variants: [...small.variants, ...smuggled] }
    assert.throws(() => evaluate(leaky, () => {}, [10]), LeakError)
  },
)

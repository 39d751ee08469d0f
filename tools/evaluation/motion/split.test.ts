import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findData } from '../data.ts'
import { LeakError, type Origin, readSplit, assertNoLeak, type Split } from './split.ts'

const split: Split = {
  train: new Set([1, 2]),
  test: new Set([3, 4]),
  attacker: new Set([5]),
  groups: [['windmouse'], ['stroke_replay', 'stroke_morph']],
}
const person = (user: number): Origin => ({ family: 'human', parent: null, user })
const bot = (family: string, parent: string | null = null): Origin => ({ family, parent, user: null })

const check = (trainingRows: readonly Origin[], testRows: readonly Origin[]) => () =>
  assertNoLeak(split, ['stroke_replay', 'stroke_morph'], { trainingRows, testRows })
const trainingRows = [person(1), person(2), bot('windmouse'), bot('windmouse_variant', 'windmouse')]
const testRows = [person(3), person(4), bot('stroke_morph')]

test('a clean split passes', () => {
  assert.doesNotThrow(check(trainingRows, testRows))
})

test('a planted leak is refused: a test user in the training set', () => {
  assert.throws(check([...trainingRows, person(3)], testRows), LeakError)
})

test('a planted leak is refused: an attacker among the people of the training set or the test set', () => {
  assert.throws(check([...trainingRows, person(5)], testRows), LeakError)
  assert.throws(check(trainingRows, [...testRows, person(5)]), LeakError)
})

test('a planted leak is refused: a family of the hidden group, or a variant of one, in the training set', () => {
  assert.throws(check([...trainingRows, bot('stroke_replay')], testRows), LeakError)
  assert.throws(check([...trainingRows, bot('stroke_morph_variant', 'stroke_morph')], testRows), LeakError)
})

test('a planted leak is refused: a family in the test set of a model that was trained with it, a training user in the test set', () => {
  assert.throws(check(trainingRows, [...testRows, bot('windmouse')]), LeakError)
  assert.throws(check(trainingRows, [...testRows, person(1)]), LeakError)
})

const data = findData()
test('the split of the data keeps people apart', { skip: 'missing' in data ? data.missing : false }, () => {
  assert.ok('folder' in data)
  const { train, test: testUsers, attacker, groups } = readSplit(data.folder)
  assert.deepEqual([train.size, testUsers.size, attacker.size], [60, 40, 20])
  assert.equal(new Set([...train, ...testUsers, ...attacker]).size, 120)
  assert.ok(groups.length >= 7)
  assert.equal(new Set(groups.flat()).size, groups.flat().length, 'a family is in two groups')
})

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

const check = (taught: readonly Origin[], judged: readonly Origin[]) => () =>
  assertNoLeak(split, ['stroke_replay', 'stroke_morph'], { taught, judged })
const taught = [person(1), person(2), bot('windmouse'), bot('windmouse_variant', 'windmouse')]
const judged = [person(3), person(4), bot('stroke_morph')]

test('a clean split passes', () => {
  assert.doesNotThrow(check(taught, judged))
})

test('a planted leak is refused: a test user among those who teach', () => {
  assert.throws(check([...taught, person(3)], judged), LeakError)
})

test('a planted leak is refused: an attacker who teaches or is judged as a person', () => {
  assert.throws(check([...taught, person(5)], judged), LeakError)
  assert.throws(check(taught, [...judged, person(5)]), LeakError)
})

test('a planted leak is refused: a family of the hidden group, or a variant of one, that teaches', () => {
  assert.throws(check([...taught, bot('stroke_replay')], judged), LeakError)
  assert.throws(check([...taught, bot('stroke_morph_variant', 'stroke_morph')], judged), LeakError)
})

test('a planted leak is refused: a family judged by a model that saw it, a training user who is judged', () => {
  assert.throws(check(taught, [...judged, bot('windmouse')]), LeakError)
  assert.throws(check(taught, [...judged, person(1)]), LeakError)
})

const data = findData()
test('the split of the data keeps people apart', { skip: 'missing' in data ? data.missing : false }, () => {
  assert.ok('folder' in data)
  const { train, test: judgedUsers, attacker, groups } = readSplit(data.folder)
  assert.deepEqual([train.size, judgedUsers.size, attacker.size], [60, 40, 20])
  assert.equal(new Set([...train, ...judgedUsers, ...attacker]).size, 120)
  assert.ok(groups.length >= 7)
  assert.equal(new Set(groups.flat()).size, groups.flat().length, 'a family is in two groups')
})

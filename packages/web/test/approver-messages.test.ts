import assert from 'node:assert/strict'
import { test } from 'node:test'
import { errorCatalogue } from '@pohf/protocol'
import { requiredVisibleMs } from '@pohf/scorer'
import type { ShownField } from '@pohf/verify/approvals'
import { decisionRefusals } from '../../server/src/approvals/decisions/facts.ts'
import {
  blockerOf,
  isAnswered,
  isLong,
  isMissed,
  partsOf,
  secondsMin,
} from '../src/approver/approval/rules.ts'
import { durationText, initialsOf, shortHash } from '../src/approver/format.ts'
import { german } from '../src/approver/messages-de.ts'
import { english } from '../src/approver/messages.ts'
import { textOf } from '../src/shared/person/messages.ts'

/** Every text with the way to it. */
const textsOf = (table: unknown, path = ''): [string, string][] =>
  typeof table === 'string'
    ? [[path, table]]
    : Object.entries(table as Record<string, unknown>).flatMap(([name, part]) =>
        textsOf(part, `${path}/${name}`),
      )
const placesIn = (text: string) => [...text.matchAll(/\{\w+\}/g)].map(([place]) => place).toSorted()

test('the German pages say all that the English ones do, with the same places to fill', () => {
  const [ours, theirs] = [textsOf(english), new Map(textsOf(german))]
  assert.ok(ours.length > 150)
  assert.equal(theirs.size, ours.length)
  for (const [path, text] of ours) {
    const other = theirs.get(path)
    assert.ok(other !== undefined && other !== '', path)
    assert.deepEqual(placesIn(other), placesIn(text), path)
  }
})

test('every rule by which a decision is refused has plain words', () => {
  // The others are the codes of the error itself.
  const errors = new Set<string>(['approval_not_found', 'too_late', 'not_pending', 'already_decided'])
  for (const [code] of decisionRefusals)
    if (!errors.has(code) && !(code in errorCatalogue)) assert.ok(textOf(english.rules, code), code)
})

const field = (text: string): ShownField => ({ path: '/a', label: 'A', kind: 'text', text, notes: [] })

test('only the brackets of the renderer become marks', () => {
  assert.deepEqual(partsOf('a\u27e6U+202E\u27e7b'), [
    { text: 'a', isMark: false },
    { text: 'U+202E', isMark: true },
    { text: 'b', isMark: false },
  ])
  assert.deepEqual(partsOf('[U+202E] <mark>x</mark>'), [{ text: '[U+202E] <mark>x</mark>', isMark: false }])
  assert.deepEqual(partsOf(''), [])
})

test('a long value is one that does not fit a phone', () => {
  assert.equal(isLong(field('x'.repeat(600))), false)
  assert.equal(isLong(field('x'.repeat(601))), true)
  assert.equal(isLong(field('x\n'.repeat(13))), true)
})

const ready = {
  isRefused: false,
  phase: 'running',
  progress: { done: 1, of: 1, hits: 1 },
  unread: [],
  secondsLeft: 0,
  retryAt: null,
  isRecorded: false,
} as const

test('approve waits for the recording, the question, long values and the time, and for nothing else', () => {
  assert.equal(blockerOf(ready), undefined)
  assert.equal(blockerOf({ ...ready, phase: 'opening' })?.what, 'opening')
  assert.equal(blockerOf({ ...ready, phase: 'stopped' })?.what, 'stopped')
  assert.equal(blockerOf({ ...ready, progress: { done: 0, of: 1, hits: 0 } })?.what, 'question')
  assert.equal(blockerOf({ ...ready, progress: { done: 3, of: 3, hits: 0 } })?.what, 'missed')
  assert.deepEqual(blockerOf({ ...ready, unread: [field('x')] }), { what: 'scroll', path: '/a', label: 'A' })
  assert.deepEqual(blockerOf({ ...ready, secondsLeft: 4 }), { what: 'seconds', n: 4 })
  assert.equal(blockerOf({ ...ready, isRefused: true, isRecorded: true, retryAt: 'x' })?.what, 'refused')
  // A finished recording waits only for the hour.
  const recorded = { ...ready, phase: 'stopped', secondsLeft: 4, isRecorded: true } as const
  assert.equal(blockerOf(recorded), undefined)
  assert.equal(blockerOf({ ...recorded, retryAt: '2026-11-17T15:00:00Z' })?.what, 'rate')
})

test('nobody is let through before the recording can be verified', () => {
  assert.equal(secondsMin * 1_000, requiredVisibleMs.approval)
})

test('one right answer suffices, and most must be right after a wrong one', () => {
  assert.equal(isAnswered({ done: 1, of: 1, hits: 1 }), true)
  assert.equal(isAnswered({ done: 1, of: 3, hits: 0 }), false)
  assert.equal(isAnswered({ done: 3, of: 3, hits: 2 }), true)
  assert.equal(isMissed({ done: 3, of: 3, hits: 1 }), true)
  assert.equal(isMissed({ done: 0, of: 1, hits: 0 }), false)
})

test('times, hashes and initials are short', () => {
  assert.equal(durationText(english, 26 * 60_000), '26 minutes')
  assert.equal(durationText(english, 116 * 60_000), 'one hour 56 minutes')
  assert.equal(durationText(english, 1_000), 'one second')
  assert.equal(durationText(german, 49 * 3_600_000), '2 Tage eine Stunde')
  assert.equal(shortHash('b41c09xxxxxxx77e2'), 'b41c09…77e2')
  assert.equal(initialsOf('Ledger Assistant of 9'), 'LA')
  assert.equal(initialsOf('<img> x'), 'X')
})

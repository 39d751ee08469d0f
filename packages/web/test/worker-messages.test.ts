import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answerFromValues, validateField } from '../src/worker/fields.ts'
import { starsPerHour, taskSeconds } from '../src/worker/hourly.ts'
import type { AnswerField } from '../src/worker/wire.ts'
import { german } from '../src/worker/messages-de.ts'
import { english } from '../src/worker/messages.ts'

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

const fields: Readonly<Record<'line' | 'many' | 'yes', AnswerField>> = {
  line: { name: 'line', label: 'Line', type: 'line', required: true, maxLength: 5 },
  many: { name: 'many', label: 'Many', type: 'many', required: false, options: ['a', 'b'] },
  yes: { name: 'yes', label: 'Yes?', type: 'yes_no', required: true },
}

test('a field is missing, too long or fine; no is an answer, and white space is none', () => {
  assert.equal(validateField(fields.line, { line: '   ' }), 'missing')
  assert.equal(validateField(fields.line, { line: 'longer' }), 'long')
  assert.equal(validateField(fields.line, { line: ' fits ' }), undefined)
  assert.equal(validateField(fields.yes, { yes: false }), undefined)
  assert.equal(validateField(fields.yes, {}), 'missing')
  assert.equal(validateField(fields.many, { many: [] }), undefined)
})

test('what was left empty is not sent', () => {
  const sent = answerFromValues([fields.line, fields.many, fields.yes], {
    line: ' x ',
    many: [],
    yes: false,
    other: 1,
  })
  assert.deepEqual(sent, { line: 'x', yes: false })
})

test('pay by the hour comes from the measured time, else from the stated one, and is left out where none is known', () => {
  const measured = { medianSeconds: 90, estMinutes: 1 }
  assert.equal(starsPerHour(12, taskSeconds(measured)), 480)
  assert.equal(starsPerHour(12, taskSeconds({ ...measured, medianSeconds: null })), 720)
  assert.equal(starsPerHour(12, taskSeconds({ medianSeconds: null, estMinutes: 0 })), undefined)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answerFormOf, answerBySchema } from './answer-schema.ts'

const codeOf = (schema: unknown) => {
  const form = answerFormOf(schema)
  return 'errors' in form ? form.errors[0]?.code : undefined
}
const kindOf = (schema: unknown) => {
  const form = answerFormOf(schema)
  assert.ok('value' in form, JSON.stringify(form))
  return form.value[0]?.type
}

test('each part of the subset becomes one kind of field', () => {
  assert.equal(kindOf(undefined), 'paragraph')
  assert.equal(kindOf({ type: 'string' }), 'paragraph')
  assert.equal(kindOf({ type: 'string', maxLength: 200 }), 'line')
  assert.equal(kindOf({ type: 'string', enum: ['a', 'b'] }), 'choice')
  assert.equal(kindOf({ type: 'boolean', title: 'Is it blue?' }), 'yes_no')
  assert.equal(kindOf({ type: 'integer', minimum: 1, maximum: 7 }), 'scale')
  assert.equal(kindOf({ type: 'array', items: { type: 'string', enum: ['a', 'b'] } }), 'many')
})

const object = (properties: object, rest: object = {}) => ({
  type: 'object',
  properties,
  required: Object.keys(properties).slice(0, 1),
  ...rest,
})
const eleven = Object.fromEntries(Array.from({ length: 11 }, (_, n) => [`f${n}`, { type: 'boolean' }]))
for (const [name, schema, code] of [
  ['a number', { type: 'number' }, 'type_not_supported'],
  ['no schema', 'string', 'type'],
  ['null', null, 'type'],
  ['two types', { type: ['string', 'null'] }, 'type_not_supported'],
  ['a name of the prototype', { type: 'constructor' }, 'type_not_supported'],
  ['a pattern', { type: 'string', pattern: 'a+' }, 'keyword_not_supported'],
  ['a format', { type: 'string', format: 'email' }, 'keyword_not_supported'],
  ['a reference', { $ref: '#/x', type: 'string' }, 'keyword_not_supported'],
  ['a text that is too long', { type: 'string', maxLength: 5_001 }, 'max_length'],
  ['a scale from 0', { type: 'integer', minimum: 0, maximum: 5 }, 'scale'],
  ['a scale to 11', { type: 'integer', minimum: 1, maximum: 11 }, 'scale'],
  ['an enum of one', { enum: ['a'] }, 'enum'],
  ['an enum of numbers', { enum: [1, 2] }, 'enum'],
  ['an enum with a link', { enum: ['a', 'https://evil.example'] }, 'link'],
  ['a list of texts', { type: 'array', items: { type: 'string' } }, 'array'],
  [
    'a list with a minimum',
    { type: 'array', minItems: 2, items: { enum: ['a', 'b'] } },
    'keyword_not_supported',
  ],
  ['an object in an object', object({ a: object({ b: { type: 'boolean' } }) }), 'type_not_supported'],
  ['a name in capitals', object({ firstWord: { type: 'boolean' } }), 'field_name'],
  ['the reserved name', object({ single_answer: { type: 'boolean' } }), 'field_name'],
  ['eleven fields', object(eleven), 'properties'],
  [
    'other fields',
    object({ a: { type: 'boolean' } }, { additionalProperties: true }),
    'keyword_not_supported',
  ],
  ['nothing that has to be answered', object({ a: { type: 'boolean' } }, { required: [] }), 'required'],
  ['a required field that is none', object({ a: { type: 'boolean' } }, { required: ['b'] }), 'required'],
  ['a name that spells a host', object({ go_to_evil_dot_com: { type: 'boolean' } }), 'link'],
  ['a title with markup', { type: 'boolean', title: '<b>Blue?</b>' }, 'html'],
  ['a title that asks for data', { type: 'string', title: 'Your full name' }, 'asks_personal_data'],
] as const)
  test(`${name} is refused: ${code}`, () => {
    assert.equal(codeOf(schema), code)
  })

test('an answer has the form of its schema', () => {
  const one = answerFormOf({ type: 'boolean' })
  assert.ok('value' in one)
  assert.equal(answerBySchema(one.value, { single_answer: false }), false)
  const many = answerFormOf(object({ a: { type: 'boolean' } }))
  assert.ok('value' in many)
  assert.deepEqual(answerBySchema(many.value, { a: true }), { a: true })
})

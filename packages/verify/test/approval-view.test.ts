import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  approvalView,
  viewHash,
  visibleText,
  type Envelope,
  type Json,
  type ShownField,
} from '../src/approvals.ts'
import { definition, envelopeOf, trickyTexts } from './approvals-envelope.ts'

const memoOf = (memo: Json): ShownField => {
  const [field] = approvalView(envelopeOf({ memo }), definition).fields
  assert.ok(field)
  return field
}

test('characters that show nothing, or turn others round, are shown by their code points', () => {
  const shown = {
    'Newsprint \u202e44': 'Newsprint ⟦U+202E⟧44',
    'zero\u200bwidth': 'zero⟦U+200B⟧width',
    'tag\u{e0041}': 'tag⟦U+E0041⟧',
    'no\u00a0break': 'no⟦U+00A0⟧break',
    'hangul\u3164': 'hangul⟦U+3164⟧',
    'half\uffa0': 'half⟦U+FFA0⟧',
    'joiner\u034f': 'joiner⟦U+034F⟧',
    'mongolian\u180b': 'mongolian⟦U+180B⟧',
    'selector\ufe0f': 'selector⟦U+FE0F⟧',
    'blank\u2800': 'blank⟦U+2800⟧',
    'line\u2028': 'line⟦U+2028⟧',
    'isolate\u2066': 'isolate⟦U+2066⟧',
    'private\ue000': 'private⟦U+E000⟧',
    'unassigned\u0378': 'unassigned⟦U+0378⟧',
    'alone\ud800': 'alone⟦U+D800⟧',
    '1 \u0338= 2': '1 ⟦U+0338⟧= 2',
    '\ttab\r': '⟦U+0009⟧tab⟦U+000D⟧',
  }
  for (const [text, expected] of Object.entries(shown)) {
    assert.equal(memoOf(text).text, expected)
    assert.ok(memoOf(text).notes.includes('hidden_characters'), expected)
  }
})

test('letters, accents on letters, digits, signs and emoji stay as they are, without a note', () => {
  for (const text of [
    'Zoë & Søren, 4.850,00 €',
    'e\u0301',
    'Привет',
    '日本語 Tokyo日本',
    '\u{1f600}',
    'a  b',
  ]) {
    assert.equal(memoOf(text).text, text)
    assert.deepEqual(memoOf(text).notes, [], text)
  }
})

test('a line feed breaks the line and is no hidden character', () => {
  assert.deepEqual(memoOf('one\ntwo'), {
    path: '/memo',
    label: 'Memo',
    kind: 'text',
    text: 'one⟦U+000A⟧\ntwo',
    notes: [],
  })
})

/** What was sent, from what is shown. */
const back = (shown: string) =>
  shown
    .replaceAll('⟦U+000A⟧\n', '\n')
    .replaceAll(/⟦U\+([0-9A-F]+)⟧/g, (_, hex: string) => String.fromCodePoint(Number.parseInt(hex, 16)))

test('a text that imitates a code point is told from a real one', () => {
  const imitation = memoOf('⟦U+202E⟧')
  assert.equal(imitation.text, '⟦U+27E6⟧U+202E⟦U+27E7⟧')
  assert.deepEqual(imitation.notes, ['hidden_characters'])
  assert.notEqual(imitation.text, memoOf('\u202e').text)
  // No two texts look alike: what is shown can be turned back into what was sent.
  for (const text of trickyTexts) assert.equal(back(visibleText(text)), text)
})

test('scripts whose letters look alike are noted within a word, an address and a key', () => {
  for (const text of [
    'p\u0430ypal',
    '\u0430\u0440\u0440\u04cf\u0435.com',
    'mail@\u0435xample.org',
    '\u039f\u0421',
    'a\u0561',
  ])
    assert.ok(memoOf(text).notes.includes('mixed_scripts'), text)
  assert.deepEqual(memoOf('Москва Berlin').notes, [])
  const { critical } = approvalView(envelopeOf({ '\u0430mount': '5' }, { typeVersion: 0 }), undefined)
  assert.deepEqual(critical[0]?.notes, ['mixed_scripts'])
})

test('digits of other scripts and spaces at the ends are noted', () => {
  assert.deepEqual(memoOf('\u09ea0').notes, ['other_digits'])
  assert.deepEqual(memoOf('\u3007').notes, ['other_digits'])
  assert.deepEqual(memoOf(' 5').notes, ['outer_spaces'])
  assert.deepEqual(memoOf('').notes, [])
})

test('values of different types are shown differently', async () => {
  const hashes = new Set<string>()
  const values: Json[] = [5, '5', null, 'null', true, 'true', [], '[]', {}, '{}', '', [[]], [{}], { '': '' }]
  for (const memo of values) hashes.add(await viewHash(approvalView(envelopeOf({ memo }), definition)))
  assert.equal(hashes.size, values.length)
  assert.deepEqual([memoOf([]).text, memoOf([]).kind], ['[]', 'list'])
  assert.deepEqual([memoOf({}).text, memoOf({}).kind], ['{}', 'object'])
})

test('every leaf is shown once: the critical ones in the order of the administrator, the others by key', () => {
  const action = {
    zebra: { b: [1, { deep: 'x' }], a: null },
    amount: '4850.00',
    recipient: { name: 'Northwind', iban: 'DE89' },
    'a/b~c': true,
    account: 'main',
    empty: [],
  }
  const { critical, fields } = approvalView(envelopeOf(action), definition)
  assert.deepEqual(
    critical.map(({ path, label }) => [path, label]),
    [
      ['/recipient/iban', '/recipient/iban'],
      ['/recipient/name', '/recipient/name'],
      ['/amount', 'Amount'],
      ['/account', '/account'],
    ],
  )
  assert.deepEqual(
    fields.map(({ path }) => path),
    ['/a~1b~0c', '/empty', '/zebra/a', '/zebra/b/0', '/zebra/b/1/deep'],
  )
})

test('a critical field within another is shown once, and one that the action lacks is shown as absent', () => {
  const nested = { ...definition, critical: ['/recipient/iban', '/recipient', '/amount'] }
  const { critical } = approvalView(envelopeOf({ recipient: { name: 'N', iban: 'DE89' } }), nested)
  assert.deepEqual(
    critical.map(({ path, kind }) => [path, kind]),
    [
      ['/recipient/iban', 'text'],
      ['/recipient/name', 'text'],
      ['/amount', 'absent'],
    ],
  )
})

test('without a registered type everything is critical and nobody gave a title', () => {
  const view = approvalView(envelopeOf({ b: 1, a: { c: [] } }, { typeVersion: 0 }), undefined)
  assert.deepEqual(
    view.critical.map(({ path, label }) => [path, label]),
    [
      ['/a/c', '/a/c'],
      ['/b', '/b'],
    ],
  )
  assert.deepEqual([view.fields, view.title], [[], null])
  const [nothing] = approvalView(envelopeOf({}, { typeVersion: 0 }), undefined).critical
  assert.deepEqual([nothing?.label, nothing?.text], ['/', '{}'])
})

test('the definition must be the one of the envelope: its type, and its version', () => {
  const envelope = envelopeOf({ amount: '1' })
  for (const wrong of [undefined, { ...definition, version: 2 }, { ...definition, type: 'invoice.refund' }])
    assert.throws(() => approvalView(envelope, wrong), TypeError)
  assert.throws(() => approvalView({ ...envelope, typeVersion: 0 }, definition), TypeError)
})

test('long values are shown whole', () => {
  const long = 'x'.repeat(30_000)
  assert.equal(memoOf(long).text, long)
})

test('the view hash changes with everything that is shown', async () => {
  const action = { amount: '1', recipient: 'N', account: 'a', memo: 'm', more: [1, 'two'] }
  const envelope = envelopeOf(action)
  const { policy, words } = envelope
  const changed: Envelope[] = [
    { ...envelope, audience: 'agt_other' },
    { ...envelope, requestId: 'invoice-1188' },
    { ...envelope, approvers: ['apv_1'] },
    { ...envelope, decideBy: '2026-11-17T14:30:00.001Z' },
    { ...envelope, consumeBy: '2026-11-17T15:30:00.001Z' },
    { ...envelope, policy: { ...policy, quorum: 1 } },
    { ...envelope, policy: { ...policy, minSeconds: 0 } },
    { ...envelope, policy: { ...policy, passkey: 'device_bound' } },
    { ...envelope, policy: { ...policy, delaySeconds: 1 } },
    { ...envelope, words: { ...words, title: 'Other' } },
    { ...envelope, words: { ...words, summary: 'Other' } },
    ...Object.keys(action).map((key) => ({ ...envelope, action: { ...action, [key]: 'changed' } })),
    { ...envelope, action: { ...action, added: null } },
    { ...envelope, action: { ...action, more: ['two', 1] } },
  ]
  const definitions = [
    { ...definition, title: 'Refund' },
    { ...definition, labels: { ...definition.labels, '/memo': 'Note' } },
    { ...definition, critical: definition.critical.toReversed() },
  ]
  const hashes = await Promise.all([
    viewHash(approvalView(envelope, definition)),
    ...changed.map((one) => viewHash(approvalView(one, definition))),
    ...definitions.map((one) => viewHash(approvalView(envelope, one))),
  ])
  assert.equal(new Set(hashes).size, 1 + changed.length + definitions.length)
  assert.equal(await viewHash(approvalView({ ...envelope, salt: 'x' }, definition)), hashes[0])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  approvalView,
  jsonFault,
  readEnvelope,
  refusedField,
  visibleText,
  type Json,
  type TextNote,
} from '../../src/approvals.ts'
import { envelopeOf } from '../approvals-envelope.ts'

const fieldOf = (value: Json, key = 'account') => {
  const [field] = approvalView(envelopeOf({ [key]: value }, { typeVersion: 0 }), undefined).critical
  assert.ok(field)
  return field
}

/** A value, the first code point for which it is refused, and what is shown of it where it is stored anyway. */
const refused: readonly (readonly [name: string, value: string, codePoint: string, shown: string])[] = [
  ['a Hebrew hyphen in an account', '12\u05be5555\u05be78', 'U+05BE', '12⟦U+05BE⟧5555⟦U+05BE⟧78'],
  ['a Hebrew apostrophe in an amount', '15\u05f300', 'U+05F3', '15⟦U+05F3⟧00'],
  ['a Hebrew hyphen in an IBAN', 'DE89\u05be3704', 'U+05BE', 'DE89⟦U+05BE⟧3704'],
  ['a Hebrew letter between two amounts', '10 \u05d0 200 EUR', 'U+05D0', '10 ⟦U+05D0⟧ 200 EUR'],
  ['an Arabic letter and a number', '\u0639 5', 'U+0639', '⟦U+0639⟧ 5'],
  ['a Hebrew hyphen in a date', '01\u05be02\u05be2027', 'U+05BE', '01⟦U+05BE⟧02⟦U+05BE⟧2027'],
  ['the right-to-left mark', '12\u200f-34', 'U+200F', '12⟦U+200F⟧-34'],
  ['a letter and Arabic digits', '\u0627\u0664', 'U+0627', '⟦U+0627⟧\u0664'],
  ['digits that are written from right to left', '\u07c1\u07c2', 'U+07C1', '⟦U+07C1⟧⟦U+07C2⟧'],
  ['Adlam and a digit', '\u{1e900}7', 'U+1E900', '⟦U+1E900⟧7'],
  ['a Hebrew letter directly behind a Latin one', 'No\u05d012 34', 'U+05D0', 'No⟦U+05D0⟧12 34'],
  ['an Arabic letter directly behind a Latin one', 'x\u0627-15.00', 'U+0627', 'x⟦U+0627⟧-15.00'],
  ['a letter of another run', 'abc \u05d0 1', 'U+05D0', 'abc ⟦U+05D0⟧ 1'],
  ['struck-out digits', '9\u03369\u0336 10', 'U+0336', '9⟦U+0336⟧9⟦U+0336⟧ 10'],
  ['two marks on a digit', '1\u0301\u0302', 'U+0301', '1⟦U+0301⟧⟦U+0302⟧'],
  ['a digit on a key', '1\ufe0f\u20e3', 'U+FE0F', '1⟦U+FE0F⟧⟦U+20E3⟧'],
  ['a grapheme joiner before the stroke', '9\u034f\u0336', 'U+034F', '9⟦U+034F⟧⟦U+0336⟧'],
  ['a superscript digit after a digit', '10\u00b2', 'U+00B2', '10⟦U+00B2⟧'],
  ['a mathematical bold letter', '\u{1d40f}aypal', 'U+1D40F', '⟦U+1D40F⟧aypal'],
  ['a mathematical bold digit', '\u{1d7d7}', 'U+1D7D7', '⟦U+1D7D7⟧'],
  ['a mark on a mathematical letter', '\u{1d40f}\u0301', 'U+1D40F', '⟦U+1D40F⟧⟦U+0301⟧'],
  ['a circled digit', '\u2460', 'U+2460', '⟦U+2460⟧'],
  ['a black circled digit, which has no plain form', '\u2776', 'U+2776', '⟦U+2776⟧'],
  ['a letter in a square', '\u{1f17f}', 'U+1F17F', '⟦U+1F17F⟧'],
  ['a Roman numeral', '\u2163', 'U+2163', '⟦U+2163⟧'],
  ['a Roman numeral without a plain form', '\u2180', 'U+2180', '⟦U+2180⟧'],
  ['a wide digit', '\uff19', 'U+FF19', '⟦U+FF19⟧'],
  ['a superscript digit', 'x\u2079', 'U+2079', 'x⟦U+2079⟧'],
  ['a ligature', '\ufb01x', 'U+FB01', '⟦U+FB01⟧x'],
  ['the Kelvin sign', '\u212a', 'U+212A', '⟦U+212A⟧'],
]
for (const [name, value, codePoint, shown] of refused) {
  test(`refused, as a value and as a key, and drawn by its code point: ${name}`, () => {
    for (const action of [{ account: value }, { list: [{ a: value }] }, { [value]: 1 }]) {
      const fault = jsonFault(action)
      assert.equal(fault?.code, 'value_not_permitted')
      assert.match(fault?.message ?? '', new RegExp(`^has ${codePoint.replace('+', '\\+')}, which `))
    }
    assert.equal(jsonFault({ account: value })?.path, '/account')
    const field = fieldOf(value)
    assert.equal(field.text, shown)
    assert.ok(field.notes.includes('not_permitted'))
    assert.ok(fieldOf(1, value).notes.includes('not_permitted'))
    const envelope = envelopeOf({ account: value }, { typeVersion: 0 })
    assert.equal(readEnvelope(envelope), envelope)
    assert.equal(refusedField(approvalView(envelope, undefined))?.path, '/account')
  })
}

const marked: readonly (readonly [name: string, value: string, note: TextNote])[] = [
  ['a Cyrillic word that looks Latin', '\u0440\u0430\u0443\u0440\u0430\u04cf', 'look_alikes'],
  ['a Greek word that looks Latin', '\u0391\u0392\u0392', 'look_alikes'],
  ['a Cherokee word that looks Latin', '\u13aa\u13a1', 'look_alikes'],
  ['such a word among Latin ones', 'Pay \u0440\u0430\u0443\u0440\u0430\u04cf today', 'look_alikes'],
  ['such a word with an accent', '\u0441\u043e\u0308\u0440\u0435', 'look_alikes'],
  ['a Cyrillic letter between digits', '1\u041e0', 'look_alikes'],
  ['such a letter after other words', '\u0421\u0447\u0435\u0442 1\u041e0', 'look_alikes'],
  ['a phonetic letter', '\u0261oogle', 'look_alikes'],
  ['a dot leader in a host', 'paypal\u2024com', 'look_alikes'],
  ['a raised comma in an amount', '1\u2019000', 'look_alikes'],
  ['a low quotation mark for a comma', '1\u201a000', 'look_alikes'],
  ['another hyphen in an account', '12\u20115555', 'look_alikes'],
  ['a minus sign that is none of ASCII', '\u22125', 'look_alikes'],
  ['a fraction slash', '1\u20442', 'look_alikes'],
  ['a ratio for a colon', 'a\u2236b', 'look_alikes'],
  ['a struck-out letter', 'n\u0336o\u0336', 'look_alikes'],
  ['a heap of marks', 'n\u0301\u0301\u0301\u0301', 'look_alikes'],
  ['letters of a flag', '\u{1f1e9}\u{1f1ea}', 'look_alikes'],
  ['ordinary signs', '\u2116 5', 'look_alikes'],
  ['a fraction', '\u00bd', 'other_digits'],
  ['Hebrew', '\u05e9\u05dc\u05d5\u05dd', 'right_to_left'],
  ['Hebrew with a number behind Latin letters', 'Invoice 12 for \u05d3\u05d5\u05d3', 'right_to_left'],
]
for (const [name, value, note] of marked) {
  test(`shown with a note: ${name}`, () => {
    assert.equal(jsonFault({ value }), undefined)
    assert.equal(visibleText(value), value)
    assert.ok(fieldOf(value).notes.includes(note), fieldOf(value).notes.join())
    assert.ok(fieldOf(1, value).notes.includes(note), 'as a key')
  })
}

test('ordinary texts are permitted and have no note', () => {
  for (const value of [
    '12-5555-7890-3456',
    'don\u2019t pay \u2013 wait \u2026',
    '\u201c5 items\u201d',
    'Se\u00f1or Mu\u00f1oz, \u00c5ngstr\u00f6m, Kad\u0131k\u00f6y',
    '\u0421\u0447\u0435\u0442 \u0441 \u041d\u0414\u0421 \u0437\u0430 2026',
    '\u03ba\u03b1\u03b9 \u03c4\u03bf \u03c0\u03bf\u03c3\u03cc',
    '\u0e19\u0e49\u0e33 20',
    '\u0915\u093c\u0958 12',
    '\ud55c\uae00 \u314b\u314b 5',
    '\u5317\u4eac\uff0c\u4e0a\u6d77\u3002',
    '\u0587 5',
    'col\u00b7lecci\u00f3',
    '\u20ac 4.850,00 \u00a3 $ %',
  ]) {
    assert.equal(jsonFault({ value }), undefined, value)
    assert.deepEqual(fieldOf(value).notes, [], value)
  }
})

test('the number of an item and an escape do not stand beside the letters of a key', () => {
  const action = { '\u05e9\u05dc\u05d5\u05dd': ['a', 'b'], '\u05d0/\u05d1': 'x' }
  assert.equal(jsonFault(action), undefined)
  const { critical } = approvalView(envelopeOf(action, { typeVersion: 0 }), undefined)
  assert.deepEqual(
    critical.map(({ label, notes }) => [label, ...notes]),
    [
      ['/\u05d0~1\u05d1', 'right_to_left'],
      ['/\u05e9\u05dc\u05d5\u05dd/0', 'right_to_left'],
      ['/\u05e9\u05dc\u05d5\u05dd/1', 'right_to_left'],
    ],
  )
})

test('every character whose compatibility form is an ASCII letter or digit is refused or noted', () => {
  let seen = 0
  for (let code = 0x80; code < 0x110000; code += 1) {
    const character = String.fromCodePoint(code)
    if (!character.isWellFormed() || !/^[A-Za-z0-9]+$/.test(character.normalize('NFKC'))) continue
    seen += 1
    assert.ok(
      jsonFault({ a: character })?.code === 'value_not_permitted' ||
        fieldOf(character).notes.some((note) => note === 'look_alikes' || note === 'hidden_characters'),
      `U+${code.toString(16)}`,
    )
  }
  assert.ok(seen > 1_000, `${seen} characters`)
})

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import {
  approvalView,
  canonicalJson,
  jsonFault,
  type Envelope,
  type ShownField,
} from '@pohf/verify/approvals'
import { ruleOf } from '../../server/test/fixtures/people/approvals.ts'
import { createApproverTest, referencePhone, type Opened } from './approver-browser.ts'
import { fuzzValues, makeRandom, readDrawn, writtenOf, type Drawn } from './drawn.ts'

// Values of all blocks of Unicode on the page of an approver. `node tools/chaos/run-drawn.ts` opens 10,000, the suite a few.
const count = Number(process.env['POHF_DRAWN_VALUES'] ?? 300)
const figuresFile = process.env['POHF_DRAWN_FIGURES']
const seed = Number(process.env['POHF_DRAWN_SEED'] ?? 1)

/** Each value is a key too. An action has at most 32 KB. */
const valuesPerPage = 220

const { inBrowser } = await createApproverTest()

/** Values whose characters a browser moves, as they are without the rules of the page. */
const moved = [
  '12\u05be5555\u05be7890\u05be3456',
  '15\u05f300',
  '10 \u05d0 200 EUR',
  '01\u05be02\u05be2027',
  '\u05d0\u05d1\u05d2',
  'abc \u0627 - \u0628',
  '\u202e123',
]

inBrowser('the reader of this test sees characters that a page moves', referencePhone, async (opened) => {
  const { page } = opened.person
  await opened.person.open(await opened.request())
  await page.locator('.key .value').first().waitFor()
  const drawn = await page.evaluate<Drawn[]>(`(() => {
    const list = document.querySelector('.key dl')
    const spans = ${JSON.stringify([...moved, '12-5555-7890-3456'])}.map((text) => {
      const row = list.appendChild(document.createElement('div'))
      const span = row.appendChild(document.createElement('span'))
      span.textContent = text
      return span
    })
    return ${readDrawn('spans')}
  })()`)
  assert.deepEqual(
    drawn.map(({ inOrder }) => inOrder),
    [...moved.map(() => false), true],
  )
  // What the page shows without its isolation, and with it.
  const action = Object.fromEntries(moved.map((text) => [text.replaceAll(/\p{N}/gu, 'x'), '\u05d0-\u05d1']))
  const fields = await openValues(opened, action)
  assert.ok((await readFields(opened, fields)).every(({ inOrder }) => inOrder))
  await page.evaluate(`{
    const sheet = new CSSStyleSheet()
    sheet.replaceSync('bdo { unicode-bidi: normal !important; }')
    document.adoptedStyleSheets = [sheet]
  }`)
  assert.ok((await readFields(opened, fields)).some(({ inOrder }) => !inOrder))
})

/** Opens a request with this action; gives the fields that the page must show. */
const openValues = async (opened: Opened, action: Envelope['action']): Promise<readonly ShownField[]> => {
  const answer = await opened.administration.request({
    type: 'test.drawn',
    requestId: `drawn-${Math.random()}`,
    approvers: [opened.person.approver],
    action,
  })
  assert.equal(answer.status, 200, answer.text)
  await opened.person.open(answer.json.approvalId as string)
  await opened.person.page.locator('.key dd').first().waitFor()
  return approvalView(answer.json.envelope as Envelope, undefined).critical
}

/** Reads the labels and the values of the page, which must be those of the fields. */
const readFields = async ({ person: { page } }: Opened, fields: readonly ShownField[]): Promise<Drawn[]> => {
  const drawn = await page.evaluate<Drawn[]>(
    readDrawn(`[...document.querySelectorAll('.key > dl > div')].flatMap((row) =>
      [row.querySelector('dt'), row.querySelector('dd .value') ?? row.querySelector('dd .long')])`),
  )
  assert.deepEqual(
    drawn.map(({ text }) => text),
    fields.flatMap(({ label, text }) => [writtenOf(label), writtenOf(text)]),
  )
  return drawn
}

inBrowser('what is drawn has the order of what is signed, or is refused', referencePhone, async (opened) => {
  const figures = { values: 0, refused: 0, marked: 0, differ: 0 }
  const differing: string[] = []
  const readPage = async (values: readonly string[]) => {
    const fields = await openValues(opened, Object.fromEntries(values.map((value) => [value, value])))
    const drawn = await readFields(opened, fields)
    fields.forEach(({ path, notes }, index) => {
      if (notes.length > 0) figures.marked += 1
      if (drawn[index * 2]?.inOrder && drawn[index * 2 + 1]?.inOrder) return
      figures.differ += 1
      differing.push(path)
    })
  }
  let waiting: string[] = []
  let refused: string | undefined
  for (const value of fuzzValues(count, makeRandom(seed))) {
    figures.values += 1
    const fault = jsonFault({ [value]: value })
    if (fault) {
      figures.refused += 1
      if (fault.code === 'value_not_permitted') refused = value
    } else waiting.push(value)
    const bytes = Buffer.byteLength(canonicalJson(Object.fromEntries(waiting.map((each) => [each, each]))))
    if (waiting.length < valuesPerPage && bytes < 30_000 && figures.values < count) continue
    await readPage(waiting)
    waiting = []
    // The service decides by the same function: one of the values that were left out of this page.
    if (refused === undefined) continue
    const answer = await opened.administration.request({
      type: 'test.drawn',
      requestId: `refused-${figures.values}`,
      approvers: [opened.person.approver],
      action: { refused },
    })
    assert.equal(ruleOf(answer), 'approval_refused value_not_permitted', JSON.stringify(refused))
    refused = undefined
  }
  if (figuresFile !== undefined) writeFileSync(figuresFile, JSON.stringify(figures))
  assert.deepEqual(differing.slice(0, 20), [])
  assert.equal(figures.values, count)
  assert.ok(figures.refused > 0 && figures.marked > 0, JSON.stringify(figures))
})

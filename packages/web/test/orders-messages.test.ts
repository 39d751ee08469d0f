import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { InputForm, Order, OrderUnit } from '@pohf/protocol'
import {
  ordersHeadline,
  parseItems,
  orderStatusLabels,
  orderStatusText,
  unitStatusText,
  unitStatusLabels,
  formatUsd,
} from '../src/shared/orders/messages.ts'
import { hrefOf, parseRoute } from '../src/shared/shell/router.ts'
import { keyFromLabel, normalizeField } from '../src/operator/forms.ts'
import { draftOf, newDraft, termsOf } from '../src/operator/workflows/draft.ts'

const now = Date.parse('2026-11-15T12:00:00Z')
const noUnits = {
  open: 0,
  claimed: 0,
  delivered: 0,
  accepted: 0,
  rejected: 0,
  appealed: 0,
  refused: 0,
  cancelled: 0,
}
const order: Order = {
  orderId: 'ord_1',
  status: 'created',
  taskType: 'wf_photo_label',
  workflowId: 'wf_photo_label',
  custom: false,
  waitsForOperator: false,
  quantity: 3,
  unitPriceUsd: 0.5,
  totalUsd: 1.5,
  review: null,
  callbackRef: null,
  createdAt: '2026-11-15T11:00:00Z',
  expiresAt: '2026-11-18T12:00:00Z',
  fundedAt: null,
  units: noUnits,
  escrow: { status: 'unfunded', heldUsd: 0, paidUsd: 0, returnedUsd: 0 },
  warnings: [],
}
const unit: OrderUnit = {
  n: 1,
  status: 'open',
  input: null,
  answer: null,
  credential: null,
  sessionId: null,
  quality: null,
  deliveredAt: null,
  reviewUntil: null,
  appealUntil: null,
  rejection: null,
  appeal: null,
}

test('the first line says what waits for the reader, the most pressing first', () => {
  assert.deepEqual(ordersHeadline([], true), ['No order yet', ''])
  assert.deepEqual(ordersHeadline([order], true), ['1 order waits for payment', ''])
  const running: Order = { ...order, status: 'in_progress', units: { ...noUnits, delivered: 2, open: 1 } }
  assert.deepEqual(ordersHeadline([order, running], true), [
    '2 units wait for your review',
    '1 order waits for payment, 1 paid order is not fully delivered.',
  ])
  const completed: Order = { ...order, status: 'completed' }
  assert.deepEqual(ordersHeadline([completed], true), ['No order needs you now', ''])
  assert.deepEqual(ordersHeadline([completed, completed], false), [
    'None of the latest 2 orders needs you now',
    '',
  ])
})

test('every state of an order and of a unit has a sentence', () => {
  assert.equal(orderStatusText(order, now), 'Work starts after payment: $1.50, due within 3 days.')
  const sentences = Object.keys(orderStatusLabels).map((status) =>
    orderStatusText({ ...order, status: status as Order['status'] }, now),
  )
  assert.equal(new Set(sentences).size, 8)
  assert.match(
    orderStatusText({ ...order, status: 'funded', waitsForOperator: true }, now),
    /operator must accept the offer/,
  )
  const reviewed = (status: Order['status'], review: NonNullable<Order['review']>) =>
    orderStatusText({ ...order, status, review }, now)
  const byNewBuyer = { cause: 'new_buyer', reason: null } as const
  assert.match(
    reviewed('created', { ...byNewBuyer, status: 'required' }),
    /Once it is paid, an operator reads it/,
  )
  assert.equal(
    reviewed('funded', { ...byNewBuyer, status: 'waiting' }),
    'It is paid. An operator reads it before any worker does.',
  )
  assert.match(
    reviewed('in_progress', { cause: 'reports', reason: null, status: 'waiting' }),
    /Workers reported it/,
  )
  assert.match(
    reviewed('cancelled', { cause: 'reports', reason: 'It asks for codes.', status: 'refused' }),
    /An operator refused it: It asks for codes\.$/,
  )
  const units = Object.keys(unitStatusLabels).map((status) =>
    unitStatusText({ ...unit, status: status as OrderUnit['status'] }, now),
  )
  assert.equal(new Set(units).size, 8)
  const delivered: OrderUnit = {
    ...unit,
    status: 'delivered',
    deliveredAt: '2026-11-15T11:56:00Z',
    reviewUntil: '2026-11-17T12:00:00Z',
  }
  assert.equal(
    unitStatusText(delivered, now),
    'Delivered 4 minutes ago. Accept or reject it within 2 days; after that it is accepted automatically.',
  )
})

test('an order in progress is counted by what is delivered, and an expired one says why', () => {
  const units = { ...noUnits, open: 1, claimed: 1, delivered: 1, rejected: 1, cancelled: 1 }
  assert.equal(
    orderStatusText({ ...order, status: 'in_progress', quantity: 5, units }, now),
    '2 of 5 units delivered; 1 waiting for a worker, 1 in progress, 1 waiting for your review.',
  )
  const expired: Order = { ...order, status: 'expired' }
  assert.equal(orderStatusText(expired, now), 'Nobody paid until 2026-11-18, so it expired.')
  const untaken: Order = {
    ...expired,
    fundedAt: '2026-11-15T11:30:00Z',
    escrow: { status: 'refunded', heldUsd: 0, paidUsd: 0, returnedUsd: 1.5 },
  }
  assert.equal(
    orderStatusText(untaken, now),
    'No worker took it in time, so it expired, and $1.50 was returned.',
  )
})

test('money is shown to the cent, and smaller only where it is', () => {
  assert.equal(formatUsd(1.5), '$1.50')
  assert.equal(formatUsd(0.333_333), '$0.333333')
})

test('items are lines: JSON as it is, anything else by the form', () => {
  const one: InputForm = [{ name: 'photo', label: 'Photo', type: 'image', required: true }]
  const two: InputForm = [...one, { name: 'hint', label: 'Hint', type: 'text', required: false }]
  const text = 'https://a.example/1.jpg\n\n {"photo":"https://a.example/2.jpg"} \n'
  assert.deepEqual(parseItems(text, undefined), [
    'https://a.example/1.jpg',
    { photo: 'https://a.example/2.jpg' },
  ])
  assert.deepEqual(parseItems(text, one), [
    { photo: 'https://a.example/1.jpg' },
    { photo: 'https://a.example/2.jpg' },
  ])
  assert.deepEqual(parseItems('https://a.example/1.jpg\ta cat\nhttps://a.example/2.jpg', two), [
    { photo: 'https://a.example/1.jpg', hint: 'a cat' },
    { photo: 'https://a.example/2.jpg' },
  ])
  assert.deepEqual(parseItems('\ta dog\r\n', two), [{ hint: 'a dog' }], 'an empty first cell')
  assert.deepEqual(parseItems('{ not json', one), [{ photo: '{ not json' }])
})

test('a place and its address are one to one, whatever an id holds', () => {
  const href = hrefOf(['orders', 'a/b?c'], { state: 'delivered', after: undefined, unit: '3' })
  assert.equal(href, '#/orders/a%2Fb%3Fc?state=delivered&unit=3')
  const { path, query } = parseRoute(href)
  assert.deepEqual(path, ['orders', 'a/b?c'])
  assert.deepEqual(
    [...query],
    [
      ['state', 'delivered'],
      ['unit', '3'],
    ],
  )
  assert.deepEqual(parseRoute('').path, [])
  assert.deepEqual(parseRoute('#/orders/%E0%A4%A').path, ['orders', '%E0%A4%A'])
})

test('a field is sent as its type allows, and its key follows from its label', () => {
  assert.equal(keyFromLabel(' 2 What does the Photo show? '), 'what_does_the_photo_show')
  const field = { name: 'a', label: 'A', required: true, help: '', options: ['x', ' ', 'y '], steps: 3 }
  assert.deepEqual(normalizeField({ ...field, type: 'choice' }), {
    name: 'a',
    label: 'A',
    type: 'choice',
    required: true,
    options: ['x', 'y'],
  })
  assert.deepEqual(normalizeField({ ...field, type: 'scale', ends: ['bad', ''] }), {
    name: 'a',
    label: 'A',
    type: 'scale',
    required: true,
    steps: 3,
  })
  assert.deepEqual(Object.keys(normalizeField({ ...field, type: 'yes_no' })), [
    'name',
    'label',
    'type',
    'required',
  ])
})

test('a workflow that is opened and saved untouched is sent as it was', () => {
  const gold = [{ input: {}, answer: { answer: 'yes', gone: 'with its field' } }]
  const terms = termsOf({
    ...newDraft,
    title: 'T',
    description: 'D',
    category: 'c',
    steps: 'One\n\nTwo',
    gold,
  })
  assert.deepEqual(terms.gold, [{ input: {}, answer: { answer: 'yes' } }])
  assert.deepEqual(terms.steps, ['One', 'Two'])
  const workflow = { ...terms, workflowId: 'wf_t', active: true, stock: { live: 0, test: 0 } }
  assert.deepEqual(termsOf(draftOf(workflow)), terms)
})

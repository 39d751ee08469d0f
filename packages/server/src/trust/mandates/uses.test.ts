import assert from 'node:assert/strict'
import { test } from 'node:test'
import { constraint, startMandateOrders } from '../../../test/fixtures/trust/mandate-orders.ts'
import { makeMandates, type Changes } from '../../../test/fixtures/trust/mandates.ts'

const { harness, wanted, now, challengeOf, optionsOf, send, countOrders } = await startMandateOrders()
const day = 86_400

const parallel = 50
test(`mandates order once, also ${parallel} times at once and again`, async () => {
  const { ap2 } = makeMandates(await optionsOf())
  const before = await countOrders()
  const answers = await Promise.all(Array.from({ length: parallel }, () => send(ap2)))
  assert.equal(answers.filter(({ status }) => status === 200).length, 1)
  for (const { json, status } of answers.filter((each) => each.status !== 200)) {
    assert.equal(status, 409)
    assert.equal(json.error, 'mandate_used')
  }
  assert.equal(await countOrders(), before + 1)
  assert.equal((await send(ap2)).status, 409)
})

test(`mandates that a person closed order once, also ${parallel} times at once`, async () => {
  const { ap2 } = makeMandates(await optionsOf({ immediate: true }))
  const answers = await Promise.all(Array.from({ length: parallel }, () => send(ap2)))
  assert.equal(answers.filter(({ status }) => status === 200).length, 1)
  assert.equal(answers.filter(({ json }) => json.error === 'mandate_used').length, parallel - 1)
})

test(`an open mandate without recurrence is closed once, also over ${parallel} quotes at once`, async () => {
  const first = await optionsOf()
  const { pair } = makeMandates(first)
  const challenges = await Promise.all(Array.from({ length: parallel }, () => challengeOf()))
  const answers = await Promise.all(
    challenges.map((challenge) => send(makeMandates({ ...first, challenge, reuse: pair }).ap2)),
  )
  assert.equal(answers.filter(({ status }) => status === 200).length, 1, answers[0]?.text)
  assert.equal(answers.filter(({ json }) => json.error === 'mandate_used').length, parallel - 1)
})

test(`a budget and a number of uses hold, also at ${parallel} at once`, async () => {
  for (const [limits, expected] of [
    [
      [
        { type: 'payment.budget', currency: 'USD', max: 600 },
        { type: 'payment.agent_recurrence', frequency: 'ON_DEMAND' },
      ],
      4,
    ],
    [[{ type: 'payment.agent_recurrence', frequency: 'ON_DEMAND', max_occurrences: 3 }], 3],
    [[{ type: 'payment.agent_recurrence', frequency: 'DAILY', max_occurrences: 9 }], 1],
  ] as const) {
    const changes: Changes = {
      open: (family, mandate) => {
        if (family === 'payment') (mandate['constraints'] as unknown[]).push(...limits)
      },
    }
    const first = await optionsOf({ changes })
    const { pair } = makeMandates(first)
    const challenges = await Promise.all(Array.from({ length: parallel }, () => challengeOf()))
    const answers = await Promise.all(
      challenges.map((challenge) => send(makeMandates({ ...first, challenge, reuse: pair }).ap2)),
    )
    assert.equal(answers.filter(({ status }) => status === 200).length, expected, JSON.stringify(limits))
    assert.equal(answers.filter(({ json }) => json.error === 'mandate_used').length, parallel - expected)
  }
})

test('a daily mandate works again on the next day', async () => {
  const changes = constraint('payment', { type: 'payment.agent_recurrence', frequency: 'DAILY' })
  const longer: Changes = {
    ...changes,
    root: (payload) => (payload['exp'] = now() + 10 * day),
    openHop: (_, payload) => (payload['exp'] = now() + 10 * day),
  }
  const first = await optionsOf({ changes: longer })
  const { pair, ap2 } = makeMandates(first)
  assert.equal((await send(ap2)).status, 200)
  const again = async () => send(makeMandates({ ...(await optionsOf()), reuse: pair }).ap2)
  assert.equal((await again()).status, 409)
  await harness.advance(day * 1_000)
  const next = await again()
  assert.equal(next.status, 200, next.text)
})

test('an order that is refused uses nothing of its mandates', async () => {
  const { ap2 } = makeMandates(await optionsOf())
  const items = Array.from({ length: 4 }, () => ({ nonsense: true }))
  assert.equal((await send(ap2, { ...wanted, items })).status, 400)
  assert.equal((await send(ap2)).status, 200)
})

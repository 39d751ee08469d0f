import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/fixtures/harness.ts'
import { makeScoredSession } from '../../test/fixtures/scored-session.ts'

const harness = await startHarness()
const dayMs = 86_400_000
const read = async (key: string, query = '') => {
  const { status, json } = await harness.call('GET', `/api/agents/metrics/funnel${query}`, { key })
  assert.equal(status, 200)
  const { since, until, site, workflow, steps, ...figures } = json
  assert.deepEqual([site, workflow], [null, null])
  assert.deepEqual(
    steps.map(({ step }: { step: string }) => step),
    ['views', 'landed', 'engaged', 'converted'],
  )
  return { figures, days: (Date.parse(until) - Date.parse(since)) / dayMs }
}
const beacon = (vt: string, type: string) => harness.call('POST', '/api/track/event', { body: { vt, type } })
const convert = (key: string, body: object) =>
  harness.call('POST', '/api/agents/track/conversion', { key, body: { name: 'purchase', ...body } })

test('without views every figure and every rate is 0, over 30 days', async () => {
  const { apiKey } = await harness.register('live')
  assert.deepEqual(await read(apiKey), {
    figures: {
      views: 0,
      landed: 0,
      engaged: 0,
      conversions: 0,
      rates: { landed: 0, engaged: 0, conversion: 0 },
      value: {},
    },
    days: 30,
  })
})

test('counts verified views, those with a beacon, those with engagement, and their conversions', async () => {
  const agent = await harness.register('live')
  const views = await Promise.all(Array.from({ length: 4 }, () => makeScoredSession(harness, agent)))
  await makeScoredSession(harness, agent, { verified: false, quality: 0.1 })
  const [one, two, three] = views.map(({ vt }) => vt) as [string, string, string, string]
  for (const [vt, type] of [
    [one, 'pageview'],
    [one, 'Scroll'],
    [one, 'click'],
    [two, 'landed'],
    [three, 'custom.thing'],
  ] as const)
    await beacon(vt, type)
  for (const body of [
    { vt: one, value: 0.1, currency: 'usd' },
    { vt: one, value: 0.2, currency: 'USD' },
    { vt: one, value: 7 },
    { vt: two, value: 5, currency: 'EUR' },
    { vt: two },
  ])
    await convert(agent.apiKey, body)
  assert.deepEqual((await read(agent.apiKey)).figures, {
    views: 4,
    landed: 3,
    engaged: 1,
    conversions: 5,
    rates: { landed: 0.75, engaged: 0.25, conversion: 0.5 },
    value: { EUR: 5, USD: 0.3, XXX: 7 },
  })
})

test('everything is counted by the time of the view, so a late conversion never makes a rate above 1', async () => {
  const agent = await harness.register('live')
  const { vt } = await makeScoredSession(harness, agent)
  await harness.advance(2 * dayMs)
  await beacon(vt, 'click')
  await convert(agent.apiKey, { vt, value: 3, currency: 'USD' })
  const yesterday = new Date(harness.ctx.clock.now().getTime() - dayMs).toISOString()
  assert.deepEqual((await read(agent.apiKey, `?since=${yesterday}`)).figures, {
    views: 0,
    landed: 0,
    engaged: 0,
    conversions: 0,
    rates: { landed: 0, engaged: 0, conversion: 0 },
    value: {},
  })
  assert.equal((await read(agent.apiKey)).figures.rates.conversion, 1)
})

test('nothing of another agent is counted', async () => {
  const agent = await harness.register('live')
  const other = await harness.register('live')
  const { vt } = await makeScoredSession(harness, other)
  await beacon(vt, 'click')
  await convert(other.apiKey, { vt })
  assert.equal((await read(agent.apiKey)).figures.landed, 0)
  assert.equal((await read(other.apiKey)).figures.landed, 1)
})

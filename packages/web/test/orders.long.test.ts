import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import * as operators from '../../server/src/operators/index.ts'
import { playSession } from '../../server/test/fixtures/people/play-session.ts'
import { makeWorker } from '../../server/test/fixtures/people/worker.ts'
import { createBrowserTest, waitForText, signIn, tabTo, type TestPage } from './browser-test.ts'
import { lookInEveryView } from './browser.ts'
import type { Service } from './service.ts'
import { firstView, type View } from './views.ts'

const inBrowser = await createBrowserTest()

type Agent = Awaited<ReturnType<Service['harness']['register']>>

type Assignment = { readonly assignmentId: string; readonly site: string; readonly challenge: string }

const answer = { clear: true, correct: true, polite: false, reason: 'It shouts.' }
const texts = ['The train leaves at noon.', 'SEND IT NOW!!', 'Would you kindly look at this?']

/** Orders as an agent does, and funds, which costs nothing in test mode. */
const placeOrder = async ({ harness }: Service, agent: Agent, body: object): Promise<string> => {
  const call = (path: string, sent: object) =>
    harness.call('POST', `/api/agents/${path}`, { key: agent.apiKey, body: sent })
  const placed = await call('order', body)
  assert.equal(placed.status, 200, placed.text)
  const { orderId } = placed.json as { orderId: string }
  const funded = await call('order/fund', { orderId })
  assert.equal(funded.status, 200, funded.text)
  return orderId
}
let workflowCount = 0
/** A workflow of its own for each order that people work on: units are found by their workflow alone. */
const makeWorkflow = async ({ harness }: Service): Promise<string> => {
  const { operatorKey } = await operators.create(harness.ctx, 'machine', 'Ada')
  workflowCount += 1
  const yesNo = { type: 'yes_no', required: true } as const
  const written = await harness.callOperator('POST', `/operator/workflows/wf_t_${workflowCount}`, {
    key: operatorKey,
    body: {
      title: 'Judge a short text',
      description: 'A person reads a text and says if it is clear, correct and polite.',
      steps: ['Read it', 'Answer'],
      estMinutes: 2,
      rewardStars: 50,
      webcamBonus: 0,
      datasetOptin: false,
      category: 'review',
      priceUsd: 1,
      inputForm: [{ name: 'text', label: 'The text', type: 'text', required: true }],
      answerForm: [
        { name: 'clear', label: 'Is it clear?', ...yesNo },
        { name: 'correct', label: 'Is its language correct?', ...yesNo },
        { name: 'polite', label: 'Is it polite?', ...yesNo },
        { name: 'reason', label: 'Why?', type: 'line', required: true, maxLength: 300 },
      ],
      gold: [],
    },
  })
  assert.equal(written.status, 200, written.text)
  return `wf_t_${workflowCount}`
}
/** An order of texts that a person has worked on: all of it, the first unit with a recording that can be replayed. */
const placeCompletedOrder = async (
  service: Service,
  agent: Agent,
  items: readonly string[],
): Promise<string> => {
  const { harness } = service
  const taskType = await makeWorkflow(service)
  const orderId = await placeOrder(service, agent, { taskType, quantity: items.length, items })
  const worker = await makeWorker(harness, await harness.register('test'))
  for (const [index] of items.entries()) {
    const claimed = await worker.claim(taskType)
    assert.equal(claimed.status, 200, claimed.text)
    const { assignmentId, site, challenge } = claimed.json as Assignment
    const isFirst = index === 0
    const sessionId = isFirst
      ? (await playSession(harness, { site, challenge, kind: 'work', strokes: wave })).sessionId
      : await worker.record({ site, challenge })
    if (isFirst) await harness.runJobs()
    const handed = await worker.deliver(assignmentId, sessionId, answer)
    assert.equal(handed.json.status, 'delivered', handed.text)
  }
  return orderId
}
/** Some motion to look at. */
const wave = Array.from({ length: 6 }, (_, run) =>
  Array.from(
    { length: 40 },
    (_, step) =>
      [
        100 + run * 150 + step * 4,
        300 + Math.round(80 * Math.sin(step / 6 + run)),
        step === 0 ? 0 : 16,
      ] as const,
  ),
)

const onOrders = (
  name: string,
  body: (
    opened: TestPage & { readonly agent: Agent; readonly open: (at?: string) => Promise<void> },
  ) => Promise<void>,
  view: Partial<View> = {},
): void =>
  inBrowser(
    name,
    async (opened) => {
      const { page, service } = opened
      const agent = await service.harness.register('test')
      const open = async (at = '#/orders') => {
        // The database's time runs ahead of this machine's when a session was played.
        await page.clock.setSystemTime(service.harness.ctx.clock.now())
        await page.goto('about:blank')
        await page.goto(`${service.url}/console${at}`)
        await signIn(page, agent.apiKey)
      }
      await body({ ...opened, agent, open })
    },
    view,
  )

const drawerSays = (page: Page, text: string | RegExp) =>
  page.locator('dialog[open]', { hasText: text }).waitFor()

onOrders('work is ordered by the form, as the command beside it says, and funded', async ({ page, open }) => {
  await open()
  await waitForText(page, 'No order yet')
  await page.selectOption('#workflow', 'wf_text_review')
  await page.fill('#items', texts.join('\n'))
  await waitForText(page, '3 items so far.')
  const command = await page.locator('pre[aria-label="Command that orders"]').textContent()
  assert.match(command ?? '', /"taskType": "wf_text_review"/)
  assert.match(command ?? '', /"text": "SEND IT NOW!!"/)
  await page.click('text=Order for $3.00')
  await waitForText(page, 'Work starts after payment: $3.00')
  await page.click('text=Fund it')
  await waitForText(page, '3 units wait for a worker.')
  assert.equal(await page.locator('tbody tr').count(), 3)
  await page.click('text=All orders')
  await waitForText(page, '1 paid order is not fully delivered')
  // The name comes from the list of workflows, which may arrive after the order.
  await page
    .locator('section', { has: page.locator('#stage-funded'), hasText: 'Judge a short text' })
    .waitFor()
})

onOrders('what the form refuses is said where it was typed', async ({ page, open }) => {
  await open('#/orders/new')
  await page.selectOption('#workflow', 'wf_text_review')
  await page.fill('#items', '{"wrong":"field"}')
  await page.click('text=Order for')
  await page.locator('[role=alert]', { hasText: 'is not a field of the form' }).waitFor()
})

onOrders('a unit: answer, proof checked here, replay, yes, no with a reason, CSV', async (opened) => {
  const { page, service, agent, open } = opened
  const orderId = await placeCompletedOrder(service, agent, texts)
  await open(`#/orders/${orderId}`)
  await waitForText(page, 'No unit is left to do. 3 units wait for your review')
  await page.click('tbody a >> nth=0')
  await drawerSays(page, 'It shouts.')
  await drawerSays(page, 'The train leaves at noon.')
  await drawerSays(page, 'A test credential: no person was involved.')
  await drawerSays(page, 'Signature, by a key of the issuer')
  await page.click('text=Replay the session')
  await drawerSays(page, 'chunks match the hashes that the service has committed to')
  await page.waitForSelector('dialog canvas')
  await page.click('text=Accept and pay $1.00')
  await drawerSays(page, 'the worker is paid')
  await page.click('dialog >> text=Next')
  await drawerSays(page, 'SEND IT NOW!!')
  assert.equal(await page.locator('dialog .note.ok').count(), 0, 'what was said of unit 1 stays there')
  await page.click('dialog summary:has-text("Reject it")')
  await page.selectOption('#reason', 'low_effort')
  await page.fill('#note', 'One word is no reason.')
  await page.click('text=Reject and tell the worker why')
  await drawerSays(page, 'The worker sees the reason and can appeal')
  await drawerSays(page, 'It was done without care.')
  await drawerSays(page, 'One word is no reason.')
  await page.keyboard.press('Escape')
  await page.locator('dialog').waitFor({ state: 'detached' })
  await page.click('nav[aria-label="Which units"] >> text=rejected')
  await page.locator('.units tbody tr', { hasText: 'accepted' }).waitFor({ state: 'detached' })
  await page.locator('.units tbody tr', { hasText: 'rejected' }).waitFor()
  assert.equal(await page.locator('.units tbody tr').count(), 1)
  assert.match(page.url(), /state=rejected/)
  await waitForText(page, '$1.00')
  const download = page.waitForEvent('download')
  await page.click('text=Save the results as CSV')
  const file = await (await download).path()
  const lines = readFileSync(file, 'utf8').trim().split('\n')
  assert.equal(lines.length, 4)
  assert.match(lines[0] ?? '', /^n,status,.*answer\.reason/)
  const { json } = await service.harness.call('GET', `/api/agents/orders/${orderId}`, { key: agent.apiKey })
  assert.deepEqual([json.units.accepted, json.units.rejected, json.units.delivered], [1, 1, 1])
})

onOrders('an answer about one unit does not replace the next, which is shown by then', async (opened) => {
  const { page, service, agent, open } = opened
  const orderId = await placeCompletedOrder(service, agent, ['First.', 'Second.'])
  await open(`#/orders/${orderId}?unit=1`)
  await drawerSays(page, 'Is it what you asked for?')
  const released = Promise.withResolvers<void>()
  await page.route('**/accept', async (route) => {
    const response = await route.fetch()
    await released.promise
    await route.fulfill({ response })
  })
  await page.click('text=Accept and pay $1.00')
  await page.click('dialog >> text=Next')
  await drawerSays(page, 'Second.')
  // Loaded again after the answer, and not answered: what the drawer shows stays.
  const again = page.waitForRequest('**/results?after=*&limit=1')
  await page.route('**/results?after=*&limit=1', () => undefined)
  released.resolve()
  assert.match((await again).url(), /after=1&/)
  assert.equal(await page.locator('dialog', { hasText: 'Second.' }).count(), 1)
})

onOrders('what nobody works on is cancelled after a second press, and the money is told', async (opened) => {
  const { page, service, agent, open } = opened
  const orderId = await placeOrder(service, agent, { taskType: 'wf_photo_label', quantity: 2 })
  await open(`#/orders/${orderId}`)
  await page.click('button:has-text("Cancel")')
  await page.click('text=Cancel the units without a worker: 2 of 2')
  await waitForText(page, '$1.00 was returned')
  await page.click('text=All orders')
  await page.click('text=/Ended early: 1 (cancelled|refunded)/')
  await waitForText(page, 'Name what a photo shows')
})

onOrders('a credential that was changed is called forged in the drawer', async (opened) => {
  const { page, service, agent, open } = opened
  const orderId = await placeCompletedOrder(service, agent, ['One.'])
  await page.route('**/results?*', async (route) => {
    const response = await route.fetch()
    const text = await response.text()
    // One letter of the signature is another: nothing of what it says may be shown as true.
    await route.fulfill({
      response,
      body: text.replaceAll(
        /("pohf_jwt":"[^"]{60})([^"])/g,
        (_, before: string, letter: string) => `${before}${letter === 'A' ? 'B' : 'A'}`,
      ),
    })
  })
  await open(`#/orders/${orderId}?unit=1`)
  await drawerSays(page, /Forged|not a credential/i)
  assert.equal(await page.locator('dialog .emblem.test, dialog .emblem.ok').count(), 0)
})

onOrders('text by others stays text: in a task, an answer, a note', async (opened) => {
  const { page, service, agent, open } = opened
  const evil = '<img src=x onerror="document.title=1"><script>document.title=2</script>'
  const orderId = await placeOrder(service, agent, {
    taskType: 'wf_text_review',
    quantity: 1,
    items: [{ text: evil }],
  })
  await open(`#/orders/${orderId}?unit=1`)
  await drawerSays(page, evil)
  assert.equal(await page.locator('dialog img, dialog script').count(), 0)
})

onOrders(
  'by keyboard alone: order, unit, accept, back to the row',
  async ({ page, service, agent, open }) => {
    const orderId = await placeCompletedOrder(service, agent, ['A.', 'B.'])
    await open()
    await tabTo(page, 'Judge a short text')
    await page.keyboard.press('Enter')
    await page.waitForSelector('.units tbody tr')
    await tabTo(page, 'Unit 1')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await drawerSays(page, 'Is it what you asked for?')
    await tabTo(page, 'Accept and pay')
    await page.keyboard.press('Enter')
    await drawerSays(page, 'the worker is paid')
    await page.locator('#drawer-title:focus').waitFor()
    await page.keyboard.press('Escape')
    await page.locator('dialog').waitFor({ state: 'detached' })
    await page.locator('a:focus', { hasText: 'Unit 2' }).waitFor()
    assert.equal(new URL(page.url()).hash, `#/orders/${orderId}`)
  },
)

onOrders('the first view is small; what checks and replays is fetched by who looks', async (opened) => {
  const { page, service, agent, open } = opened
  const html = readFileSync(join(service.folder, 'console.html'), 'utf8')
  const scripts = [...html.matchAll(/"\/(assets\/[^"]+\.js)"/g)].map(([, file]) => file ?? '')
  assert.ok(scripts.length > 1)
  const sizes = scripts.map((file) => gzipSync(readFileSync(join(service.folder, file))).length)
  const bytes = sizes.reduce((sum, size) => sum + size, 0)
  assert.ok(bytes < 32_000, `${bytes} bytes of script before anything is shown`)
  const orderId = await placeCompletedOrder(service, agent, ['One.'])
  const fetched = (name: string) => service.requests.some(({ url }) => url.startsWith(`/assets/${name}-`))
  service.requests.length = 0
  await open(`#/orders/${orderId}`)
  await page.waitForSelector('.units tbody tr')
  assert.deepEqual(['credential', 'session'].map(fetched), [false, false])
  await page.click('.units tbody a')
  await drawerSays(page, 'Signature, by a key of the issuer')
  assert.deepEqual(['credential', 'session'].map(fetched), [true, false])
  await page.click('text=Replay the session')
  await page.waitForSelector('dialog canvas')
  assert.ok(fetched('session'))
})

/** One agent with orders in every state that a buyer meets. */
const seedOrders = async (service: Service, agent: Agent): Promise<string> => {
  const main = await placeCompletedOrder(service, agent, texts)
  const reject = { reason: 'instructions_not_followed', note: 'The reason should be a whole sentence.' }
  const { harness } = service
  const path = `/api/agents/orders/${main}/units`
  await harness.call('POST', `${path}/2/accept`, { key: agent.apiKey })
  await harness.call('POST', `${path}/3/reject`, { key: agent.apiKey, body: reject })
  const gone = await placeOrder(service, agent, { taskType: 'wf_photo_label', quantity: 4 })
  await harness.call('POST', `/api/agents/orders/${gone}/cancel`, { key: agent.apiKey })
  await placeOrder(service, agent, { taskType: 'wf_photo_label', quantity: 12 })
  const order = (body: object) => harness.call('POST', '/api/agents/order', { key: agent.apiKey, body })
  await order({ taskType: 'wf_text_review', quantity: 40 })
  await order({
    taskType: 'Call twenty bakeries and ask when they open on Sunday',
    quantity: 20,
    maxPriceUsd: 60,
  })
  return main
}

onOrders(
  'orders: axe finds nothing, and nothing is wider than the page, in every view',
  async ({ page, service, agent, open }) => {
    const look = (name: string) => lookInEveryView(page, name)
    await open()
    await waitForText(page, 'No order yet')
    await page.waitForSelector('#workflow')
    await look('orders-empty')
    const orderId = await seedOrders(service, agent)
    await open()
    await page.waitForSelector('.ticket')
    await page.click('text=Ended early')
    await look('orders-pipeline')
    await open('#/orders?state=created')
    await page.waitForSelector('tbody tr')
    await look('orders-state')
    await open(`#/orders/${orderId}`)
    await page.waitForSelector('.units tbody tr')
    await look('order')
    await page.click('.units tbody a >> nth=0')
    await drawerSays(page, 'Signature, by a key of the issuer')
    await page.click('dialog summary:has-text("Reject it")')
    await page.click('text=Replay the session')
    await page.waitForSelector('dialog canvas')
    await look('unit-to-review')
    await page.click('dialog >> text=Next')
    await drawerSays(page, 'the worker is paid')
    await drawerSays(page, 'Signature, by a key of the issuer')
    await look('unit-accepted')
    await page.click('dialog >> text=Next')
    await drawerSays(page, 'Rejection and appeal')
    await drawerSays(page, 'Signature, by a key of the issuer')
    await look('unit-rejected')
  },
  firstView,
)

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isKnownAnswerDue } from '../../server/src/work/units/rules.ts'
import { makeWorker } from '../../server/test/fixtures/people/worker.ts'
import { waitForText, signIn, tabTo } from './browser-test.ts'
import { lookInEveryView } from './browser.ts'
import { createOperatorTest } from './operator-browser.ts'
import type { Service } from './service.ts'
import { firstView } from './views.ts'

const onOperators = await createOperatorTest()

type Agent = Awaited<ReturnType<Service['harness']['register']>>

const post = async ({ harness }: Service, agent: Agent, path: string, body: object = {}) => {
  const answered = await harness.call('POST', `/api/agents/${path}`, { key: agent.apiKey, body })
  assert.equal(answered.status, 200, answered.text)
  return answered.json as { orderId: string }
}
const placeOrder = async (service: Service, agent: Agent, body: object): Promise<string> => {
  const { orderId } = await post(service, agent, 'order', body)
  await post(service, agent, 'order/fund', { orderId })
  return orderId
}

const longText = 'Please keep the tone friendly. Nobody was rude here, and the last line says thank you.'
/** A unit that was delivered, rejected and appealed. */
const appealOnce = async (service: Service, agent: Agent): Promise<string> => {
  const orderId = await placeOrder(service, agent, {
    taskType: 'wf_text_review',
    quantity: 1,
    items: [longText],
    instructions: 'Judge the tone as a customer would.',
  })
  const home = await service.harness.register('test')
  const key = service.harness.ctx.secrets.derive('worker')
  let worker = await makeWorker(service.harness, home)
  // Until it is somebody who does the unit itself, and no known-answer item in its place.
  while (isKnownAnswerDue(key, worker.personId, { orderId, n: 1 }))
    worker = await makeWorker(service.harness, home)
  const answer = { clear: true, correct: true, polite: true, reason: 'It thanks the reader.' }
  const delivered = await worker.work('wf_text_review', answer)
  assert.equal(delivered.status, 200, delivered.text)
  const reject = { reason: 'wrong_answer', note: 'It is not polite at all.' }
  await post(service, agent, `orders/${orderId}/units/1/reject`, reject)
  const text = 'The text says please and thank you. I read it twice.'
  const appealed = await worker.post(`assignments/${delivered.json.assignmentId}/appeal`, { text })
  assert.equal(appealed.status, 200, appealed.text)
  return orderId
}
/** A question that one worker reported. */
const reportOnce = async (service: Service, agent: Agent): Promise<string> => {
  const body = { taskType: 'wf_ask_human', quantity: 1, items: ['What is ur e mail'] }
  const orderId = await placeOrder(service, agent, body)
  const worker = await makeWorker(service.harness, await service.harness.register('test'))
  const claimed = await worker.claim('wf_ask_human')
  const path = `assignments/${claimed.json.assignmentId}/report`
  const reported = await worker.post(path, { reason: 'asks_personal_data' })
  assert.equal(reported.status, 200, reported.text)
  return orderId
}
const unitOf = async (service: Service, agent: Agent, orderId: string) => {
  const { json } = await service.harness.call('GET', `/api/agents/orders/${orderId}/results`, {
    key: agent.apiKey,
  })
  return json.units[0] as { status: string; appeal: { decisionReason: string } }
}
const auditEntries = async (service: Service, key: string) => {
  const { json } = await service.harness.callOperator('GET', '/operator/audit?limit=1000', { key })
  return (json.entries as { action: string; target: string }[]).map(({ action }) => action)
}

onOperators('nothing of the operators’ pages is on the public listener', async ({ page, service }) => {
  const files = readdirSync(join(service.folder, 'operator/assets'))
  assert.ok(files.length >= 2)
  for (const path of ['/operator', '/operator/', ...files.map((file) => `/operator/assets/${file}`)])
    assert.equal((await page.request.get(`${service.url}${path}`)).status(), 404, path)
  for (const path of files)
    assert.equal((await page.request.get(`${service.url}/assets/${path}`)).status(), 404)
  for (const file of readdirSync(join(service.folder, 'assets')))
    assert.doesNotMatch(readFileSync(join(service.folder, 'assets', file), 'utf8'), /\/operator\/|svc_op_…/)
  const answered = await page.request.get(`${service.operator.url}/operator`)
  assert.equal(answered.status(), 200)
  assert.match(
    answered.headers()['content-security-policy'] ?? '',
    /default-src 'none'.*frame-ancestors 'none'/,
  )
})

onOperators('the operator key stays in memory, and an agent’s key does not get in', async (opened) => {
  const { page, service, operatorKey, open } = opened
  const agent = await service.harness.register('test')
  await page.goto(`${service.operator.url}/operator`)
  await page.fill('#key', agent.apiKey)
  await page.press('#key', 'Enter')
  await page.waitForSelector('#key-wrong')
  service.operator.requests.length = 0
  await open()
  await waitForText(page, 'Decisions')
  assert.deepEqual(await page.evaluate('[document.cookie, localStorage.length, sessionStorage.length]'), [
    '',
    0,
    0,
  ])
  const calls = service.operator.requests.filter(({ key }) => key !== undefined)
  assert.ok(calls.length > 0)
  for (const { url, key } of calls) {
    assert.match(url, /^\/operator\//)
    assert.equal(key, `Bearer ${operatorKey}`)
  }
  await page.reload()
  await page.waitForSelector('#key')
})

onOperators('an appeal is read from both sides and decided, with a reason for both', async (opened) => {
  const { page, service, operatorKey, open } = opened
  const agent = await service.harness.register('test')
  const orderId = await appealOnce(service, agent)
  await open('#/appeals')
  await page.click('tbody a >> nth=-1')
  const drawer = page.locator('dialog[open]')
  for (const text of [
    longText,
    'Judge the tone as a customer would.',
    'It thanks the reader.',
    'The answer is wrong.',
    'It is not polite at all.',
    'I read it twice.',
  ])
    await drawer.filter({ hasText: text }).waitFor()
  await page.click('text=Accept the appeal')
  assert.equal(await page.locator('#decision-reason:invalid').count(), 1, 'it asks for a reason first')
  await page.fill('#decision-reason', 'The text is polite by any measure.')
  await page.click('text=Accept the appeal')
  await page.locator('.note.ok', { hasText: 'The appeal was accepted.' }).waitFor()
  await page.locator('dialog').waitFor({ state: 'detached' })
  const unit = await unitOf(service, agent, orderId)
  assert.equal(unit.status, 'accepted')
  assert.equal(unit.appeal.decisionReason, 'The text is polite by any measure.')
  assert.ok((await auditEntries(service, operatorKey)).some((action) => action.startsWith('appeal.')))
})

onOperators('a reported order is read and refused, with a reason for the buyer', async (opened) => {
  const { page, service, operatorKey, open } = opened
  const agent = await service.harness.register('test')
  const orderId = await reportOnce(service, agent)
  await open('#/reviews')
  await page.locator('tbody tr', { hasText: 'Reported by 1 worker' }).getByRole('link').first().click()
  const drawer = page.locator('dialog[open]')
  for (const text of ['What is ur e mail', 'It asks for personal data, a password or a code', '1 open'])
    await drawer.filter({ hasText: text }).waitFor()
  assert.equal(await drawer.getByRole('button', { name: 'Refuse and refund' }).isDisabled(), true)
  await page.fill('#review-reason', 'Ask nothing about workers.')
  await page.click('text=Refuse and refund')
  await page.locator('.note.ok', { hasText: 'The order was refused.' }).waitFor()
  const { json } = await service.harness.call('GET', `/api/agents/orders/${orderId}`, { key: agent.apiKey })
  assert.equal(json.status, 'refunded')
  assert.deepEqual(json.review, {
    status: 'refused',
    cause: 'reports',
    reason: 'Ask nothing about workers.',
  })
  assert.ok((await auditEntries(service, operatorKey)).includes('order.review'))
})

onOperators(
  'by keyboard alone: an appeal is opened, and the rejection is confirmed',
  async ({ page, service, open }) => {
    const agent = await service.harness.register('test')
    const orderId = await appealOnce(service, agent)
    await open('#/appeals')
    await page.waitForSelector('tbody tr')
    await tabTo(page, 'Judge a short text')
    await page.keyboard.press('Enter')
    await page.waitForSelector('dialog[open]')
    await tabTo(page, 'decision-reason')
    await page.keyboard.insertText('The buyer is right.')
    await tabTo(page, 'Uphold the rejection')
    await page.keyboard.press('Enter')
    await page.locator('.note.ok', { hasText: 'The rejection was upheld.' }).waitFor()
    assert.equal((await unitOf(service, agent, orderId)).status, 'refused')
  },
)

onOperators('an offer is taken on with steps and questions, and people find it', async (opened) => {
  const { page, service, open } = opened
  const agent = await service.harness.register('test')
  const task = 'Ring the shop and ask when it opens'
  const orderId = await placeOrder(service, agent, { taskType: task, quantity: 2, maxPriceUsd: 4 })
  await open('#/orders')
  await page.click(`tbody a:has-text("${task}")`)
  await page.fill('#offer-steps', 'Ring\n\nAsk politely')
  await page.fill('#offer-reward', '900')
  await page.fill('#offer-out-0-label', 'When does it open?')
  await page.selectOption('#offer-out-0-type', 'line')
  await page.click('text=Accept $4.00 for 2 units')
  await page.locator('dialog [role=alert]', { hasText: 'a Star is worth one cent' }).waitFor()
  await page.fill('#offer-reward', '120')
  await page.click('text=Accept $4.00 for 2 units')
  await page.locator('.note.ok', { hasText: 'Accepted' }).waitFor()
  const worker = await makeWorker(service.harness, await service.harness.register('test'))
  const claimed = await worker.claim(orderId)
  assert.equal(claimed.status, 200, claimed.text)
  assert.deepEqual(claimed.json.steps, ['Ring', 'Ask politely'])
  assert.equal(claimed.json.rewardStars, 120)
  assert.equal(claimed.json.answerForm[0].label, 'When does it open?')
  assert.equal(claimed.json.answerForm[0].type, 'line')
})

onOperators(
  'an offer is declined with a reason, and the money goes back',
  async ({ page, service, open }) => {
    const agent = await service.harness.register('test')
    const task = 'Stand in a queue for me'
    const orderId = await placeOrder(service, agent, { taskType: task, quantity: 1, maxPriceUsd: 3 })
    await open('#/orders')
    await page.click(`tbody a:has-text("${task}")`)
    await page.fill('#decline-reason', 'Nobody can prove that by a browser.')
    await page.click('button:has-text("Decline the offer")')
    await page.locator('.note.ok', { hasText: 'Declined' }).waitFor()
    const { json } = await service.harness.call('GET', `/api/agents/orders/${orderId}`, { key: agent.apiKey })
    assert.equal(json.escrow.heldUsd, 0)
    assert.equal(json.escrow.returnedUsd, 3)
  },
)

onOperators(
  'a workflow is written, offered, changed, stocked and retired',
  async ({ page, service, open }) => {
    await open('#/workflows/new')
    await page.fill('#title', 'Name the colour')
    await page.fill('#workflow-id', 'wf_colour')
    await page.fill('#description', 'A person names the colour of a thing.')
    await page.fill('#steps', 'Look\nName the colour')
    await page.fill('#category', 'labeling')
    await page.fill('#price', '0.40')
    await page.fill('#reward', '20')
    await page.click('text=Add an input field')
    await page.fill('#in-0-label', 'The thing')
    assert.equal(await page.inputValue('#in-0-name'), 'the_thing')
    await page.fill('#out-0-label', 'Its colour')
    await page.selectOption('#out-0-type', 'choice')
    await page.fill('#out-0-options', 'red\ngreen\n\nblue')
    await page.click('text=Add a known-answer item')
    await page.fill('#known-0-in-the_thing', 'A ripe tomato')
    await page.selectOption('#known-0-out-its_colour', 'red')
    await page.click('button:has-text("Offer it")')
    await page.locator('h1', { hasText: 'Name the colour' }).waitFor()
    const { json } = await service.harness.call('GET', '/api/workflows/available')
    const offered = (json.workflows as { id: string }[]).find(({ id }) => id === 'wf_colour') as
      { priceUsd: number; answerForm: { options: string[] }[]; inputForm: { name: string }[] } | undefined
    assert.equal(offered?.priceUsd, 0.4)
    assert.deepEqual(offered.answerForm[0]?.options, ['red', 'green', 'blue'])
    assert.equal(offered.inputForm[0]?.name, 'the_thing')
    assert.doesNotMatch(JSON.stringify(json), /ripe tomato/, 'buyers never see known items')
    await page.fill('#out-0-label', 'Which colour has it?')
    assert.equal(await page.inputValue('#out-0-name'), 'its_colour', 'a key that is in use stays')
    await page.fill('#price', '0.60')
    await page.click('button:text-is("Save")')
    await page.locator('.note.ok', { hasText: 'Saved.' }).waitFor()
    await page.fill('#produce-items', 'A lemon\nGrass')
    await page.fill('#produce-quantity', '2')
    await page.click('button:has-text("Order 2")')
    await page.locator('.produce .note.ok').waitFor()
    const worker = await makeWorker(service.harness, await service.harness.register('test'))
    const claimed = await worker.claim('wf_colour')
    assert.equal(claimed.status, 200, claimed.text)
    await page.click('button:has-text("Stop offering it")')
    await page.click('text=Stop: existing orders are completed')
    await waitForText(page, 'retired')
    await page.click('text=All workflows')
    await page.locator('li', { hasText: 'Name the colour' }).filter({ hasText: 'retired' }).waitFor()
  },
)

onOperators('an example fills the form of a new workflow and is offered as it is', async (opened) => {
  const { page, service, open } = opened
  const names = ['Label a picture', 'Compare two answers', 'Check a web page', 'Transcribe a document']
  for (const [index, name] of names.entries()) {
    await open('#/workflows/new')
    await page.click(`.examples li:has-text("${name}") button`)
    await page.fill('#workflow-id', `wf_example_${index}`)
    await page.click('button:has-text("Offer it")')
    await page.locator('.chip.ok', { hasText: 'offered' }).first().waitFor()
  }
  const { json } = await service.harness.call('GET', '/api/workflows/available')
  const ids = (json.workflows as { id: string }[]).map(({ id }) => id)
  for (const index of names.keys()) assert.ok(ids.includes(`wf_example_${index}`))
})

onOperators(
  'operators: axe finds nothing, and nothing is wider than the page, in every view',
  async ({ page, service, operatorKey }) => {
    const look = (name: string) => lookInEveryView(page, name)
    const agent = await service.harness.register('test')
    await page.goto(`${service.operator.url}/operator`)
    await page.waitForSelector('#key')
    await look('operator-key')
    const open = async (at: string) => {
      await page.goto('about:blank')
      await page.goto(`${service.operator.url}/operator${at}`)
      await signIn(page, operatorKey)
    }
    await appealOnce(service, agent)
    await placeOrder(service, agent, {
      taskType: 'Call twenty bakeries and ask when they open on Sunday',
      quantity: 20,
      maxPriceUsd: 60,
      instructions: 'Only bakeries in Lyon. Say that you ask for a friend.',
    })
    await open('#/appeals')
    await page.waitForSelector('tbody tr')
    await look('operator-appeals')
    await page.click('tbody a >> nth=-1')
    await page.waitForSelector('dialog[open]')
    await look('operator-appeal')
    await reportOnce(service, agent)
    await open('#/reviews')
    await page.waitForSelector('tbody tr')
    await look('operator-reviews')
    await page.click('tbody a >> nth=0')
    await page.locator('dialog[open] #review-reason').waitFor()
    await look('operator-review')
    await open('#/orders')
    await page.waitForSelector('tbody tr')
    await look('operator-orders')
    await page.click('tbody a >> nth=0')
    await page.waitForSelector('dialog[open]')
    await look('operator-offer')
    await open('#/workflows')
    await page.waitForSelector('.endpoint')
    await look('operator-workflows')
    await open('#/workflows/wf_text_review')
    await page.waitForSelector('#known-answers')
    await look('operator-workflow')
    await open('#/workflows/new')
    await page.waitForSelector('#examples')
    await look('operator-workflow-new')
  },
  firstView,
)

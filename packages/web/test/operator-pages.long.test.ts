import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import * as operators from '../../server/src/operators/index.ts'
import { startHarness } from '../../server/test/fixtures/harness.ts'
import { registerPartner } from '../../server/test/fixtures/partner.ts'
import { tabTo, waitForText } from './browser-test.ts'
import { lookInEveryView } from './browser.ts'
import { createOperatorTest } from './operator-browser.ts'
import type { Service } from './service.ts'
import { firstView } from './views.ts'

const onOperators = await createOperatorTest(() => startHarness({ PAYOUT_APPROVAL: 'on' }))

const entriesOf = async (service: Service, key: string, action: string) => {
  const path = `/operator/audit?order=newest&limit=1000&action=${action}`
  const { json } = await service.harness.callOperator('GET', path, { key })
  return json.entries as { operatorId: string; target: string; details: Record<string, unknown> }[]
}
let users = 0
const requestPayout = async ({ harness }: Service): Promise<string> => {
  const partner = await registerPartner(harness, 1_000)
  const userRef = `user ${(users += 1)}`
  const call = (path: string, body: object) =>
    harness.call('POST', `/api/partner/${path}`, { key: partner.apiKey, body })
  await call('points/convert', { userRef, points: 90 })
  const { status, json, text } = await call('payout/request', { userRef, stars: 40 })
  assert.equal(status, 200, text)
  return json.requestId as string
}
const stateOf = async ({ harness }: Service, key: string, requestId: string) => {
  const { json } = await harness.callOperator('GET', '/operator/payouts?limit=200', { key })
  return (json.payouts as Record<string, unknown>[]).find((payout) => payout['requestId'] === requestId)
}

onOperators('by keyboard alone: an agent is found by its name and gets credits', async (opened) => {
  const { page, service, operatorKey, open } = opened
  const { json: agent } = await service.harness.call('POST', '/api/agents/register', {
    body: { name: 'Harbour Books', contactEmail: 'books@example.com', mode: 'live' },
  })
  await open('#/agents')
  await tabTo(page, 'find')
  await page.keyboard.insertText('harbour b')
  await page.keyboard.press('Enter')
  await page.locator('h1', { hasText: '1 agent found' }).waitFor()
  assert.match(page.url(), /search=harbour/)
  await tabTo(page, 'Harbour Books')
  await page.keyboard.press('Enter')
  await page.waitForSelector('dialog[open] .facts')
  await tabTo(page, 'Grant credits')
  await page.keyboard.press('Enter')
  await tabTo(page, 'credits INPUT')
  await page.keyboard.insertText('250')
  await tabTo(page, 'credits-reference')
  await page.keyboard.insertText('ticket 12')
  await tabTo(page, 'credits-reason')
  await page.keyboard.insertText('a pilot')
  await page.keyboard.press('Enter')
  await page.locator('dialog .note.ok', { hasText: '250 credits were granted.' }).waitFor()
  await page.locator('dialog .facts', { hasText: '250' }).waitFor()
  const [entry] = await entriesOf(service, operatorKey, 'credits.grant')
  assert.deepEqual(
    [entry?.target, entry?.details],
    [agent.agentId, { credits: 250, reference: 'ticket 12', reason: 'a pilot' }],
  )
  // The same reference for another amount is refused, and the drawer says why.
  await page.fill('#credits', '300')
  await page.fill('#credits-reference', 'ticket 12')
  await page.fill('#credits-reason', 'again')
  await page.click('button:has-text("Grant the credits")')
  await page.locator('dialog [role=alert]', { hasText: 'granted before, for 250 credits' }).waitFor()
})

onOperators('an agent is suspended only after its name was typed, and reinstated', async (opened) => {
  const { page, service, operatorKey, open } = opened
  const { agentId, apiKey } = await service.harness.register('live')
  await open(`#/agents?agent=${agentId}`)
  await page.click('summary:has-text("Suspend this agent")')
  await page.fill('#suspend-reason', 'abuse')
  const button = page.locator('button:has-text("Suspend the agent")')
  assert.equal(await button.isDisabled(), true)
  await page.fill('#suspend-name', 'Tes')
  assert.equal(await button.isDisabled(), true)
  await page.fill('#suspend-name', 'Test')
  await button.click()
  await page.locator('dialog .chip.stop', { hasText: 'suspended' }).waitFor()
  assert.equal((await service.harness.call('GET', '/api/agents/me', { key: apiKey })).status, 401)
  await page.click('summary:has-text("Lift the suspension")')
  await page.fill('#reinstate-reason', 'talked')
  await page.click('button:has-text("Lift the suspension")')
  await page.locator('dialog .note.ok', { hasText: 'lifted' }).waitFor()
  assert.equal((await service.harness.call('GET', '/api/agents/me', { key: apiKey })).status, 200)
  assert.equal((await entriesOf(service, operatorKey, 'agent.suspend')).length, 1)
})

onOperators(
  'one operator reviews a payout, another approves it, and the payment is recorded',
  async (opened) => {
    const { page, service, operatorKey, open } = opened
    const { harness } = service
    const requestId = await requestPayout(service)
    const bob = await operators.create(harness.ctx, 'machine', 'Bob')
    await open(`#/payouts?payout=${requestId}`)
    await page.click('button:has-text("Reviewed: pass it on")')
    await page.locator('.note.ok', { hasText: 'waits for another operator' }).waitFor()
    await open(`#/payouts?status=in_review&payout=${requestId}`)
    await page
      .locator('dialog', { hasText: 'You reviewed this payout. Another operator must approve it.' })
      .waitFor()
    assert.equal(await page.locator('button:has-text("Approve the payout")').count(), 0)
    const own = await harness.callOperator('POST', `/operator/payouts/${requestId}/approve`, {
      key: operatorKey,
    })
    assert.equal(own.status, 403, 'the server refuses it too')
    await open(`#/payouts?status=in_review&payout=${requestId}`, bob.operatorKey)
    await page.locator('dialog', { hasText: 'Reviewed byAda' }).waitFor()
    await page.click('button:has-text("Approve the payout")')
    await page.locator('.note.ok', { hasText: 'It can be paid now.' }).waitFor()
    await open(`#/payouts?status=approved&payout=${requestId}`)
    await page.fill('#payment-reference', 'bank 77')
    await page.click('button:has-text("Record the payment")')
    await page.locator('.note.ok', { hasText: 'The payment is recorded.' }).waitFor()
    const paid = await stateOf(service, operatorKey, requestId)
    assert.deepEqual(
      [paid?.['status'], paid?.['approvedBy'], paid?.['paymentRef']],
      ['paid', bob.operatorId, 'bank 77'],
    )
  },
)

onOperators(
  'by keyboard alone: a payout is rejected with a reason; an operator made over the listener cannot review',
  async (opened) => {
    const { page, service, operatorKey, open } = opened
    const requestId = await requestPayout(service)
    const { json: eve } = await service.harness.callOperator('POST', '/operator/operators', {
      key: operatorKey,
      body: { name: 'Eve' },
    })
    await open(`#/payouts?payout=${requestId}`, eve.operatorKey)
    await page.locator('dialog', { hasText: 'Another operator created your key' }).waitFor()
    assert.equal(await page.locator('button:has-text("Reviewed: pass it on")').count(), 0)
    await open(`#/payouts?payout=${requestId}`)
    await page.waitForSelector('dialog[open] .facts')
    await tabTo(page, 'Reject the payout')
    await page.keyboard.press('Enter')
    await tabTo(page, 'reject-reason')
    await page.keyboard.insertText('the same person twice')
    await tabTo(page, 'Reject and return the Stars')
    await page.keyboard.press('Enter')
    await page.locator('.note.ok', { hasText: 'the Stars are back' }).waitFor()
    assert.equal((await stateOf(service, operatorKey, requestId))?.['rejectReason'], 'the same person twice')
  },
)

let requests = 0
const requestCapacity = async ({ harness }: Service): Promise<string> => {
  const email = `forward-${(requests += 1)}@example.com`
  const { status, json, text } = await harness.call('POST', '/api/forwards/order', {
    body: { name: 'Ada', company: 'Engines', email, hours: 120, month: '2090-03', notes: 'weekdays' },
  })
  assert.equal(status, 200, text)
  return json.orderId as string
}

onOperators('by keyboard alone: a request for capacity goes through all its states', async (opened) => {
  const { page, service, operatorKey, open } = opened
  const orderId = await requestCapacity(service)
  await open(`#/forwards?forward=${orderId}`)
  await page.locator('h1', { hasText: 'to answer' }).waitFor()
  await page.waitForSelector('dialog #next-step')
  // A quote without a price is not sent.
  await tabTo(page, 'Record the quote')
  await page.keyboard.press('Enter')
  assert.equal(await page.locator('#forward-usd:invalid').count(), 1)
  await tabTo(page, 'forward-usd')
  await page.keyboard.insertText('2500.50')
  await tabTo(page, 'forward-note')
  await page.keyboard.insertText('by mail')
  await page.keyboard.press('Enter')
  await page.locator('.note.ok', { hasText: 'The request is quoted.' }).waitFor()
  await page.locator('dialog').waitFor({ state: 'detached' })
  await page.selectOption('#filter-status', 'quoted')
  await page.waitForURL(/status=quoted/)
  await page.locator('tbody tr', { hasText: 'quoted' }).waitFor()
  await tabTo(page, 'Engines')
  await page.keyboard.press('Enter')
  await page.locator('dialog', { hasText: '$2,500.50' }).waitFor()
  await tabTo(page, 'Record the countersigned agreement')
  await page.keyboard.press('Enter')
  await page.locator('.note.ok', { hasText: 'The request is countersigned.' }).waitFor()
  await open(`#/forwards?status=countersigned&forward=${orderId}`)
  await page.waitForSelector('dialog #forward-invoice')
  await tabTo(page, 'forward-invoice')
  await page.keyboard.insertText('2090-7')
  await page.keyboard.press('Enter')
  await page.locator('.note.ok', { hasText: 'The request is invoiced.' }).waitFor()
  await open(`#/forwards?status=invoiced&forward=${orderId}`)
  await page.waitForSelector('dialog #next-step')
  await tabTo(page, 'Close: paid and delivered')
  await page.keyboard.press('Enter')
  await page.locator('.note.ok', { hasText: 'The request is closed.' }).waitFor()
  await open(`#/forwards?status=closed&forward=${orderId}`)
  await page.locator('dialog', { hasText: '2090-7' }).waitFor()
  assert.equal(await page.locator('dialog #next-step').count(), 0)
  const moves = (await entriesOf(service, operatorKey, 'forward.move')).filter(
    ({ target }) => target === orderId,
  )
  assert.deepEqual(
    moves.map(({ details }) => details['to']),
    ['closed', 'invoiced', 'countersigned', 'quoted'],
  )
})

onOperators('a request that another operator moved meanwhile is not moved again', async (opened) => {
  const { page, service, operatorKey, open } = opened
  const orderId = await requestCapacity(service)
  await open(`#/forwards?forward=${orderId}`)
  await page.waitForSelector('dialog #next-step')
  await page.fill('#forward-usd', '10')
  // A page that reads the list again shows no form for a closed request: from here on its reads wait.
  await page.route('**/operator/forwards*', (route) =>
    route.request().method() === 'GET' ? undefined : route.continue(),
  )
  await service.harness.callOperator('POST', `/operator/forwards/${orderId}/move`, {
    key: operatorKey,
    body: { status: 'closed' },
  })
  await page.click('button:has-text("Record the quote")')
  await page.locator('dialog [role=alert]', { hasText: 'cannot become quoted' }).waitFor()
})

onOperators('the overview leads to what waits, and the ledger is checked from it', async (opened) => {
  const { page, service, open } = opened
  await requestPayout(service)
  await service.harness.runJobs()
  await open()
  await page.locator('h1', { hasText: 'Everything works' }).waitFor()
  await page.click('text=Check both now')
  await waitForText(page, /Card payments0 checkouts, 0 differences/)
  await page.click('text=Payouts to review')
  await page.locator('h1', { hasText: 'to review' }).waitFor()
})

onOperators(
  'a root is suspended and reinstated, and the log shows both with an intact chain',
  async (opened) => {
    const { page, service, operatorKey, open } = opened
    await open('#/roots')
    await page.selectOption('#root-kind', 'network')
    const change = page.locator('button:has-text("Change the credentials")')
    assert.equal(await change.isDisabled(), true, 'nothing of a network would change')
    await page.selectOption('#root-credentials', 'suspend')
    await page.check('#root-sure')
    assert.equal(await change.isDisabled(), false)
    await page.selectOption('#root-credentials', 'keep')
    await page.selectOption('#root-kind', 'app')
    await page.fill('#root-name', 'com.example.broken')
    await page.fill('#root-reason', 'signed by a leaked key')
    await page.click('button:has-text("Suspend the root")')
    await page.locator('tbody tr', { hasText: 'signed by a leaked key' }).waitFor()
    await page.click('summary:has-text("Reinstate")')
    await page.fill('[id="reinstate-app-com.example.broken"]', 'a new key')
    await page.click('form button:text-is("Reinstate")')
    await page.locator('.note.ok', { hasText: 'com.example.broken is reinstated' }).waitFor()
    await open('#/audit?target=app%20com.example.broken')
    await page.selectOption('#filter-action', 'root.reinstate')
    await page.waitForURL(/action=root\.reinstate&target=app/)
    await page.locator('h1', { hasText: 'intact' }).waitFor()
    await page.click('tbody a')
    await page.locator('dialog', { hasText: 'a new key' }).waitFor()
    const [entry] = await entriesOf(service, operatorKey, 'root.reinstate')
    assert.equal(entry?.target, 'app com.example.broken')
  },
)

onOperators('filters stay in the address, and a reload of it shows the same list', async ({ page, open }) => {
  await open('#/agents?search=Harbour')
  await page.selectOption('#filter-state', 'suspended')
  await page.waitForURL(/state=suspended&search=Harbour/)
  const [, hash = ''] = page.url().split('#')
  await open(`#${hash}`)
  assert.equal(await page.inputValue('#filter-state'), 'suspended')
})

onOperators(
  'a refund whose answer was lost is repeated with its key, and another one gets another',
  async (opened) => {
    const { page, open } = opened
    await open('#/refunds')
    const keys: (string | undefined)[] = []
    await page.route('**/operator/refunds', async (route) => {
      if (route.request().method() !== 'POST') return route.continue()
      keys.push(route.request().headers()['idempotency-key'])
      return route.abort('connectionreset')
    })
    const refund = async (amount: string) => {
      await page.fill('#refund-amount', amount)
      for (let click = 0; click < 2; click++) {
        const failed = page.waitForEvent('requestfailed')
        await page.click('button:text-is("Refund")')
        await failed
      }
    }
    await page.fill('#refund-checkout', 'chk_1')
    await page.fill('#refund-reason', 'unused')
    await refund('5')
    await refund('6')
    assert.ok(keys[0])
    assert.equal(keys[1], keys[0])
    assert.notEqual(keys[2], keys[0])
    assert.equal(keys[3], keys[2])
  },
)

onOperators('the scripts of the operators’ pages are below 64 KB, gzipped', async ({ service }) => {
  const folder = join(service.folder, 'operator/assets')
  const sizes = readdirSync(folder)
    .filter((name) => name.endsWith('.js'))
    .map((name) => gzipSync(readFileSync(join(folder, name))).length)
  assert.ok(sizes.length >= 12, `saw only ${sizes.length} scripts`)
  const total = sizes.reduce((sum, size) => sum + size, 0)
  assert.ok(total < 64_000, `${total} bytes`)
})

onOperators(
  'operators: axe finds nothing on any page, full or empty, and nothing is wider than it',
  async ({ page, service, open }) => {
    const look = (name: string) => lookInEveryView(page, name)
    for (const path of ['overview', 'agents', 'refunds', 'purchases', 'keys', 'roots', 'audit']) {
      await open(`#/${path}`)
      await page.waitForSelector('main .card')
      await look(`operator-${path}`)
    }
    await open('#/payouts?status=paid&cursor=pay_zz')
    await page.waitForSelector('main .card')
    await look('operator-payouts-empty')
    const requestId = await requestPayout(service)
    await open(`#/payouts?payout=${requestId}`)
    await page.waitForSelector('dialog #next')
    await page.click('summary:has-text("Reject the payout")')
    await look('operator-payout')
    await open('#/forwards?status=closed&cursor=fwd_zz')
    await page.waitForSelector('main .card')
    await look('operator-forwards-empty')
    const orderId = await requestCapacity(service)
    await open('#/forwards')
    await page.waitForSelector('main tbody')
    await look('operator-forwards')
    await open(`#/forwards?forward=${orderId}`)
    await page.waitForSelector('dialog #next-step')
    await look('operator-forward')
    const { agentId } = await service.harness.register('live')
    await open(`#/agents?agent=${agentId}`)
    await page.waitForSelector('dialog .facts')
    for (const summary of await page.locator('dialog summary').all()) await summary.click()
    await look('operator-agent')
    await open('#/audit')
    await page.click('tbody a >> nth=0')
    await page.waitForSelector('dialog #chain')
    await look('operator-audit-entry')
  },
  firstView,
)

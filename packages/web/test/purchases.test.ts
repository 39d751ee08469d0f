import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encode } from '../../server/test/fixtures/payments/payer.ts'
import { startPurchaseHarness } from '../../server/test/fixtures/payments/purchases.ts'
import {
  formatTokenAmount,
  purchasesHeadline,
  purchaseStatusText,
  purchaseStatusLabels,
} from '../src/shared/purchases/messages.ts'
import { createBrowserTest, waitForText, signIn, tabTo, type TestPage } from './browser-test.ts'
import { lookInEveryView } from './browser.ts'
import { firstView, type View } from './views.ts'

type PurchaseFixture = NonNullable<Awaited<ReturnType<typeof startPurchaseHarness>>>

test('amounts are written from millionths, and every state has a sentence', () => {
  assert.deepEqual(['10000', '1', '1234567', '500000', '0'].map(formatTokenAmount), [
    '0.01',
    '0.000001',
    '1.234567',
    '0.50',
    '0.00',
  ])
  const purchase = {
    purchaseId: 'pur_1',
    workflowId: 'wf_test_ok',
    purpose: 'stock',
    questionId: null,
    status: 'delivered',
    reason: null,
    network: 'base-sepolia',
    payer: '0x1',
    amount: '10000',
    transaction: null,
    credentialId: null,
    createdAt: '2026-11-15T12:00:00Z',
    updatedAt: '2026-11-15T12:00:00Z',
  } as const
  const states = Object.keys(purchaseStatusLabels) as (keyof typeof purchaseStatusLabels)[]
  assert.equal(
    new Set(states.map((status) => purchaseStatusText({ ...purchase, status }))).size,
    states.length,
  )
  assert.equal(purchasesHeadline([purchase]), '1 purchase delivered')
  assert.equal(
    purchasesHeadline([
      purchase,
      { ...purchase, status: 'uncertain' },
      { ...purchase, status: 'refund_due' },
    ]),
    '1 purchase delivered, 1 pending, 1 refund due',
  )
})

type Agent = Awaited<ReturnType<PurchaseFixture['harness']['register']>>
type Buy = (agent: Agent) => ReturnType<PurchaseFixture['pay']>
type OnPurchases = (
  name: string,
  body: (opened: TestPage & { agent: Agent; open: () => Promise<void> }) => Promise<void>,
  view?: Partial<View>,
) => void

const openPurchases = async ({ harness }: PurchaseFixture): Promise<OnPurchases> => {
  const inBrowser = await createBrowserTest(async () => harness)
  return (name, body, view = {}) =>
    inBrowser(
      name,
      async (opened) => {
        const { page, service } = opened
        const agent = await harness.register('test')
        const open = async () => {
          await page.goto('about:blank')
          await page.goto(`${service.url}/console#/purchases`)
          await signIn(page, agent.apiKey)
        }
        await body({ ...opened, agent, open })
      },
      view,
    )
}

const testPurchase = (onPurchases: OnPurchases, buyAs: Buy): void =>
  onPurchases('a purchase shows its transaction, amount and credential', async ({ page, agent, open }) => {
    await open()
    await waitForText(page, 'Nothing bought yet')
    await waitForText(page, 'pohf buy wf_test_ok')
    const bought = await buyAs(agent)
    assert.equal(bought.status, 200, bought.text)
    await waitForText(page, '1 purchase delivered')
    await page.click('tbody a')
    const drawer = page.locator('dialog[open]')
    await drawer.filter({ hasText: 'the answer and its credential are delivered' }).waitFor()
    const { transaction } = bought.json.payment as { transaction: string }
    assert.equal(await drawer.locator(`[title="${transaction}"]`).count(), 1)
    assert.equal(await drawer.locator(`[title="${String(bought.json.credentialId)}"]`).count(), 1)
    assert.match((await drawer.textContent()) ?? '', /0\.01 USDC/)
    assert.equal((await page.content()).includes(String(bought.json.pohf_jwt)), false)
  })

const testDoubt = (onPurchases: OnPurchases, buyAs: Buy, { node }: PurchaseFixture): void =>
  onPurchases(
    'by keyboard alone: a purchase in doubt says not to pay again',
    async ({ page, agent, open }) => {
      node.setFaultRule((method) => (method.startsWith('eth_sendRaw') ? 'drop' : 'pass'))
      const bought = await buyAs(agent)
      assert.equal(bought.status, 202, bought.text)
      await open()
      await page.waitForSelector('tbody tr')
      await tabTo(page, 'wf_test_ok')
      await page.keyboard.press('Enter')
      await page.locator('dialog[open]').waitFor()
      node.setFaultRule(() => 'pass')
      await page.keyboard.press('Escape')
      await page.locator('dialog').waitFor({ state: 'detached' })
      assert.equal(new URL(page.url()).hash, '#/purchases')
    },
  )

const testViews = (onPurchases: OnPurchases, buyAs: Buy, { node }: PurchaseFixture): void => {
  onPurchases(
    'purchases: axe finds nothing, and nothing is wider than the page, in every view',
    async ({ page, agent, open }) => {
      const check = (name: string) => lookInEveryView(page, name)
      await open()
      await waitForText(page, 'Nothing bought yet')
      await check('purchases-empty')
      for (let n = 0; n < 3; n++) await buyAs(agent)
      node.setFaultRule((method) => (method.startsWith('eth_sendRaw') ? 'drop' : 'pass'))
      await buyAs(agent)
      node.setFaultRule(() => 'pass')
      await open()
      await page.waitForSelector('tbody tr')
      await check('purchases')
      await page.click('tbody a >> nth=-1')
      await page.waitForSelector('dialog[open]')
      await check('purchase')
    },
    firstView,
  )
}

const fixture = await startPurchaseHarness()
if (!fixture) test('the page Purchases', { skip: 'no chain runs on this system' }, () => undefined)
else {
  const { makeFundedPayer, requestChallenge, signV2, pay } = fixture
  /** An agent that pays with its own wallet, and says who it is. */
  const buyAs: Buy = async (agent) => {
    const { v2 } = await requestChallenge()
    const payment = await signV2(await makeFundedPayer(), v2)
    return pay({ 'payment-signature': encode(payment), authorization: `Bearer ${agent.apiKey}` })
  }
  const onPurchases = await openPurchases(fixture)
  testPurchase(onPurchases, buyAs)
  testDoubt(onPurchases, buyAs, fixture)
  testViews(onPurchases, buyAs, fixture)
}

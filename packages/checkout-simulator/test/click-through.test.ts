import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { findChromium, launch, violationsOf } from '../../web/test/browser.ts'
import { startCardHarness } from '../../server/test/fixtures/payments/card.ts'

const chromium = findChromium()
const card = 'path' in chromium ? await startCardHarness() : undefined
const browser = 'path' in chromium ? await launch(chromium.path) : undefined
after(() => browser?.close())

type View = { readonly width: number; readonly colorScheme: 'light' | 'dark' }
type Opened = { readonly page: Page; readonly card: NonNullable<typeof card> }
/** A browser test: left out, and saying so, where there is no browser. */
const inBrowser = (name: string, view: View, body: (opened: Opened) => Promise<void>): void =>
  void test(name, { skip: 'missing' in chromium ? chromium.missing : false }, async () => {
    assert.ok(browser && card)
    const session = await browser.newContext({
      viewport: { width: view.width, height: 900 },
      colorScheme: view.colorScheme,
      reducedMotion: 'reduce',
    })
    const page = await session.newPage()
    const faults: string[] = []
    page.on('pageerror', (error) => faults.push(error.message))
    page.on('console', (message) => {
      if (message.type() === 'error' && !/favicon|status of 404/.test(message.text()))
        faults.push(message.text())
    })
    try {
      await body({ page, card })
      assert.deepEqual(faults, [], 'the pages ran without a fault and within their policy')
    } finally {
      await session.close()
    }
  })

const shots = process.env['POHF_SHOTS']
const captureScreenshot = async (page: Page, name: string, view: View): Promise<void> => {
  assert.deepEqual(await violationsOf(page), [], name)
  const overflow = await page.evaluate<number>(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  )
  assert.ok(overflow <= 0, `${name} is ${overflow} px too wide at ${view.width}`)
  const small = await page.evaluate<string[]>(
    '[...document.querySelectorAll("button, a.btn")].filter((e) => e.getBoundingClientRect().height < 44).map((e) => e.textContent)',
  )
  assert.deepEqual(small, [], `${name}: touch targets`)
  if (shots !== undefined)
    await page.screenshot({ path: `${shots}/${name}-${view.width}-${view.colorScheme}.png`, fullPage: true })
}

const views: readonly View[] = [320, 1280].flatMap((width) =>
  (['light', 'dark'] as const).map((colorScheme) => ({ width, colorScheme })),
)

for (const view of views)
  inBrowser(
    `a person buys a pack at ${view.width} px, ${view.colorScheme}: declined first, then paid, posted once under a storm`,
    view,
    async ({ page, card: shop }) => {
      const agent = await shop.liveAgent()
      await page.goto(`${shop.baseUrl}/buy`)
      await captureScreenshot(page, 'buy', view)
      const { checkoutUrl, checkoutId, sessionId } = await shop.openCheckout(agent)
      await page.goto(checkoutUrl)
      assert.match(await page.innerText('.brand'), /stand-in/i)
      await captureScreenshot(page, 'hosted', view)
      await page.click('text=Try a card that is declined')
      assert.match(await page.innerText('[role=alert]'), /declined/)
      await captureScreenshot(page, 'hosted-declined', view)

      await page.click('text=Go back without paying')
      await page.waitForURL(`${shop.baseUrl}/checkout/${checkoutId}?returned=cancelled`)
      assert.match(await page.innerText('.chip'), /Open/)
      await captureScreenshot(page, 'return-cancelled', view)
      await page.click('a.btn')
      await page.waitForURL(checkoutUrl)

      // The messages wait, so that the person is back before we know anything.
      await shop.simulator.control('manner', { hold: true })
      await page.click('text=Pay 49.00 USD by card')
      await page.waitForURL(`${shop.baseUrl}/checkout/${checkoutId}?returned=paid`)
      assert.match(await page.innerText('.chip'), /Waiting/)
      await captureScreenshot(page, 'return-waiting', view)
      assert.equal((await shop.balance(agent)).balance, 0)
      const ids = await shop.heldEvents(['checkout.session.completed'])
      assert.deepEqual(await shop.deliver(ids, { signed: 'wrong' }), [400])
      await shop.deliver(
        Array.from({ length: 5 }, () => ids[0] ?? ''),
        { together: true },
      )
      await shop.simulator.control('manner', { hold: false })
      await page.waitForSelector('.chip.ok')
      assert.match(await page.innerText('.checkout'), /The credits are posted/)
      await captureScreenshot(page, 'return-paid', view)
      assert.equal((await shop.balance(agent)).balance, 100)

      await page.goto(checkoutUrl)
      assert.match(await page.innerText('h1'), /nothing to pay/)
      const payment = (await shop.state()).sessions.find(({ id }) => id === sessionId)?.paymentId ?? ''
      await shop.simulator.control(`payments/${payment}/refund`, { amount: 1_000 })
      await page.goto(`${shop.baseUrl}/checkout/${checkoutId}`)
      for (let tries = 0; tries < 100 && !(await page.innerText('.chip')).includes('Partly'); tries++)
        await page.reload()
      assert.match(await page.innerText('.checkout'), /10\.00 USD of it was refunded/)
      await captureScreenshot(page, 'return-refunded', view)
      await page.goto(shop.simulator.url)
      await captureScreenshot(page, 'home', view)
    },
  )

inBrowser(
  'by keyboard alone: the first stop pays',
  { width: 1280, colorScheme: 'light' },
  async ({ page, card: shop }) => {
    const agent = await shop.liveAgent()
    const { checkoutUrl, checkoutId } = await shop.openCheckout(agent)
    await page.goto(checkoutUrl)
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.waitForURL(/returned=paid/)
    await shop.waitForState(checkoutId, 'completed')
    assert.equal((await shop.balance(agent)).balance, 100)
  },
)

inBrowser(
  'a slow payment, an unknown page, and a deployment without a provider say what is so',
  { width: 320, colorScheme: 'dark' },
  async ({ page, card: shop }) => {
    const view = { width: 320, colorScheme: 'dark' } as const
    const agent = await shop.liveAgent()
    const { checkoutUrl, checkoutId } = await shop.openCheckout(agent)
    await page.goto(checkoutUrl)
    await page.click('text=Pay by slow bank debit')
    await page.waitForURL(/returned=paid/)
    await shop.waitForState(checkoutId, 'processing')
    await page.reload()
    assert.match(await page.innerText('.checkout'), /some days/)
    await captureScreenshot(page, 'return-slow', view)
    await page.goto(`${shop.simulator.url}/pay/none`)
    await captureScreenshot(page, 'hosted-unknown', view)
    await page.goto(`${shop.baseUrl}/checkout/none`)
    await captureScreenshot(page, 'return-unknown', view)
  },
)

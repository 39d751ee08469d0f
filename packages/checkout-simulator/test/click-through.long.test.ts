import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { findChromium, launch, violationsOf } from '../../web/test/browser.ts'
import { views, type View } from '../../web/test/views.ts'
import { startCardHarness } from '../../server/test/fixtures/payments/card.ts'

const chromium = findChromium()
const card = 'path' in chromium ? await startCardHarness() : undefined
const browser = 'path' in chromium ? await launch(chromium.path) : undefined
after(() => browser?.close())

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
const checkPage = async (page: Page, name: string, view: View): Promise<void> => {
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

for (const view of views)
  inBrowser(
    `a person buys a pack at ${view.width} px, ${view.colorScheme}: declined first, then paid, posted once under a storm`,
    view,
    async ({ page, card: cards }) => {
      const agent = await cards.liveAgent()
      await page.goto(`${cards.baseUrl}/buy`)
      await checkPage(page, 'buy', view)
      const { checkoutUrl, checkoutId, sessionId } = await cards.openCheckout(agent)
      await page.goto(checkoutUrl)
      assert.match(await page.innerText('.brand'), /simulator/i)
      await checkPage(page, 'hosted', view)
      await page.click('text=Try a card that is declined')
      assert.match(await page.innerText('[role=alert]'), /declined/)
      await checkPage(page, 'hosted-declined', view)

      await page.click('text=Go back without paying')
      await page.waitForURL(`${cards.baseUrl}/checkout/${checkoutId}?returned=cancelled`)
      assert.match(await page.innerText('.chip'), /Open/)
      await checkPage(page, 'return-cancelled', view)
      await page.click('a.btn')
      await page.waitForURL(checkoutUrl)

      // Events are held, so that the person returns before the server knows of the payment.
      await cards.simulator.control('delivery', { hold: true })
      await page.click('text=Pay 49.00 USD by card')
      await page.waitForURL(`${cards.baseUrl}/checkout/${checkoutId}?returned=paid`)
      assert.match(await page.innerText('.chip'), /Waiting/)
      await checkPage(page, 'return-waiting', view)
      assert.equal((await cards.balance(agent)).balance, 0)
      const ids = await cards.heldEvents(['checkout.session.completed'])
      assert.deepEqual(await cards.deliver(ids, { signed: 'wrong' }), [400])
      await cards.deliver(
        Array.from({ length: 5 }, () => ids[0] ?? ''),
        { together: true },
      )
      await cards.simulator.control('delivery', { hold: false })
      await page.waitForSelector('.chip.ok')
      assert.match(await page.innerText('.checkout'), /The credits are posted/)
      await checkPage(page, 'return-paid', view)
      assert.equal((await cards.balance(agent)).balance, 100)

      await page.goto(checkoutUrl)
      assert.match(await page.innerText('h1'), /nothing to pay/)
      const payment = (await cards.state()).sessions.find(({ id }) => id === sessionId)?.paymentId ?? ''
      await cards.simulator.control(`payments/${payment}/refund`, { amount: 1_000 })
      await page.goto(`${cards.baseUrl}/checkout/${checkoutId}`)
      for (let tries = 0; tries < 100 && !(await page.innerText('.chip')).includes('Partly'); tries++)
        await page.reload()
      assert.match(await page.innerText('.checkout'), /10\.00 USD of it was refunded/)
      await checkPage(page, 'return-refunded', view)
      await page.goto(cards.simulator.url)
      await checkPage(page, 'home', view)
    },
  )

inBrowser(
  'by keyboard alone: the first stop pays',
  { width: 1280, colorScheme: 'light' },
  async ({ page, card: cards }) => {
    const agent = await cards.liveAgent()
    const { checkoutUrl, checkoutId } = await cards.openCheckout(agent)
    await page.goto(checkoutUrl)
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.waitForURL(/returned=paid/)
    await cards.waitForState(checkoutId, 'completed')
    assert.equal((await cards.balance(agent)).balance, 100)
  },
)

inBrowser(
  'a slow payment, an unknown page, and a deployment without a provider say what is so',
  { width: 320, colorScheme: 'dark' },
  async ({ page, card: cards }) => {
    const view = { width: 320, colorScheme: 'dark' } as const
    const agent = await cards.liveAgent()
    const { checkoutUrl, checkoutId } = await cards.openCheckout(agent)
    await page.goto(checkoutUrl)
    await page.click('text=Pay by slow bank debit')
    await page.waitForURL(/returned=paid/)
    await cards.waitForState(checkoutId, 'processing')
    await page.reload()
    assert.match(await page.innerText('.checkout'), /some days/)
    await checkPage(page, 'return-slow', view)
    await page.goto(`${cards.simulator.url}/pay/none`)
    await checkPage(page, 'hosted-unknown', view)
    await page.goto(`${cards.baseUrl}/checkout/none`)
    await checkPage(page, 'return-unknown', view)
  },
)

import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { after, test, type TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import { answer, startReceiver } from '../../server/test/receiver.ts'
import { happen, newAgent, subscribe, type Agent } from '../../server/test/webhooks.ts'
import { findChromium, launch, violationsOf } from './browser.ts'
import { openService } from './service.ts'

const chromium = findChromium()
const service = 'path' in chromium ? await openService() : undefined
const browser = 'path' in chromium ? await launch(chromium.path) : undefined
after(() => browser?.close())

type View = { readonly width?: number; readonly colorScheme?: 'light' | 'dark' }
type Opened = { readonly page: Page; readonly service: NonNullable<typeof service>; readonly agent: Agent }

/** A browser test with an agent of its own: left out, and saying so, where there is no browser. */
const inBrowser = (
  name: string,
  body: (opened: Opened, context: TestContext) => Promise<void>,
  view: View = {},
): void =>
  void test(name, { skip: 'missing' in chromium ? chromium.missing : false }, async (context) => {
    assert.ok(browser && service)
    service.behaviour.api = 'good'
    const { width = 1280, colorScheme = 'light' } = view
    const session = await browser.newContext({
      viewport: { width, height: 900 },
      colorScheme,
      reducedMotion: 'reduce',
    })
    const page = await session.newPage()
    const faults: string[] = []
    page.on('pageerror', (error) => faults.push(error.message))
    page.on('console', (message) => {
      const text = message.text()
      if (message.type() === 'error' && !/status of 4\d\d|ERR_EMPTY_RESPONSE/.test(text)) faults.push(text)
    })
    try {
      const agent = await newAgent(service.harness)
      await page.goto(`${service.url}/console#/webhooks`)
      await page.waitForSelector('#key')
      await body({ page, service, agent }, context)
      assert.deepEqual(faults, [], 'the page ran without a fault and within its policy')
    } finally {
      await session.close()
    }
  })

const signIn = async (page: Page, key: string): Promise<void> => {
  await page.fill('#key', key)
  await page.click('text=Open the console')
  await page.waitForSelector('main h1')
}
const says = (page: Page, text: string | RegExp) => page.locator('main', { hasText: text }).waitFor()

inBrowser('the key stays in the memory of the tab, and only the public API is asked', async (opened) => {
  const { page, service, agent } = opened
  service.asked.length = 0
  await signIn(page, agent.apiKey)
  await says(page, 'Nothing is sent anywhere yet.')
  const stored = await page.evaluate<unknown>(
    '[document.cookie, localStorage.length, sessionStorage.length, location.href]',
  )
  assert.deepEqual(stored, ['', 0, 0, `${service.url}/console#/webhooks`])
  const calls = service.asked.filter(({ key }) => key !== undefined)
  assert.ok(calls.length > 0)
  for (const { url, key, cookie } of calls) {
    assert.match(url, /^\/api\/agents\//)
    assert.equal(key, `Bearer ${agent.apiKey}`)
    assert.equal(cookie, undefined)
  }
  await page.reload()
  await page.waitForSelector('#key')
  assert.equal(await page.inputValue('#key'), '')
})

inBrowser(
  'what is no key is not sent, and a key that is refused says why',
  async ({ page, service, agent }) => {
    service.asked.length = 0
    await page.fill('#key', 'hello')
    await page.click('text=Open the console')
    await page.waitForSelector('#key-wrong')
    assert.deepEqual(service.asked, [])
    await page.fill('#key', `${agent.apiKey.slice(0, -1)}${agent.apiKey.endsWith('0') ? '1' : '0'}`)
    await page.click('text=Open the console')
    await page.locator('[role=alert]', { hasText: 'malformed_api_key' }).waitFor()
    await page.waitForSelector('#key')
  },
)

inBrowser(
  'an endpoint is added, tried, understood, mended and recovered',
  async ({ page, service, agent }) => {
    const { harness } = service
    const receiver = await startReceiver(answer(404))
    await signIn(page, agent.apiKey)
    await says(page, 'pohf webhooks add')
    await page.fill('#url', 'http://10.0.0.1/')
    await page.click('text=Add the endpoint')
    await page.locator('[role=alert]', { hasText: 'must not name an address that is not public' }).waitFor()
    await page.fill('#url', receiver.url)
    await page.fill('#events', 'key.revoked, key.rotated')
    await page.click('text=Add the endpoint')
    const secret = await page.textContent('.note-secret pre')
    assert.match(secret ?? '', /^whsec_/)
    await page.click('text=I have kept it')
    assert.equal((await page.content()).includes(secret ?? ''), false, 'the secret is still on the page')
    await page.click(`a:has-text("${receiver.url}")`)
    await says(page, 'Nothing was sent yet.')
    await page.click('text=Send a test event')
    await page.locator('.note.ok', { hasText: 'on its way' }).waitFor()
    await harness.work()
    const delivery = page.locator('.delivery', { hasText: 'endpoint.test' })
    await delivery.waitFor()
    await delivery.locator('.chip', { hasText: 'given up' }).waitFor()
    await delivery.locator('summary').click()
    await delivery.locator('text=There is nothing at that path').waitFor()
    receiver.respond = answer(204)
    await delivery.locator('button', { hasText: 'Send it again' }).click()
    await page.locator('.note.ok', { hasText: 'sent again' }).waitFor()
    await harness.work()
    await delivery.locator('.chip', { hasText: 'taken' }).waitFor()
    await page.click('text=Rotate the secret')
    await page.click('text=Rotate: the old one signs on for a day')
    assert.notEqual(await page.textContent('.note-secret pre'), secret)
    await page.click('text=I have kept it')
    await page.click('button:has-text("Switch off")')
    await says(page, 'Switched off just now: you did that.')
    const missed = await happen(harness, agent)
    await harness.work()
    await page.click('text=Switch on and send what it missed')
    await page.locator('.note.ok', { hasText: 'is being sent' }).waitFor()
    await harness.work()
    assert.ok(receiver.eventIds().includes(missed))
    await page.click('button:has-text("Delete")')
    await page.click('text=Delete for good')
    await says(page, 'Nothing is sent anywhere yet.')
  },
)

inBrowser(
  'while the service is slow or away the page says so, and goes on when it is back',
  async (opened) => {
    const { page, service, agent } = opened
    service.behaviour.api = 'slow'
    await signIn(page, agent.apiKey)
    await page.waitForSelector('.bone', { timeout: 1_400 })
    await says(page, 'Nothing is sent anywhere yet.')
    service.behaviour.api = 'down'
    await page.locator('[role=alert]', { hasText: 'did not answer' }).waitFor({ timeout: 10_000 })
    service.behaviour.api = 'good'
    await page.click('text=Try again')
    await page.locator('[role=alert]').waitFor({ state: 'detached' })
  },
)

inBrowser('by keyboard alone: key, endpoint, delivery, reason, replay', async ({ page, service, agent }) => {
  const { harness } = service
  const receiver = await startReceiver(answer(500))
  await subscribe(harness, agent, receiver.url, ['key.revoked'])
  await happen(harness, agent)
  await harness.work()
  const tabTo = async (wanted: string) => {
    for (let step = 0; step < 40; step++) {
      const focused = await page.evaluate<string>(
        // The page itself may have the focus, and holds every text.
        'document.activeElement.matches("a, button, input, summary, select, pre") ? `${document.activeElement.id} ${document.activeElement.tagName} ${document.activeElement.textContent}` : ""',
      )
      if (focused.includes(wanted)) return
      await page.keyboard.press('Tab')
    }
    assert.fail(`${wanted} is not reached by Tab`)
  }
  await tabTo('key INPUT')
  await page.keyboard.insertText(agent.apiKey)
  await page.keyboard.press('Enter')
  await page.waitForSelector('.endpoint')
  await tabTo(receiver.url)
  await page.keyboard.press('Enter')
  await page.waitForSelector('.delivery')
  await tabTo('key.revoked')
  await page.keyboard.press('Enter')
  await page.locator('text=The receiver failed (500)').waitFor()
  await tabTo('Send it again')
  await page.keyboard.press('Enter')
  await page.locator('.note.ok', { hasText: 'sent again' }).waitFor()
})

/** Endpoints in every state, with deliveries in every state. */
const furnish = async (service: NonNullable<typeof inUse>, agent: Agent) => {
  const { harness } = service
  const [good, bad, gone] = [
    await startReceiver(),
    await startReceiver(answer(503)),
    await startReceiver(answer(410)),
  ]
  const ids = []
  for (const receiver of [good, bad, gone])
    ids.push(
      (
        await subscribe(harness, agent, `${receiver.url}/a/rather/long/path/of/a/receiver`, [
          'key.revoked',
          'credential.issued',
        ])
      ).id,
    )
  for (let n = 0; n < 6; n++) await happen(harness, agent)
  await harness.work()
  return ids
}
const inUse = service

for (const width of [320, 1280]) {
  for (const colorScheme of ['light', 'dark'] as const) {
    inBrowser(
      `axe finds nothing, and nothing is wider than the page: ${width} px, ${colorScheme}`,
      async ({ page, service, agent }) => {
        const look = async (name: string) => {
          const folder = process.env['POHF_SCREENSHOTS']
          if (folder !== undefined) {
            mkdirSync(folder, { recursive: true })
            await page.screenshot({ path: `${folder}/${name}-${width}-${colorScheme}.png`, fullPage: true })
          }
          assert.deepEqual(await violationsOf(page), [], name)
          assert.ok(
            (await page.evaluate<number>('document.documentElement.scrollWidth')) <= width,
            `${name} scrolls sideways`,
          )
        }
        await look('key')
        await signIn(page, agent.apiKey)
        await says(page, 'Nothing is sent anywhere yet.')
        await look('empty')
        const [, bad, gone] = await furnish(service, agent)
        await page.reload()
        await signIn(page, agent.apiKey)
        await page.waitForSelector('.endpoint')
        await look('list')
        for (const [name, id] of [
          ['failing', bad],
          ['disabled', gone],
        ] as const) {
          await page.evaluate(`location.hash = '#/webhooks/${id}'`)
          await page.waitForSelector('.delivery')
          await page.locator('.delivery summary').first().click()
          await look(name)
        }
        await page.click('text=Rotate the secret')
        await page.click('text=Rotate: the old one')
        await page.waitForSelector('.note-secret')
        await look('secret')
      },
      { width, colorScheme },
    )
  }
}

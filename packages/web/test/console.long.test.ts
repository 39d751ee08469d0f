import assert from 'node:assert/strict'
import { respondWith, startReceiver } from '../../server/test/fixtures/webhook-receiver.ts'
import {
  publishEvent,
  registerIdleAgent,
  subscribe,
  type Agent,
} from '../../server/test/fixtures/webhooks.ts'
import { createBrowserTest, openKeyForm, waitForText, signIn, tabTo, type TestPage } from './browser-test.ts'
import { lookInEveryView } from './browser.ts'
import type { Service } from './service.ts'
import { firstView, type View } from './views.ts'

const inBrowser = await createBrowserTest()

/** A test of the webhooks page, with an agent of its own. */
const onWebhooks = (
  name: string,
  body: (opened: TestPage & { readonly agent: Agent }) => Promise<void>,
  view: Partial<View> = {},
): void =>
  inBrowser(
    name,
    async (opened) => {
      const agent = await registerIdleAgent(opened.service.harness)
      await opened.page.goto(`${opened.service.url}/console#/webhooks`)
      await openKeyForm(opened.page)
      await body({ ...opened, agent })
    },
    view,
  )

onWebhooks('the key stays in the memory of the tab, and only the public API is asked', async (opened) => {
  const { page, service, agent } = opened
  service.requests.length = 0
  await signIn(page, agent.apiKey)
  await waitForText(page, 'No endpoint yet, so no event is sent')
  const stored = await page.evaluate<unknown>(
    '[document.cookie, localStorage.length, sessionStorage.length, location.href]',
  )
  assert.deepEqual(stored, ['', 0, 0, `${service.url}/console#/webhooks`])
  const calls = service.requests.filter(({ key }) => key !== undefined)
  assert.ok(calls.length > 0)
  for (const { url, key, cookie } of calls) {
    assert.match(url, /^\/api\/agents\//)
    assert.equal(key, `Bearer ${agent.apiKey}`)
    assert.equal(cookie, undefined)
  }
  await page.reload()
  await openKeyForm(page)
  assert.equal(await page.inputValue('#key'), '')
})

onWebhooks(
  'what is no key is not sent, and a key that is refused says why',
  async ({ page, service, agent }) => {
    service.requests.length = 0
    await page.fill('#key', 'hello')
    await page.click('text=Open the console')
    await page.waitForSelector('#key-wrong')
    assert.deepEqual(service.requests, [])
    await page.fill('#key', `${agent.apiKey.slice(0, -1)}${agent.apiKey.endsWith('0') ? '1' : '0'}`)
    await page.click('text=Open the console')
    await page.locator('[role=alert]', { hasText: 'malformed_api_key' }).waitFor()
    await page.waitForSelector('#key', { state: 'attached' })
  },
)

onWebhooks(
  'an endpoint is added, tried, understood, mended and recovered',
  async ({ page, service, agent }) => {
    const { harness } = service
    const receiver = await startReceiver(respondWith(404))
    await signIn(page, agent.apiKey)
    await waitForText(page, 'pohf webhooks add')
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
    await waitForText(page, 'Nothing was sent yet.')
    await page.click('text=Send a test event')
    await page.locator('.note.ok', { hasText: 'A test event is queued.' }).waitFor()
    await harness.runJobs()
    const delivery = page.locator('.delivery', { hasText: 'endpoint.test' })
    await delivery.waitFor()
    await delivery.locator('.chip', { hasText: 'failed' }).waitFor()
    await delivery.locator('summary').click()
    await delivery.locator('text=The receiver has nothing at this path').waitFor()
    receiver.respond = respondWith(204)
    await delivery.locator('button', { hasText: 'Send it again' }).click()
    await page.locator('.note.ok', { hasText: 'The delivery is queued again.' }).waitFor()
    await harness.runJobs()
    await delivery.locator('.chip', { hasText: 'delivered' }).waitFor()
    await page.click('text=Rotate the secret')
    await page.click('text=Rotate: the old secret also signs for 24 hours')
    assert.notEqual(await page.textContent('.note-secret pre'), secret)
    await page.click('text=I have kept it')
    await page.click('button:text-is("Disable")')
    await waitForText(page, 'Disabled just now: by you.')
    const missed = await publishEvent(harness, agent)
    await harness.runJobs()
    await page.click('text=Enable and send missed events')
    await page.locator('.note.ok', { hasText: 'are being sent' }).waitFor()
    await harness.runJobs()
    assert.ok(receiver.eventIds().includes(missed))
    await page.click('button:has-text("Delete")')
    await page.click('text=Delete permanently')
    await waitForText(page, 'No endpoint yet, so no event is sent')
  },
)

onWebhooks(
  'while the service is slow or away the page says so, and goes on when it is back',
  async (opened) => {
    const { page, service, agent } = opened
    service.behaviour.api = 'slow'
    await signIn(page, agent.apiKey)
    await page.waitForSelector('.bone')
    service.behaviour.api = 'good'
    await waitForText(page, 'No endpoint yet, so no event is sent')
    service.behaviour.api = 'down'
    await page.locator('[role=alert]', { hasText: 'did not answer' }).waitFor()
    service.behaviour.api = 'good'
    await page.click('text=Try again')
    await page.locator('[role=alert]').waitFor({ state: 'detached' })
  },
)

onWebhooks('by keyboard alone: key, endpoint, delivery, reason, replay', async ({ page, service, agent }) => {
  const { harness } = service
  const receiver = await startReceiver(respondWith(500))
  await subscribe(harness, agent, receiver.url, ['key.revoked'])
  await publishEvent(harness, agent)
  await harness.runJobs()
  await tabTo(page, 'key INPUT')
  await page.keyboard.insertText(agent.apiKey)
  await page.keyboard.press('Enter')
  await page.waitForSelector('.endpoint')
  await tabTo(page, receiver.url)
  await page.keyboard.press('Enter')
  await page.waitForSelector('.delivery')
  await tabTo(page, 'key.revoked')
  await page.keyboard.press('Enter')
  await page.locator('text=The receiver failed (500)').waitFor()
  await tabTo(page, 'Send it again')
  await page.keyboard.press('Enter')
  await page.locator('.note.ok', { hasText: 'The delivery is queued again.' }).waitFor()
  await page.fill('#since', '2026-01-02T03:04')
  await tabTo(page, 'state SELECT')
  await page.keyboard.press('ArrowDown')
  await waitForText(page, 'No delivery is in this state.')
  assert.equal(await page.evaluate('document.activeElement.id'), 'state')
  assert.equal(await page.inputValue('#since'), '2026-01-02T03:04')
})

/** Endpoints in every state, with deliveries in every state. */
const seedEndpoints = async (service: Service, agent: Agent) => {
  const { harness } = service
  const [good, bad, gone] = [
    await startReceiver(),
    await startReceiver(respondWith(503)),
    await startReceiver(respondWith(410)),
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
  for (let n = 0; n < 6; n++) await publishEvent(harness, agent)
  await harness.runJobs()
  return ids
}
onWebhooks(
  'axe finds nothing, and nothing is wider than the page, in every view',
  async ({ page, service, agent }) => {
    const look = (name: string) => lookInEveryView(page, name)
    await look('key')
    await signIn(page, agent.apiKey)
    await waitForText(page, 'No endpoint yet, so no event is sent')
    await look('empty')
    const [, bad, gone] = await seedEndpoints(service, agent)
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
    await page.click('text=Rotate: the old secret')
    await page.waitForSelector('.note-secret')
    await look('secret')
  },
  firstView,
)

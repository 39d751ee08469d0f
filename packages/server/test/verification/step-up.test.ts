import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { createServer } from 'node:net'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { findChromium, launch, violationsOf } from '../../../web/test/browser.ts'
import { tabTo } from '../../../web/test/worker-browser.ts'
import { stepUpMessages } from '../../src/evidence/devices/step-up-page.ts'
import { startHarness } from '../fixtures/harness.ts'
import { makeAttestedModel } from '../fixtures/people/attested-model.ts'
import { addAuthenticator, plugInKey } from '../fixtures/people/browser-key.ts'
import { registerConfirmedAgent } from '../fixtures/people/member.ts'
import { playSession } from '../fixtures/people/play-session.ts'

// The step-up page in a real browser, with a security key of a model that the service trusts.

const chromium = findChromium()
const skip = 'missing' in chromium ? chromium.missing : false
const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' ? (address?.port ?? 0) : 0))
    })
  })
const model = await makeAttestedModel()
const port = await freePort()
const harness = await startHarness({ PORT: String(port), ...model.settings })
await harness.app.api.listen({ host: '127.0.0.1', port })
const browser = 'path' in chromium ? await launch(chromium.path) : undefined
after(async () => {
  model.close()
  await browser?.close()
})
const live = await registerConfirmedAgent(harness, 'live', 'shop@example.com')
const origin = `http://localhost:${port}`

const picturesFolder = process.env['POHF_PICTURES']
const checkPage = async (page: Page, name: string): Promise<void> => {
  assert.deepEqual(await violationsOf(page), [], name)
  const width = await page.evaluate<number>(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  )
  assert.ok(width <= 0, `${name} scrolls sideways`)
  if (!picturesFolder) return
  mkdirSync(picturesFolder, { recursive: true })
  await page.screenshot({ path: `${picturesFolder}/${name}.png`, fullPage: true })
}

for (const [name, width, dark, locale] of [
  ['desk-dark', 1_280, true, 'en-GB'],
  ['german-phone-light', 320, false, 'de-AT'],
] as const)
  test(
    `${name}: a person steps up with the keyboard alone, and again with the same key`,
    { skip },
    async () => {
      assert.ok(browser)
      const words = stepUpMessages[locale === 'de-AT' ? 'de' : 'en']
      const context = await browser.newContext({
        viewport: { width, height: 800 },
        colorScheme: dark ? 'dark' : 'light',
        locale,
      })
      const page = await context.newPage()
      const faults: string[] = []
      page.on('pageerror', (error) => faults.push(error.message))
      await plugInKey(page, origin, model)
      for (const round of ['first', 'second']) {
        const { sessionId } = await playSession(harness, { site: live.agentId })
        const asked = { key: live.apiKey, body: { subjectRef: sessionId } }
        const { url } = (await harness.call('POST', '/api/agents/step-up', asked)).json
        await page.goto(url)
        assert.equal(await page.locator('html').getAttribute('lang'), locale.slice(0, 2))
        await checkPage(page, `step-up-${name}-${round}-1-ask`)
        assert.equal(await page.getByRole('button', { name: words.other }).count(), round === 'first' ? 0 : 1)
        await tabTo(page, 'button')
        await page.keyboard.press('Enter')
        await page.getByRole('heading', { level: 1, name: words.doneTitle }).waitFor()
        assert.equal(await page.evaluate('document.activeElement.textContent'), words.doneTitle)
        assert.equal(await page.getByRole('heading').count(), 1)
        await checkPage(page, `step-up-${name}-${round}-2-done`)
        const minted = await harness.call('POST', '/api/agents/verify', {
          key: live.apiKey,
          body: { sessionId },
        })
        assert.equal(minted.json.assurance, 'substantial')
      }
      const { rows } = await harness.owner.query("select from device_keys where subject_ref = 'step-up'")
      assert.equal(rows.length, name === 'desk-dark' ? 1 : 2, 'one key for each person')
      assert.deepEqual(faults, [])
      await context.close()
    },
  )

test(
  'a key of a model that nobody lists is refused with the reason, and the person can try again',
  { skip },
  async () => {
    assert.ok(browser)
    const context = await browser.newContext({ viewport: { width: 390, height: 800 }, locale: 'en-GB' })
    const page = await context.newPage()
    await addAuthenticator(await context.newCDPSession(page))
    const { sessionId } = await playSession(harness, { site: live.agentId })
    const asked = { key: live.apiKey, body: { subjectRef: sessionId } }
    await page.goto((await harness.call('POST', '/api/agents/step-up', asked)).json.url)
    await tabTo(page, 'button')
    await page.keyboard.press('Enter')
    await page.getByRole('status').getByText(stepUpMessages.en.refused.device_unproven).waitFor()
    assert.equal(await page.evaluate('document.activeElement.textContent'), stepUpMessages.en.use)
    await checkPage(page, 'step-up-refused')
    const minted = await harness.call('POST', '/api/agents/verify', { key: live.apiKey, body: { sessionId } })
    assert.equal(minted.json.assurance, 'low')
    await context.close()
  },
)

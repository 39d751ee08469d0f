import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { companyStates } from '@pohf/protocol'
import { startMailbox } from '../../server/test/fixtures/mailbox.ts'
import { companyClient } from '../../server/test/fixtures/people/company.ts'
import { openOwnCompany, startZone } from '../../server/test/fixtures/people/own-company.ts'
import { companyLabels, faultTexts } from '../src/agent/company/messages.ts'
import type { CompanySignIns } from '../src/agent/wire.ts'
import { findChromium, launch, lookInEveryView } from './browser.ts'
import { waitForText } from './browser-test.ts'
import { ownerBrowser } from './owner-browser.ts'
import { startWorkerFixture } from './worker-fixture.ts'

const chromium = findChromium()
const skip = 'missing' in chromium ? chromium.missing : false
const mailbox = skip === false ? await startMailbox() : undefined
after(() => mailbox?.stop())
const zone = await startZone()
const domain = 'nordwind.localhost'
const company = await openOwnCompany(domain)
const service = mailbox
  ? await startWorkerFixture(async () => ({
      SMTP_URL: `smtp://127.0.0.1:${mailbox.smtpPort}`,
      DNS_RESOLVERS: zone.address,
    }))
  : undefined
const browser = 'path' in chromium ? await launch(chromium.path) : undefined
after(() => browser?.close())
const { openPage, openAsOwner } = ownerBrowser({ browser, service, mailbox })

/** What the API says at the moment; the page shows it in the same words. */
const watchStates = (page: Page) => {
  let latest: Promise<CompanySignIns> | undefined
  const seen = new Set<string>()
  page.on('response', (response) => {
    if (!response.url().endsWith('/api/agents/companies') || response.request().method() !== 'GET') return
    latest = response.json() as Promise<CompanySignIns>
    // A page that is left reads no more.
    void latest.catch(() => undefined)
  })
  return {
    seen,
    /** Waits until the chip says the word of this state, and compares it with the API. */
    is: async (state: keyof typeof companyLabels, fault: keyof typeof faultTexts | null) => {
      const { word, text } = companyLabels[state]
      await page.locator('main .chip', { hasText: word }).waitFor()
      await waitForText(page, text)
      if (fault !== null) await waitForText(page, faultTexts[fault])
      const { companies } = (await latest) ?? { companies: [] }
      assert.deepEqual(
        companies.map((one) => [one.state, one.fault]),
        [[state, fault]],
      )
      seen.add(state)
    },
  }
}
const open = async (page: Page) => {
  await page.evaluate('location.hash = "#/home"')
  await page.waitForURL(/#\/home$/)
  await page.evaluate('location.hash = "#/company"')
}
const moveBack = (hours: number) =>
  service?.harness.owner.query(
    `update company_issuers set seen_at = seen_at - make_interval(hours => $1), checked_at = checked_at - make_interval(hours => $1), due_at = due_at - make_interval(hours => $1)`,
    [hours],
  )

test(
  'an owner sets up the company, publishes the record that the page shows, and sees each state that the API has',
  { skip },
  async () => {
    const { page, faults } = await openAsOwner('ada@nordwind.example')
    const states = watchStates(page)
    await open(page)
    await waitForText(page, 'No company vouches for people yet')
    await lookInEveryView(page, 'company-empty')
    await page.fill('#company-name', 'Nordwind')
    await page.fill('#company-domain', domain)
    await page.fill('#company-issuer', 'https://login.other.example')
    await page.fill('#company-clientId', companyClient.clientId)
    await page.fill('#company-secret', companyClient.clientSecret)
    await page.click('text=Store it and show the record')
    await page.locator('[role=alert]', { hasText: 'is not nordwind.localhost and not below it' }).waitFor()
    await page.fill('#company-issuer', company.issuer)
    await page.click('text=Store it and show the record')
    await states.is('waiting', null)
    const shown = async (label: string) =>
      (await page.textContent(`pre[aria-label="${label}"]`))?.trim() ?? ''
    const record = { name: await shown('name of the record'), value: await shown('value of the record') }
    assert.match(await shown('redirect address'), /\/issuers\/return\/iss_\w+$/)
    await lookInEveryView(page, 'company-waiting')
    await page.click('text=Check it now')
    await states.is('waiting', 'record_missing')
    zone.publish(record)
    await service?.harness.owner.query('update company_issuers set checked_at = null')
    await page.click('text=Check it now')
    await page.locator('.note.ok', { hasText: 'Nordwind is ready.' }).waitFor()
    await states.is('ready', null)
    await lookInEveryView(page, 'company-ready')
    zone.clear()
    await moveBack(25)
    await service?.harness.runJobs()
    await open(page)
    await states.is('missing', 'record_missing')
    await waitForText(page, 'the sign-in stops on')
    await lookInEveryView(page, 'company-missing')
    await moveBack(50)
    await open(page)
    await states.is('stopped', 'record_missing')
    await lookInEveryView(page, 'company-stopped')
    await page.click('text=Replace the client secret')
    await page.fill('input[id^="secret-"]', 'another secret')
    await page.click('button:has-text("Replace the secret")')
    await page.locator('.note.ok', { hasText: 'The secret was replaced.' }).waitFor()
    await page.click('button:text-is("Remove")')
    await page.click('text=Remove Nordwind: what it vouched for counts no more')
    await waitForText(page, 'No company vouches for people yet')
    assert.deepEqual([...states.seen].toSorted(), [...companyStates].toSorted())
    assert.deepEqual(faults, [])
    await page.context().close()
  },
)

test('a key sees what an owner is needed for', { skip }, async () => {
  assert.ok(service)
  const { page } = await openPage()
  const { apiKey } = await service.harness.register()
  await page.click('text=Sign in with an API key')
  await page.fill('#key', apiKey)
  await page.press('#key', 'Enter')
  await page.waitForSelector('.app main h1')
  await open(page)
  await waitForText(page, 'No key can do this')
  await page.context().close()
})

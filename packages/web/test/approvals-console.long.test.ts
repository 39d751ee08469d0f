import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { verifyReport } from '@pohf/verify/approvals'
import { mixedTeam, seedTeam } from '../../server/test/fixtures/approvals/team.ts'
import { startMailbox } from '../../server/test/fixtures/mailbox.ts'
import { enrolApprover } from '../../server/test/fixtures/people/approver.ts'
import { findChromium, launch, lookInEveryView } from './browser.ts'
import { signIn, tabTo, waitForText } from './browser-test.ts'
import { ownerBrowser, type OpenedConsole as Opened } from './owner-browser.ts'
import { startWorkerFixture } from './worker-fixture.ts'

const chromium = findChromium()
const skip = 'missing' in chromium ? chromium.missing : false
const mailbox = skip === false ? await startMailbox() : undefined
after(() => mailbox?.stop())
const service = mailbox
  ? await startWorkerFixture(async () => ({ SMTP_URL: `smtp://127.0.0.1:${mailbox.smtpPort}` }))
  : undefined
const browser = 'path' in chromium ? await launch(chromium.path) : undefined
after(() => browser?.close())

const { openPage, openAsOwner } = ownerBrowser({ browser, service, mailbox })
const go = (page: Page, part: string) => page.evaluate(`location.hash = "#/approvals${part}"`)

/** A key of the account's test agent, made in the console. */
const makeKey = async (page: Page): Promise<{ apiKey: string; agentId: `agt_${string}` }> => {
  assert.ok(service)
  await page.evaluate('location.hash = "#/keys"')
  await page.click('.choice:has-text("approvals")')
  await page.click('.choice:has-text("evidence")')
  await page.click('.choice:has-text("manage keys")')
  await page.click('text=Create a key with 4 scopes')
  const apiKey = (await page.textContent('.note-secret pre')) ?? ''
  await page.click('text=I have kept it')
  const { json } = await service.harness.call('GET', '/api/agents/me', { key: apiKey })
  return { apiKey, agentId: json.agentId }
}

/** The views of the suite, and the width of most phones. */
const look = async (page: Page, name: string): Promise<void> => {
  await page.setViewportSize({ width: 390, height: 900 })
  const wide = await page.evaluate<number>('document.documentElement.scrollWidth')
  assert.ok(wide <= 390, `${name}, 390 px: scrolls sideways`)
  await lookInEveryView(page, name)
}

const ok = (page: Page, text: string) => page.locator('.note.ok', { hasText: text }).waitFor()

const testSetUp = async ({ page }: Opened) => {
  await go(page, '')
  await waitForText(page, 'No approval was requested yet')
  await look(page, 'approvals-empty')
  await page.click('text=Register an action type')
  await waitForText(page, 'No action type yet')
  await page.fill('#type-name', 'invoice.pay')
  await page.fill('#type-title', 'Pay an invoice')
  await page.fill('#type-labels', 'Amount')
  await page.click('text=Register the type')
  await page.locator('[role=alert]', { hasText: 'as a pointer, a bar and a label' }).waitFor()
  await look(page, 'approvals-type-fault')
  await page.fill('#type-labels', '/amount | Amount\n/recipient | Account of the recipient')
  await page.click('text=Register the type')
  await ok(page, 'invoice.pay is registered.')
  await waitForText(page, '1 action type is in use')
  await look(page, 'approvals-types')
  await page.click('text=Change')
  await waitForText(page, 'A new version of invoice.pay')
  await page.fill('input[max="600"]', '0')
  await page.click('text=Register the new version')
  await waitForText(page, 'version 2')
  await go(page, '/people')
  await waitForText(page, 'Nobody can approve yet')
  await page.fill('#approver-name', 'Ada Example')
  await page.fill('#approver-email', 'ada@approvers.example')
  await page.click('text=Send the invitation')
  await ok(page, 'A mail is on its way to ada@approvers.example.')
  await page.locator('tbody tr', { hasText: 'invited' }).waitFor()
  await page.fill('#group-name', 'finance')
  await page.click('.choice:has-text("Ada Example")')
  await page.click('text=Save the group')
  await ok(page, 'The group finance is saved.')
  await look(page, 'approvals-people')
}

const testRequests = async ({ page }: Opened, apiKey: string) => {
  assert.ok(service)
  const ask = async (requestId: string, approver: string) => {
    const answer = await service.harness.call('POST', '/api/agents/approvals', {
      key: apiKey,
      body: {
        type: 'invoice.pay',
        requestId,
        action: { amount: '125.00', recipient: 'DE02\u200b1203 0000' },
        approvers: [approver],
        title: 'Pay Nordwind',
      },
    })
    assert.equal(answer.status, 200, answer.text)
  }
  await ask('inv-1', 'apv_test_approves')
  await ask('inv-2', 'apv_test_denies')
  await ask('inv-3', 'apv_test_silent')
  await go(page, '')
  await waitForText(page, '1 request waits for a decision')
  await look(page, 'approvals')
  await page.selectOption('#filter-status', 'approved')
  await waitForText(page, '1 request matches')
  assert.match(page.url(), /#\/approvals\?status=approved$/)
  await page.click('text=Clear the filters')
  await page.waitForSelector('tbody tr >> nth=2')
  await page.focus('tbody a')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  const drawer = page.locator('dialog[open]', { hasText: 'Pay an invoice' })
  await drawer.waitFor()
  const text = (await drawer.textContent()) ?? ''
  for (const part of [
    '125.00',
    '⟦U+200B⟧',
    'has characters that show nothing',
    'inv-1',
    'A simulated person who approves',
  ])
    assert.ok(text.includes(part), `${part} in ${text}`)
  await look(page, 'approval')
  await page.click('dialog[open] >> text=The credential')
  await page.locator('dialog[open]', { hasText: 'Credential, approval' }).waitFor()
  await page.keyboard.press('Escape')
  // The closed drawer changes the address, and that takes it away: the next page is opened after that.
  await page.locator('dialog').waitFor({ state: 'detached' })
}

const testReport = async ({ page }: Opened, agent: { apiKey: string; agentId: `agt_${string}` }) => {
  assert.ok(service)
  await go(page, '/report')
  await waitForText(page, 'and no known-bad request among them')
  await look(page, 'approvals-report-empty')
  await seedTeam(service.harness, {
    agentId: agent.agentId,
    mode: 'test',
    people: mixedTeam,
    knownBadEach: 12,
    realEach: 20,
    seed: 7,
  })
  await go(page, '/settings')
  await waitForText(page, 'Labour law may apply')
  await page.check('input[type=checkbox]')
  await page.fill('#per-hour', '30')
  await page.click('text=Save the settings')
  await ok(page, 'The settings are saved.')
  await look(page, 'approvals-settings')
  await go(page, '/report')
  await waitForText(page, 'of 96 known-bad requests were caught')
  await page.locator('tbody tr', { hasText: 'below the team' }).nth(2).waitFor()
  const named = await page.locator('tbody tr:has-text("below the team") th').allTextContents()
  assert.deepEqual(named.map((text) => text.replace('below the team', '')).toSorted(), ['Ben', 'Eve', 'Hal'])
  assert.equal(await page.locator('svg.interval').count(), 10)
  await look(page, 'approvals-report')
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.click('text=Save as signed JSON'),
  ])
  const pack = JSON.parse(readFileSync(await download.path(), 'utf8')) as Record<string, unknown>
  const { json: jwks } = await service.harness.call('GET', '/.well-known/jwks.json')
  const verified = await verifyReport({ pack, issuer: service.harness.ctx.config.BASE_URL, jwks })
  assert.equal(verified.ok, true, JSON.stringify(verified.checks))
  const [printable] = await Promise.all([
    page.waitForEvent('download'),
    page.click('text=Save as a page to print'),
  ])
  assert.match(readFileSync(await printable.path(), 'utf8'), /^<!doctype html>/)
}

const testKnownBad = async ({ page }: Opened, agent: { apiKey: string; agentId: `agt_${string}` }) => {
  assert.ok(service)
  const person = await enrolApprover(service.harness, { ...agent, mode: 'test' })
  await go(page, '/known-bad')
  await page.waitForSelector('#bad-action')
  await page.fill('#bad-action', '{"amount":"12500.00","recipient":"GB33BUKB20201555555555"}')
  await page.fill('#bad-reason', 'The account is in another country')
  await page.click(`.choice:has-text("${person.approver}")`)
  await look(page, 'approvals-known-bad-form')
  await page.click('text=Send the request')
  await ok(page, 'It is on its way.')
  await page.locator('tbody tr', { hasText: 'The account is in another country' }).waitFor()
  await look(page, 'approvals-known-bad')
  const waiting = await person.list()
  assert.equal(waiting.json.waiting.length, 1, 'the person has it among what waits')
}

test(
  'an owner sets up approvals, sees requests, measures the team and saves the evidence pack',
  { skip },
  async () => {
    const opened = await openAsOwner('owner@gazette.example')
    await testSetUp(opened)
    const agent = await makeKey(opened.page)
    await testRequests(opened, agent.apiKey)
    await testReport(opened, agent)
    await testKnownBad(opened, agent)
    assert.deepEqual(opened.faults, [], 'the page ran without a fault and within its policy')
    await opened.context.close()
  },
)

test(
  'by keyboard alone: every part is reached, and a key is told what an owner needs',
  { skip },
  async () => {
    assert.ok(service)
    const { page, context, faults } = await openPage()
    const { apiKey } = await service.harness.register('test')
    await page.goto('about:blank')
    await page.goto(`${service.url}/console#/approvals`)
    await signIn(page, apiKey)
    await waitForText(page, 'No approval was requested yet')
    await tabTo(page, 'Report')
    await page.keyboard.press('Enter')
    await waitForText(page, 'No key can do this, whatever its scopes')
    await look(page, 'approvals-key')
    for (const part of ['Action types', 'Approvers', 'Known-bad requests', 'Settings']) {
      await tabTo(page, part)
      await page.keyboard.press('Enter')
      await page.locator('nav.parts [aria-current=page]', { hasText: part }).waitFor()
      await waitForText(page, 'sign in with the mail address of an owner')
    }
    assert.equal(await page.locator('main form').count(), 0, 'no form that the service would refuse')
    assert.deepEqual(faults, [])
    await context.close()
  },
)

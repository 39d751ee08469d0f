import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import * as operators from '../../../server/src/operators/index.ts'
import { playSession } from '../../../server/test/fixtures/people/play-session.ts'
import { pollUntil } from '../../../server/test/fixtures/polling.ts'
import { tabTo, waitForText } from '../browser-test.ts'
import { lookInEveryView } from '../browser.ts'
import { firstView } from '../views.ts'
import { createPageTest } from './agent-fixture.ts'

const onPage = await createPageTest()

/** Waits until the page has an answer to every request: it asks nothing again before. */
const watchRequests = (page: Page) => {
  const open = new Set<unknown>()
  page.on('request', (request) => open.add(request))
  for (const end of ['requestfinished', 'requestfailed'] as const)
    page.on(end as 'requestfinished', (request) => open.delete(request))
  return () => pollUntil('every request is answered', async () => open.size === 0)
}

/**
 * Stops the clock of the page, lets something happen, and lets 5 seconds pass for the page: it must ask within them, however
 * slow the machine is. The page was opened after `page.clock.install()`.
 */
const withinFiveSeconds = async (
  page: Page,
  happen: () => Promise<unknown>,
  text: string | RegExp,
): Promise<void> => {
  const answered = watchRequests(page)
  // The page's time goes on until the call arrives, and cannot be set back.
  await page.clock.pauseAt((await page.evaluate<number>('Date.now()')) + 60_000)
  await happen()
  for (let second = 0; second < 5; second++) {
    await answered()
    await page.clock.runFor(1_000)
  }
  await waitForText(page, text)
  await page.clock.resume()
}

const drawerSays = (page: Page, text: string | RegExp) =>
  page.locator('dialog[open]', { hasText: text }).waitFor()

onPage(
  'home in live mode shows what was verified, the credits and the latest credentials',
  async ({ page, open }) => {
    await open('#/home')
    await waitForText(page, /\d+ sessions? verified in the last 24 hours/)
    await waitForText(page, 'The last 30 days')
    await page.locator('.agent', { hasText: 'Test' }).waitFor()
    assert.equal(await page.locator('.tile').count(), 4)
    assert.match((await page.textContent('.tile')) ?? '', /Credits.*at this pace/s)
    await lookInEveryView(page, 'home-live')
    await page.click('text=Show as a table >> nth=0')
    assert.ok((await page.locator('.astable[open] tbody tr').count()) >= 30)
    await page.click('#latest ~ table tbody a >> nth=0')
    await drawerSays(page, 'Signature, by a key of the issuer')
  },
  { ...firstView, mode: 'live', historyDays: 12 },
)

onPage(
  'home in test mode is the way to the first live credential, and the menu opens by keyboard on a phone',
  async ({ page, service, agent, open }) => {
    await open('#/home')
    await waitForText(page, '5 steps to your first live credential')
    await lookInEveryView(page, 'home-test')
    await service.harness.call('POST', '/api/agents/verify', {
      key: agent.apiKey,
      body: { sessionId: 'one' },
    })
    await waitForText(page, 'Its credential is in the list below.')
    assert.equal(await page.isVisible('#menu'), false)
    await tabTo(page, 'Menu')
    await page.keyboard.press('Enter')
    await lookInEveryView(page, 'menu')
    await tabTo(page, 'Credentials')
    await page.keyboard.press('Enter')
    await waitForText(page, 'The latest credential was issued')
    assert.equal(await page.isVisible('#menu'), false, 'a chosen page closes the menu')
  },
  firstView,
)

onPage('a credential is found by filter and by keyboard, and checked where it is shown', async (opened) => {
  const { page, service, agent, open } = opened
  const { harness } = service
  await page.clock.install()
  // A browser keeps no status list for a minute where requests are intercepted.
  await page.route('**/status/**', (route) => route.continue())
  await open('#/credentials')
  await waitForText(page, 'Mint the first one')
  await lookInEveryView(page, 'credentials-empty')
  for (const sessionId of ['a', 'b', 'c'])
    await harness.call('POST', '/api/agents/verify', { key: agent.apiKey, body: { sessionId } })
  await page.waitForSelector('tbody tr >> nth=2')
  await lookInEveryView(page, 'credentials')
  await page.selectOption('#filter-assurance', 'high')
  await waitForText(page, 'No credential matches')
  assert.match(page.url(), /#\/credentials\?assurance=high$/)
  await page.click('text=Clear the filters')
  await page.waitForSelector('tbody tr')
  await page.focus('tbody a')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await drawerSays(page, 'Signature, by a key of the issuer')
  await drawerSays(page, 'Verifiers accept it.')
  await page.click('text=Ask for its revocation')
  await page.fill('#revoke-reason', 'Sold account')
  await drawerSays(page, 'Reason: Sold account')
  await lookInEveryView(page, 'credential')
  const [credentialId = ''] = /crd_[^&]+/.exec(page.url()) ?? []
  const { operatorKey: key } = await operators.create(harness.ctx, 'machine', 'Ada')
  const path = `/operator/credentials/${credentialId}/revoke`
  await harness.callOperator('POST', path, { key, body: { reason: 'sold' } })
  await harness.advance(30_000)
  await harness.runJobs()
  await page.clock.runFor(75_000)
  await page.locator('#drawer-title .chip', { hasText: 'revoked' }).waitFor()
  await page.locator('dialog .proof .chip', { hasText: 'Revoked' }).waitFor()
  await page.click('text=The session behind it')
  await waitForText(page, 'How the score came about')
})

onPage('a session shows its score step by step, and its recording plays', async (opened) => {
  const { page, service, agent, open } = opened
  const { harness } = service
  await open('#/sessions')
  await waitForText(page, 'Simulate the first one')
  for (const profile of ['bot', 'human'])
    await harness.call('POST', '/api/test/sessions', { key: agent.apiKey, body: { profile } })
  await playSession(harness, { site: agent.agentId })
  await harness.runJobs()
  await page.waitForSelector('tbody tr >> nth=2')
  await lookInEveryView(page, 'sessions')
  await page.selectOption('#filter-verified', 'false')
  await page.locator('tbody tr', { hasNotText: 'refused' }).first().waitFor({ state: 'detached' })
  await page.locator('tbody tr', { hasText: 'refused' }).first().waitFor()
  await page.click('tbody a >> nth=0')
  await waitForText(page, 'Why it was refused')
  await waitForText(page, 'Quality after')
  await lookInEveryView(page, 'session-refused')
  await page.goBack()
  await page.click('text=Clear the filters')
  await page.locator('tbody tr:not(:has-text("simulated")) a').first().click()
  await page.click('text=Replay the session')
  await waitForText(page, 'match the hashes that the service has committed to')
  await lookInEveryView(page, 'session-replay')
})

onPage('a key is created, rotated and revoked, each after a question', async ({ page, open }) => {
  await open('#/keys')
  await waitForText(page, '1 key works')
  await page.click('.choice:has-text("webhooks")')
  await page.click('text=Create a key with 2 scopes')
  const made = (await page.textContent('.note-secret pre')) ?? ''
  assert.match(made, /^svc_test_/)
  await page.locator('#secret-title:focus').waitFor()
  await lookInEveryView(page, 'key-created')
  await page.click('text=I have kept it')
  await waitForText(page, '2 keys work')
  const row = page.locator('tbody tr', { hasText: `…${made.slice(-4)}` })
  await row.locator('text=Rotate').click()
  await row.locator('text=Rotate: the old key works for an hour').click()
  await waitForText(page, 'The old key works until')
  await page.click('text=I have kept it')
  await row.locator('text=expiring').waitFor()
  const others = page.locator('tbody tr:not(:has-text("in use here"))', { has: page.locator('text=Revoke') })
  await others.first().locator('text=Revoke').click()
  await others.first().locator('text=Revoke it for ever').click()
  await page.locator('.note.ok', { hasText: 'is revoked.' }).waitFor()
  await lookInEveryView(page, 'keys')
})

onPage('requests are found by id, status and code', async ({ page, service, agent, open }) => {
  const { harness } = service
  const missing = await harness.call('GET', '/api/agents/sessions/nothing', { key: agent.apiKey })
  await open('#/requests')
  await page.click('tbody a:text-is("not_found")')
  await page.selectOption('#filter-status', '4xx')
  await page.waitForURL(/status=4xx&code=not_found/)
  await page.locator('tbody tr', { hasText: 'profile' }).first().waitFor({ state: 'detached' })
  await page.locator('tbody tr', { hasText: 'not_found' }).waitFor()
  assert.equal(await page.locator('tbody tr', { hasText: 'profile' }).count(), 0)
  await lookInEveryView(page, 'requests')
  await page.fill('#find', missing.json.requestId)
  await page.press('#find', 'Enter')
  await waitForText(page, '1 request found')
  await page.fill('#find', 'req_of_nobody')
  await page.press('#find', 'Enter')
  await waitForText(page, 'No request matches')
})

onPage(
  'usage shows the sessions, the reasons of refusals and the credits',
  async ({ page, open }) => {
    await open('#/usage')
    await waitForText(page, 'credits left')
    await waitForText(page, 'the browser reports that a program controls it')
    await lookInEveryView(page, 'usage')
    await page.selectOption('#filter-period', '48h')
    await waitForText(page, 'This hour so far')
    await page.click('text=Buy for 49 USD')
    const link = page.locator('a', { hasText: 'Open the payment page' })
    await link.waitFor()
    await page.route('**/credits/balance', async (route) => {
      const response = await route.fetch()
      await route.fulfill({ response, json: { ...(await response.json()), lifetimePurchased: Date.now() } })
    })
    await page.click('button:has-text("Buy for") >> nth=0')
    await link.waitFor({ state: 'detached' })
  },
  { ...firstView, mode: 'live', historyDays: 3 },
)

onPage('in test mode a pack is added without a payment page', async ({ page, open }) => {
  await open('#/usage')
  await page.click('text=Add without payment')
  await page.locator('.note.ok', { hasText: 'The pack was added.' }).waitFor()
  assert.equal(await page.locator('a', { hasText: 'Open the payment page' }).count(), 0)
})

onPage('install: the page is named, a floor is chosen, and its first session is seen', async (opened) => {
  const { page, service, agent, open } = opened
  await page.clock.install()
  await open('#/install')
  await waitForText(page, 'Waiting for your page')
  assert.match(
    (await page.textContent('pre[aria-label="Snippet for your page"]')) ?? '',
    new RegExp(agent.agentId),
  )
  await page.fill('#origins-text', 'https://Shop.example/\nhttps://blog.example')
  await page.click('text=Allow these 2 sites')
  await waitForText(page, 'Only pages of these origins can open sessions')
  await page.selectOption('#floor-view', 'low')
  await page.click('text=Save the floor')
  // One of each form.
  await pollUntil(
    'both are saved',
    async () => (await page.locator('.note.ok', { hasText: 'Saved.' }).count()) === 2,
  )
  const { json } = await service.harness.call('GET', '/api/agents/me', { key: agent.apiKey })
  assert.deepEqual(json.allowedOrigins, ['https://shop.example', 'https://blog.example'])
  assert.equal(json.policy.view.minAssurance, 'low')
  await lookInEveryView(page, 'install-waiting')
  const play = () =>
    playSession(service.harness, { site: agent.agentId, headers: { origin: 'https://shop.example' } })
  await withinFiveSeconds(page, play, /We saw your page.*shop\.example ended/s)
  await lookInEveryView(page, 'install-seen')
})

onPage(
  'install: a landing page is tried with a simulated view, and its first beacon is seen',
  async (opened) => {
    const { page, service, open } = opened
    await page.clock.install()
    await open('#/install')
    await page.fill('#landing-url', `${service.url}/no-such-page?a=1`)
    await page.click('text=Check my installation')
    const link = page.locator('a', { hasText: 'Open your landing page' })
    const href = (await link.getAttribute('href')) ?? ''
    const vt = /no-such-page\?a=1#pohf_vt=(vt_.+)$/.exec(href)?.[1]
    assert.ok(vt, href)
    const [tab] = await Promise.all([page.context().waitForEvent('page'), link.click()])
    await tab.close()
    await waitForText(page, 'Nothing arrived within 5 seconds')
    await lookInEveryView(page, 'install-landing')
    const body = { vt, type: 'landed', path: '/offer' }
    const land = () => service.harness.call('POST', '/api/track/event', { body })
    await withinFiveSeconds(page, land, 'We saw your landing page')
  },
)

onPage('a person is invited as a member, and gets another link', async ({ page, open }) => {
  await open('#/members')
  await waitForText(page, 'No member yet')
  await page.fill('#external-ref', 'user-1')
  await page.click('text=Make an invitation link')
  const link = await page.textContent('.note-secret pre')
  assert.match(link ?? '', /^http/)
  await page.click('text=I have kept it')
  await page.locator('tbody tr', { hasText: 'user-1' }).locator('text=New link').click()
  await page.waitForSelector('.note-secret pre')
  assert.notEqual(await page.textContent('.note-secret pre'), link)
  await lookInEveryView(page, 'members')
})

onPage('a campaign of micro-tasks is created, paused and ended', async ({ page, open }) => {
  await open('#/tasks')
  await waitForText(page, 'No campaign yet')
  await page.fill('#campaign-name', 'Shoes')
  await page.fill('#campaign-lines', 'Does it fit? | fits')
  await page.click('text=Create and fund')
  await waitForText(page, 'Line 1 needs a question and at least two answers')
  await page.fill('#campaign-lines', 'Does it fit? | fits | does not fit\nA fruit? | *apple | hammer')
  await page.click('text=Create and fund')
  await waitForText(page, '1 of 1 campaign active')
  await waitForText(page, '0 of 1 agreed')
  await lookInEveryView(page, 'tasks')
  await page.click('tbody a:has-text("Shoes")')
  await drawerSays(page, 'known: apple')
  await lookInEveryView(page, 'tasks-campaign')
  await page.click('dialog[open] >> text=Pause')
  await drawerSays(page, 'paused')
  await page.click('dialog[open] summary:has-text("End the campaign")')
  await page.click('dialog[open] >> text=End and return the budget')
  await drawerSays(page, '0 of 100 Stars left')
})

onPage('a campaign whose answer was lost is funded once, and its questions have pages', async (opened) => {
  const { page, open } = opened
  await open('#/tasks')
  const lost = page.waitForEvent('requestfailed')
  await page.route(
    '**/api/agents/campaigns',
    async (route) => {
      await route.fetch()
      await route.abort('connectionreset')
    },
    { times: 1 },
  )
  await page.fill('#campaign-name', 'Many')
  const lines = Array.from({ length: 101 }, (_, index) => `Question ${index + 1}? | yes | no`)
  await page.fill('#campaign-lines', lines.join('\n'))
  await page.click('text=Create and fund')
  await lost
  await page.locator('button:has-text("Create and fund"):not([disabled])').click()
  await waitForText(page, 'The campaign is active.')
  await page.locator('tbody a:has-text("Many")').first().waitFor()
  assert.equal(await page.locator('tbody a:has-text("Many")').count(), 1)
  await page.click('tbody a:has-text("Many")')
  await drawerSays(page, 'Questions from 1 on, of 101')
  await page.click('dialog[open] >> text=Next questions')
  await drawerSays(page, 'Question 101?')
  assert.equal(await page.locator('dialog[open] .lines li').count(), 1)
  await page.keyboard.press('Escape')
  await page.route('**/api/agents/campaigns?*', (route) =>
    route.continue({ url: route.request().url().replace('limit=25', 'limit=1') }),
  )
  await page.fill('#campaign-name', 'Newer')
  await page.fill('#campaign-lines', 'A fruit? | apple | hammer')
  await page.click('text=Create and fund')
  await page.click('text=Show older')
  await page.click('tbody a:has-text("Many")')
  await drawerSays(page, 'Questions from 1 on, of 101')
  await page.keyboard.press('Escape')
  await page.waitForURL(/#\/tasks\?cursor=/)
})

onPage(
  'an answer that takes longer than a refresh is shown, and is asked for once',
  async ({ page, open }) => {
    await page.clock.install()
    const answer = Promise.withResolvers<void>()
    let calls = 0
    await page.route('**/api/agents/purchases?*', async (route) => {
      calls += 1
      await answer.promise
      await route.continue()
    })
    await open('#/purchases')
    await page.locator('h1', { hasText: 'Purchases' }).waitFor()
    // Three refreshes fall due.
    await page.clock.runFor(13_000)
    assert.equal(calls, 1)
    answer.resolve()
    await waitForText(page, 'Buy one unit')
  },
)

onPage('the catalogue of events is searched, and shows an example', async ({ page, open }) => {
  await open('#/webhooks/catalogue')
  await waitForText(page, 'credential.issued')
  await page.fill('#event-search', 'payout')
  await page.locator('summary', { hasText: 'credential.issued' }).waitFor({ state: 'detached' })
  await page.click('summary:has-text("payout.requested")')
  await lookInEveryView(page, 'events')
})

onPage('all scripts of the console together are small', async ({ service }) => {
  const folder = join(service.folder, 'assets')
  const html = readFileSync(join(service.folder, 'console.html'), 'utf8')
  const seen = new Set<string>()
  const visit = (text: string): void => {
    for (const [name] of text.matchAll(/[\w-]+\.js(?=["'`])/g))
      if (!seen.has(name) && readdirSync(folder).includes(name)) {
        seen.add(name)
        visit(readFileSync(join(folder, name), 'utf8'))
      }
  }
  visit(html)
  assert.ok(seen.size > 10, `${seen.size} scripts were found`)
  const bytes = [...seen].reduce((sum, name) => sum + gzipSync(readFileSync(join(folder, name))).length, 0)
  assert.ok(bytes < 150_000, `${bytes} bytes of script in all`)
})

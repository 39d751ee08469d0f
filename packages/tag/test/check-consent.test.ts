import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { pollUntil } from '../../server/test/fixtures/polling.ts'
import { answerAll, sessionOf } from './fixture.ts'
import { boxText, eventsOf, listenerCounter, startCheck, runVisits, visit } from './visits.ts'

visit(
  'before the start: no call, no listener, nothing stored; after the end no listener is left',
  {},
  async (visited) => {
    const { page, context, fixture, site } = visited
    const countListeners = await listenerCounter(context, page)
    const calls = () => fixture.network.requests.filter(({ origin }) => origin === site.url).length
    await page.mouse.move(100, 100, { steps: 5 })
    await page.fill('input[name=who]', 'hunter2-secret')
    await page.click('pohf-check .box button')
    await page.mouse.move(300, 300, { steps: 5 })
    await sleep(500)
    assert.equal(calls(), 0, 'asking sends nothing')
    assert.equal(await countListeners(), 0)
    await page.click('pohf-check dialog .btn.main')
    await page.locator('dialog.point').waitFor()
    assert.ok((await countListeners()) >= 8, 'the count sees what is there')
    await answerAll(page, fixture)
    const ended = calls()
    assert.ok(ended > 3)
    await page.mouse.move(500, 500, { steps: 5 })
    await sleep(3_000)
    assert.equal(calls(), ended, 'nothing is sent after the end')
    assert.equal(await countListeners(), 0)
    const stored = await page.evaluate(
      'Promise.all([document.cookie, localStorage.length, sessionStorage.length, indexedDB.databases().then((all) => all.length)])',
    )
    assert.deepEqual(stored, ['', 0, 0, 0])
  },
)

visit('Escape leaves at any time, and nothing more is sent', { attributes: 'required' }, async (visited) => {
  const { page, fixture, site } = visited
  await page.evaluate(
    "window.told = []; addEventListener('pohf-failed', (event) => told.push(event.detail.code))",
  )
  await page.click('#send')
  assert.equal(
    site.sent.filter(({ path }) => path.startsWith('POST')).length,
    0,
    'required holds the form back',
  )
  await startCheck(page)
  await page.locator('dialog.point').waitFor()
  for (let step = 0; step < 6; step++) {
    await page.keyboard.press('Tab')
    const focused = await page.evaluate<string>('document.activeElement.localName')
    assert.ok(['pohf-check', 'body'].includes(focused), `the focus went to ${focused}, behind the dialog`)
  }
  await page.keyboard.press('Escape')
  await page.locator('.box.failed').waitFor()
  assert.match(await boxText(page), /You left before the end/)
  await sleep(500)
  const calls = fixture.network.requests.filter(({ origin }) => origin === site.url).length
  await sleep(3_000)
  assert.equal(fixture.network.requests.filter(({ origin }) => origin === site.url).length, calls)
  assert.deepEqual(await page.evaluate('told'), ['left'])
  assert.equal(
    await page.evaluate("document.querySelector('pohf-check').shadowRoot.activeElement.textContent"),
    'Try again',
  )
})

visit('a page that takes the check away ends it at once', {}, async ({ page, context, fixture, site }) => {
  const countListeners = await listenerCounter(context, page)
  await startCheck(page)
  await page.locator('dialog.point').waitFor()
  await page.evaluate("document.querySelector('pohf-check').remove()")
  await sleep(500)
  const calls = fixture.network.requests.filter(({ origin }) => origin === site.url).length
  assert.equal(await countListeners(), 0)
  await sleep(3_000)
  assert.equal(fixture.network.requests.filter(({ origin }) => origin === site.url).length, calls)
})

visit(
  'without a service the person goes on without the check, and the form carries no session',
  {},
  async (visited) => {
    const { page, fixture, site } = visited
    fixture.network.cut.add(site.url)
    await startCheck(page)
    await page.locator('dialog.stuck, .box.failed').first().waitFor()
    if (await page.locator('dialog').count())
      await page.getByRole('button', { name: 'Go on without the check' }).click()
    assert.match(await boxText(page), /did not answer/)
    await page.click('#send')
    await page.waitForSelector('#thanks')
    assert.equal(site.sent.at(-1)?.body, 'who=')
  },
)

visit(
  'Global Privacy Control is a no until the person agrees',
  { before: "Object.defineProperty(Navigator.prototype, 'globalPrivacyControl', { get: () => true })" },
  async (visited) => {
    const { page, fixture, site, agentId } = visited
    const code = await page.evaluate(
      `pohf.start({ site: '${agentId}' }).then(() => 'began', (error) => error.code)`,
    )
    assert.equal(code, 'consent_needed')
    assert.equal(fixture.network.requests.filter(({ origin }) => origin === site.url).length, 0)
    await page.click('pohf-check .box button')
    assert.match(await page.locator('dialog').innerText(), /We take that as a no/)
    await page.getByRole('button', { name: 'I agree, start' }).click()
    await answerAll(page, fixture)
    assert.match(await boxText(page), /Check finished/)
  },
)

visit(
  'a control that no person can see gives away who presses everything',
  {},
  async ({ page, fixture, agentId }) => {
    await page.evaluate("document.querySelector('pohf-check').shadowRoot.querySelector('.trap').click()")
    await startCheck(page)
    await answerAll(page, fixture)
    const events = eventsOf(await fixture.chunksOf(agentId, sessionOf(page)))
    assert.equal(events.filter(({ type }) => type === 'honeypot').length, 1)
  },
)

visit(
  'the collector alone: what is typed is nowhere in what is sent; keys are times',
  { script: 'tag', page: `<input id="secret">${'<p>A line of a long page.</p>'.repeat(80)}` },
  async ({ page, fixture, site, agentId }) => {
    await page.evaluate(
      `pohf.start({ site: '${agentId}', kind: 'work', workflowId: 'wf_1', challenge: 'c-1' }).then((session) => { window.session = session })`,
    )
    await page.waitForFunction('window.session')
    await page.locator('#secret').pressSequentially('hunter2', { delay: 20 })
    await page.keyboard.press('Tab')
    await page.mouse.wheel(0, 300)
    await pollUntil('a chunk was sent', async () =>
      fixture.network.requests.some(({ path, origin }) => origin === site.url && path.endsWith('/telemetry')),
    )
    const finished = await page.evaluate<{ sessionId: string; status: string }>('session.finish()')
    assert.equal(finished.status, 'scored')
    const events = eventsOf(await fixture.chunksOf(agentId, finished.sessionId))
    const keys = events.filter((event) => event.type === 'key')
    assert.equal(keys.length, 16)
    assert.equal(keys.filter((event) => event.type === 'key' && event.navigates).length, 2)
    const sent = fixture.network.requests.filter(({ origin }) => origin === site.url).map(({ body }) => body)
    assert.ok(sent.length >= 3)
    for (const body of sent) {
      const { chunk = '{}' } = JSON.parse(body) as { chunk?: string }
      const { ev = [] } = JSON.parse(chunk) as { ev?: unknown[][] }
      for (const event of ev.filter(([tag]) => tag === 'k'))
        assert.match(JSON.stringify(event), /^\["k",\d+,"[du]",[01],1\]$/)
      assert.doesNotMatch(body, /hunter|A line of|Tab/)
    }
  },
)

runVisits()

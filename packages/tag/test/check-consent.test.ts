import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { pollUntil } from '../../server/test/fixtures/polling.ts'
import { answerAll, answerUntil, checkText, focusedText, inState, sessionOf } from './fixture.ts'
import {
  eventsOf,
  listenerCounter,
  readSession,
  startCheck,
  runVisits,
  toldEvents,
  visit,
  type VisitContext,
} from './visits.ts'

const callsOf = ({ fixture, site }: VisitContext) =>
  fixture.network.requests.filter(({ origin }) => origin === site.url).length
/** A running check sends a chunk at least every 2.5 s. */
const quietMs = 2_600

visit(
  'Escape and the cross leave at any time, and nothing more is sent',
  { attributes: 'required' },
  async (visited) => {
    const { page, context, site } = visited
    const countListeners = await listenerCounter(context, page)
    await page.click('#send')
    const posts = site.sent.filter(({ path }) => path.startsWith('POST'))
    assert.equal(posts.length, 0, 'required holds the form back')
    await startCheck(page)
    await inState(page, 'point').waitFor()
    await page.keyboard.press('Escape')
    await inState(page, 'idle').waitFor()
    assert.match(await focusedText(page), /^Confirm you’re human/, 'the focus is where it began')
    await startCheck(page)
    await inState(page, 'point').waitFor()
    await page.getByRole('button', { name: 'Stop the check' }).click()
    await inState(page, 'idle').waitFor()
    assert.deepEqual(await toldEvents(page), [
      ['pohf-failed', 'left'],
      ['pohf-failed', 'left'],
    ])
    // And so does a page that takes the check away.
    await startCheck(page)
    await inState(page, 'point').waitFor()
    await page.evaluate("document.querySelector('pohf-check').remove()")
    await sleep(300)
    const calls = callsOf(visited)
    assert.equal(await countListeners(), 0)
    await sleep(quietMs)
    assert.equal(callsOf(visited), calls)
  },
)

visit(
  'without a service the person goes on without the check, and the form carries no session',
  {},
  async (visited) => {
    const { page, fixture, site } = visited
    fixture.network.cut.add(site.url)
    await startCheck(page)
    await inState(page, 'failed').waitFor()
    assert.match(await checkText(page), /did not answer/)
    await page.click('#send')
    await page.waitForSelector('#thanks')
    assert.equal(site.sent.at(-1)?.body, 'who=')
  },
)

visit(
  'Global Privacy Control is a no until the person agrees, and nothing is kept',
  { before: "Object.defineProperty(Navigator.prototype, 'globalPrivacyControl', { get: () => true })" },
  async (visited) => {
    const { page, fixture, agentId } = visited
    const code = await page.evaluate(
      `pohf.start({ site: '${agentId}' }).then(() => 'began', (error) => error.code)`,
    )
    assert.equal(code, 'consent_needed')
    await page.evaluate("document.querySelector('pohf-check').execute()")
    assert.equal(await inState(page, 'idle').count(), 1, 'a script cannot agree for the person')
    assert.equal(callsOf(visited), 0)
    assert.match(await checkText(page), /We take that as a no/)
    await page.getByRole('button', { name: 'I agree, start' }).click()
    await answerUntil(page, fixture, 'passed')
    assert.match(await checkText(page), /You passed/)
    assert.equal(await page.evaluate('indexedDB.databases().then((all) => all.length)'), 0)
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
    await inState(page, 'failed').waitFor()
    // And the reason tells an attacker nothing.
    assert.match(await checkText(page), /couldn’t confirm[\s\S]*The recording does not tell us enough/)
  },
)

visit(
  'invisible: sending the form asks the questions in place, and passing them sends it',
  { attributes: 'mode="invisible" required' },
  async (visited) => {
    const { page, fixture, site } = visited
    assert.equal(await page.locator('pohf-check .w').isVisible(), false)
    await page.fill('input[name=who]', 'Ada')
    await page.click('#send')
    await inState(page, 'point').waitFor()
    assert.match(await checkText(page), /records how you move/)
    await page.keyboard.press('Escape')
    assert.equal(await page.locator('pohf-check .w').isVisible(), false)
    assert.equal(await page.evaluate('document.activeElement.id'), 'send', 'the focus is where it was')
    await page.keyboard.press('Enter')
    await inState(page, 'point').waitFor()
    // The page goes away as soon as the check has passed.
    await answerUntil(page, fixture, 'passed').catch(() => 0)
    await page.waitForSelector('#thanks')
    const sent = site.sent.filter(({ path }) => path === 'POST /send')
    assert.deepEqual(sent, [{ path: 'POST /send', body: `who=Ada&pohf-session=${sessionOf(page)}` }])
    assert.equal((await readSession(visited, sessionOf(page))).status, 'scored')
  },
)

visit(
  'invisible without room: the questions come in a dialog, and Escape puts them away',
  { attributes: 'mode="invisible"' },
  async (visited) => {
    const { page, fixture } = visited
    await page.evaluate("document.querySelector('pohf-check').style.width = '0'")
    await page.evaluate("document.querySelector('pohf-check').execute()")
    await page.locator('pohf-check dialog[open] [data-state=point]').waitFor()
    await page.keyboard.press('Escape')
    await page.locator('pohf-check dialog[open]').waitFor({ state: 'hidden' })
    await page.evaluate("document.querySelector('pohf-check').execute()")
    await answerUntil(page, fixture, 'passed')
    assert.equal(await page.locator('pohf-check dialog[open]').count(), 0)
    // On a busy machine it took more than one try.
    const told = (await toldEvents(page)).map((event) => event.join())
    assert.deepEqual(
      told.filter((event) => event !== 'pohf-failed,retry'),
      ['pohf-failed,left', 'pohf-done,passed'],
    )
    assert.equal(await page.evaluate("document.querySelector('pohf-check').response"), sessionOf(page))
  },
)

visit(
  'the collector alone: what is typed is nowhere in what is sent; keys are times',
  { script: 'tag', page: `<input id="secret">${'<p>A line of a long page.</p>'.repeat(80)}` },
  async ({ page, fixture, site, agentId }) => {
    await page.evaluate(
      `pohf.start({ site: '${agentId}', kind: 'work', workflowId: 'wf_1', challenge: 'c-1', onProgress: (progress) => { window.progress = progress } }).then((session) => { window.session = session })`,
    )
    await page.waitForFunction('window.session')
    await page.locator('#secret').pressSequentially('hunter2', { delay: 20 })
    await page.keyboard.press('Tab')
    await page.mouse.wheel(0, 300)
    await pollUntil('a chunk was sent', async () =>
      fixture.network.requests.some(({ path, origin }) => origin === site.url && path.endsWith('/telemetry')),
    )
    assert.deepEqual(await page.evaluate('progress'), { done: 0, of: 2, hits: 0 })
    const finished = await page.evaluate<{ sessionId: string; status: string; verdict: string }>(
      'session.finish()',
    )
    assert.equal(finished.status, 'scored')
    assert.notEqual(finished.verdict, 'passed', 'nobody answered a question')
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

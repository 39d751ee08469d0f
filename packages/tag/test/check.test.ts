import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import {
  answerAll,
  answerUntil,
  checkText,
  focusedText,
  inState,
  sessionOf,
  trackSession,
} from './fixture.ts'
import {
  answersOf,
  browser,
  eventsOf,
  fixture,
  listenerCounter,
  readSession,
  skip,
  startCheck,
  runVisits,
  toldEvents,
  visit,
  type VisitContext,
} from './visits.ts'

const storedScript =
  'Promise.all([document.cookie, localStorage.length, sessionStorage.length, indexedDB.databases().then((all) => all.length)])'

visit(
  'by pointer: nothing before the click; the form carries the id of a session that passed; nothing after the end',
  { attributes: 'response-field="g-recaptcha-response h-captcha-response"' },
  async (visited) => {
    const { page, context, site, fixture, agentId } = visited
    const countListeners = await listenerCounter(context, page)
    const calls = () => fixture.network.requests.filter(({ origin }) => origin === site.url).length
    await page.fill('input[name=who]', 'Ada')
    await page.mouse.move(300, 300, { steps: 5 })
    assert.deepEqual([calls(), await countListeners()], [0, 0])
    assert.deepEqual(await page.evaluate(storedScript), ['', 0, 0, 0], 'looking for a key makes none')
    await startCheck(page)
    await inState(page, 'point').waitFor()
    assert.ok((await countListeners()) >= 8, 'the count sees what is there')
    const answered = await answerUntil(page, fixture, 'passed')
    assert.match(await checkText(page), /You passed/)
    const [ended, sessionId] = [calls(), sessionOf(page)]
    await page.mouse.move(500, 500, { steps: 5 })
    assert.equal(await countListeners(), 0)
    assert.equal(await page.evaluate("document.querySelector('pohf-check').response"), sessionId)
    await page.click('#send')
    await page.waitForSelector('#thanks')
    assert.equal(calls(), ended, 'nothing is sent after the end')
    assert.deepEqual(
      [...new URLSearchParams(site.sent.at(-1)?.body)],
      [
        ['who', 'Ada'],
        ['pohf-session', sessionId],
        ['g-recaptcha-response', sessionId],
        ['h-captcha-response', sessionId],
      ],
    )
    const session = await readSession(visited, sessionId)
    assert.deepEqual([session.status, session.verified], ['scored', true])
    const chunks = await fixture.chunksOf(agentId, sessionId)
    assert.equal(session.telemetry.n, chunks.length)
    const events = eventsOf(chunks)
    const kinds = new Set(events.map(({ type }) => type))
    for (const kind of ['motion', 'down', 'up', 'click', 'focus', 'shown', 'point'] as const)
      assert.ok(kinds.has(kind), `${kind} was recorded`)
    assert.ok(!kinds.has('honeypot') && !kinds.has('lost') && !kinds.has('alternative'))
    const focus = events.find((event) => event.type === 'focus' && event.share > 0)
    assert.ok(focus?.type === 'focus' && focus.visible && focus.share === 100, 'the box was wholly in view')
    assert.equal(answersOf(chunks).length, answered)
  },
)

visit(
  'by keyboard alone, with words: named for a screen reader, from the form to the verdict and back to it',
  {},
  async (visited) => {
    const { page, fixture, agentId, site } = visited
    const tabTo = async (name: string) => {
      for (let step = 0; step < 12; step++) {
        await page.keyboard.press('Tab')
        const focused = page.getByRole('button', { name }).and(page.locator(':focus'))
        if (await focused.count()) return
      }
      assert.fail(`${name} is not reached by Tab`)
    }
    await page.getByRole('group', { name: 'Human check' }).waitFor()
    await tabTo('Confirm you’re human')
    await tabTo('Ask me another way')
    await page.keyboard.press('Enter')
    // The first with Tab and Enter, the others by number.
    await page.locator('pohf-check [data-state=choose] .choices').waitFor()
    const question = await page.locator('pohf-check #title').innerText()
    assert.match(question, /^Choose the word/)
    assert.equal(await page.getByRole('group', { name: question }).count(), 1)
    assert.match(await focusedText(page), /^Choose the word/, 'the focus is on what is asked')
    const [, word = ''] = /“(.+)”/.exec(question) ?? []
    await tabTo(word)
    await page.keyboard.press('Enter')
    await answerUntil(page, fixture, 'passed')
    assert.match(await focusedText(page), /You passed/, 'a screen reader says the verdict')
    const sessionId = sessionOf(page)
    for (let step = 0; step < 4 && !(await page.locator('#send:focus').count()); step++)
      await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.waitForSelector('#thanks')
    assert.match(site.sent.at(-1)?.body ?? '', new RegExp(sessionId))
    const chunks = await fixture.chunksOf(agentId, sessionId)
    const answers = answersOf(chunks)
    assert.ok(answers.length >= 2 && answers.every((event) => event.type === 'choose' && event.how === 'k'))
    assert.ok(eventsOf(chunks).every(({ type }) => type !== 'motion' && type !== 'down'))
    assert.ok(eventsOf(chunks).some(({ type }) => type === 'alternative'))
  },
)

visit('who cannot point asks for words in the middle, and goes on', {}, async (visited) => {
  const { page, fixture, agentId } = visited
  await startCheck(page)
  await answerAll(page, fixture, { stop: (answered) => answered === 1 })
  await page.locator('pohf-check [data-state=point] .bar.runs').waitFor()
  const sessionId = sessionOf(page)
  await page.getByRole('button', { name: 'Ask me another way' }).click()
  await answerUntil(page, fixture, 'passed')
  const [first, ...others] = answersOf(await fixture.chunksOf(agentId, sessionId))
  assert.equal(first?.type, 'point')
  assert.ok(others.length >= 1 && others.every(({ type }) => type === 'choose'))
})

/** Answers are lost for 2 s, then nothing arrives for as long, however slow the machine is. */
const interrupt = async ({ fixture, site }: VisitContext): Promise<void> => {
  fixture.network.mute.add(site.url)
  await sleep(2_000)
  fixture.network.cut.add(site.url)
  await sleep(2_000)
  fixture.network.mute.delete(site.url)
  fixture.network.cut.delete(site.url)
}
const movePointer = async (page: Page): Promise<void> => {
  const start = performance.now()
  for (let step = 0; step < 50; step++) {
    await page.mouse.move(300 + step * 5, 500 + (step % 7))
    await sleep(Math.max(0, start + (step + 1) * 70 - performance.now()))
  }
}

visit('a line that loses answers, then is cut, four seconds in all, loses nothing', {}, async (visited) => {
  const { page, fixture, agentId } = visited
  await startCheck(page)
  await answerAll(page, fixture, {
    stop: async (count) => {
      if (count === 1) await Promise.all([interrupt(visited), movePointer(page)])
      return false
    },
  })
  const sessionId = sessionOf(page)
  const chunks = await fixture.chunksOf(agentId, sessionId)
  assert.equal((await readSession(visited, sessionId)).status, 'scored')
  const motion = eventsOf(chunks).flatMap((event) => (event.type === 'motion' ? event.points : []))
  assert.ok(
    motion.filter(({ x, y }) => x >= 300 && x < 550 && y >= 500 && y < 507).length >= 49,
    'the whole path is there',
  )
  const sent = fixture.network.requests
    .filter(({ path }) => path.includes(`/${sessionId}/`))
    .map(({ body }) => body)
  assert.ok(sent.length > chunks.length, 'something was sent again')
  assert.equal(new Set(sent).size, chunks.length, 'and it was the same bytes')
})

visit(
  'two tabs: the one in front goes on; the one left alone says so and can begin again',
  {},
  async (visited) => {
    const { page, context, site, fixture } = visited
    const devtools = await context.newCDPSession(page)
    await devtools.send('Emulation.setFocusEmulationEnabled', { enabled: false })
    await startCheck(page)
    await answerAll(page, fixture, { stop: (count) => count === 1 })
    const abandoned = sessionOf(page)
    const other = await context.newPage()
    await other.bringToFront()
    trackSession(other)
    await other.goto(site.url)
    await other.waitForFunction('window.pohf')
    await startCheck(other)
    await answerAll(other, fixture)
    assert.equal((await readSession(visited, sessionOf(other))).status, 'scored')
    await inState(page, 'stuck').waitFor()
    assert.match(await checkText(page), /No question was answered/)
    const sent = fixture.network.requests.filter(({ path }) => path.includes(`/${abandoned}/`))
    assert.ok(
      sent.some(({ body }) => /\[\\"f\\",\d+,(0,[01]|1,0),/.test(body)),
      'being away was recorded',
    )
    await page.bringToFront()
    await page.click('pohf-check .again')
    await answerAll(page, fixture)
    assert.equal(new Set([abandoned, sessionOf(page), sessionOf(other)]).size, 3)
    assert.equal((await readSession(visited, abandoned)).status, 'open', 'nothing of it is ever counted')
    assert.equal((await readSession(visited, sessionOf(page))).status, 'scored')
  },
)

visit(
  'a slow phone of 320 px, by touch, in German',
  {
    view: { viewport: { width: 320, height: 640 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2 },
    attributes: 'lang="de"',
  },
  async (visited) => {
    const { page, context, fixture, agentId } = visited
    const devtools = await context.newCDPSession(page)
    await devtools.send('Emulation.setCPUThrottlingRate', { rate: 4 })
    await page.getByRole('button', { name: 'Als Mensch bestätigen' }).tap()
    await answerUntil(page, fixture, 'passed', { by: 'touch' })
    assert.match(await checkText(page), /Bestanden/)
    const answers = answersOf(await fixture.chunksOf(agentId, sessionOf(page)))
    assert.ok(answers.length >= 2)
    assert.ok(answers.every((event) => event.type === 'point' && event.how === 't'))
  },
)

visit(
  'ten seconds of silence: it says so, offers another try or the way on, and takes up again by itself',
  {},
  async (visited) => {
    const { page, fixture, site } = visited
    await startCheck(page)
    await answerAll(page, fixture, { stop: (count) => count === 1 })
    fixture.network.cut.add(site.url)
    await inState(page, 'stuck').waitFor()
    // The page hears an answer after it was sent, so a slow machine only makes this longer.
    const silentMs = performance.now() - (fixture.network.answeredAt.get(site.url) ?? Infinity)
    assert.ok(silentMs > 10_000, `${silentMs} ms`)
    assert.match(await checkText(page), /connection is gone[\s\S]*Try again[\s\S]*Go on without/)
    fixture.network.cut.delete(site.url)
    await inState(page, 'stuck').waitFor({ state: 'detached' })
    await answerAll(page, fixture)
    assert.match((await toldEvents(page)).join(), /^pohf-(done|failed),(passed|retry)$/)
  },
)

visit(
  'a site that does not exist is told in plain words',
  { page: '<pohf-check site="agt_nobody"></pohf-check>' },
  async ({ page }) => {
    await startCheck(page)
    await inState(page, 'failed').waitFor()
    assert.match(await checkText(page), /not set up for this page/)
    assert.deepEqual(await toldEvents(page), [['pohf-failed', 'not_found']])
  },
)

runVisits()

test(
  'a page that is closed before the end leaves an incomplete session, which expires',
  { skip },
  async () => {
    assert.ok(browser && fixture)
    const { harness } = fixture
    const { agentId, apiKey } = await harness.register('test')
    const site = await fixture.open(`<pohf-check site="${agentId}"></pohf-check>`, 'check')
    const page = await browser.newPage()
    trackSession(page)
    await page.goto(site.url)
    await startCheck(page)
    await answerAll(page, fixture, { stop: (count) => count === 1 })
    const sessionId = sessionOf(page)
    await page.close()
    site.close()
    const status = async () =>
      (await harness.call('GET', `/api/agents/sessions/${sessionId}`, { key: apiKey })).json.status
    assert.equal(await status(), 'open')
    await harness.advance(25 * 3_600_000)
    await harness.runJobs()
    assert.equal(await status(), 'expired')
  },
)

import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import type { TelemetryChunk, TelemetryEvent } from '@pohf/protocol/telemetry'
import { findChromium, launch } from '../../web/test/browser.ts'
import { answerAll, startFixture, sessionOf, trackSession } from './fixture.ts'

const chromium = findChromium()
const skip = 'missing' in chromium ? chromium.missing : false
const stage = 'path' in chromium ? await startFixture() : undefined
const browser = 'path' in chromium ? await launch(chromium.path) : undefined
after(async () => {
  await browser?.close()
  stage?.close()
})

type VisitContext = {
  readonly page: Page
  readonly context: BrowserContext
  readonly site: Awaited<ReturnType<NonNullable<typeof stage>['open']>>
  readonly stage: NonNullable<typeof stage>
  readonly agentId: `agt_${string}`
  readonly apiKey: string
}
type VisitOptions = {
  readonly script?: 'check' | 'tag'
  readonly attributes?: string
  readonly view?: BrowserContextOptions
  readonly before?: string
  readonly page?: string
}

/** A visit to a publisher's page in a browser of its own. */
const visit = (name: string, scene: VisitOptions, body: (set: VisitContext) => Promise<void>): void =>
  void test(name, { skip }, async () => {
    assert.ok(browser && stage)
    const { agentId, apiKey } = await stage.harness.register('test')
    const form = `<form method="post" action="/send"><label>Name <input name="who"></label><pohf-check site="${agentId}" ${scene.attributes ?? ''}></pohf-check><button id="send">Send</button></form>`
    const site = await stage.open(scene.page ?? form, scene.script ?? 'check')
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...scene.view })
    const page = await context.newPage()
    const faults: string[] = []
    page.on('pageerror', (error) => faults.push(error.message))
    page.on('console', (message) => {
      if (message.type() === 'error' && !/ERR_|favicon|status of 40/.test(message.text()))
        faults.push(message.text())
    })
    trackSession(page)
    try {
      if (scene.before) await page.addInitScript(scene.before)
      await page.goto(site.url)
      await page.waitForFunction('window.pohf')
      await body({ page, context, site, stage, agentId, apiKey })
      assert.deepEqual(faults, [], 'no fault, and nothing that the policy forbids')
    } finally {
      await context.close()
      site.close()
    }
  })

const startCheck = async (page: Page): Promise<void> => {
  await page.click('pohf-check .box button')
  await page.click('pohf-check dialog .btn.main')
}
const boxText = (page: Page) => page.locator('pohf-check .box').innerText()
const eventsOf = (chunks: readonly TelemetryChunk[]): TelemetryEvent[] =>
  chunks.flatMap(({ events }) => [...events])
const answersOf = (chunks: readonly TelemetryChunk[]) =>
  eventsOf(chunks).filter((event) => event.type === 'point' || event.type === 'choose')
const readSession = async ({ stage, apiKey }: VisitContext, sessionId: string) =>
  (await stage.harness.call('GET', `/api/agents/sessions/${sessionId}`, { key: apiKey })).json

/** Counts, by the browser's own account, what our script listens to on the window and the document. */
const listenerCounter = async (context: BrowserContext, page: Page): Promise<() => Promise<number>> => {
  const line = await context.newCDPSession(page)
  const own = new Set<string>()
  line.on('Debugger.scriptParsed', ({ url, scriptId }) => {
    if (url.endsWith('/check.js')) own.add(scriptId)
  })
  await line.send('Debugger.enable')
  assert.equal(own.size, 1)
  return async () => {
    let count = 0
    for (const expression of ['window', 'document', 'document.documentElement', 'document.body']) {
      const { result } = await line.send('Runtime.evaluate', { expression })
      const { listeners } = await line.send('DOMDebugger.getEventListeners', {
        objectId: result.objectId ?? '',
      })
      count += listeners.filter(({ scriptId }) => own.has(scriptId)).length
    }
    return count
  }
}

void describe('a visit', { concurrency: 2 }, () => {
  visit('by pointer: the form carries the id of a session that is whole and scored', {}, async (set) => {
    const { page, site, stage, agentId } = set
    await page.fill('input[name=who]', 'Ada')
    await startCheck(page)
    const answered = await answerAll(page, stage)
    assert.ok(answered >= 2)
    assert.match(await boxText(page), /Check finished/)
    const sessionId = sessionOf(page)
    await page.click('#send')
    await page.waitForSelector('#thanks')
    assert.equal(site.sent.at(-1)?.body, `who=Ada&pohf-session=${sessionId}`)
    const session = await readSession(set, sessionId)
    assert.equal(session.status, 'scored')
    const chunks = await stage.chunksOf(agentId, sessionId)
    assert.equal(session.telemetry.n, chunks.length)
    assert.deepEqual(chunks.at(-1)?.last, { n: chunks.length, ms: chunks.at(-1)?.t1 })
    assert.equal(chunks[0]?.environment?.webdriver, true, 'a browser under a test says so')
    const events = eventsOf(chunks)
    const kinds = new Set(events.map(({ type }) => type))
    for (const kind of ['motion', 'down', 'up', 'click', 'focus', 'shown', 'point'] as const)
      assert.ok(kinds.has(kind), `${kind} was recorded`)
    assert.ok(!kinds.has('honeypot') && !kinds.has('lost') && !kinds.has('alternative'))
    const focus = events.find((event) => event.type === 'focus' && event.share > 0)
    assert.ok(
      focus?.type === 'focus' && focus.visible && focus.share === 100,
      'the dialog was wholly in view',
    )
    assert.ok(events.every((event) => !('trusted' in event) || event.trusted))
    assert.equal(answersOf(chunks).length, answered)
  })

  visit(
    'by keyboard alone, with words: named for a screen reader, from the form and back to it',
    {},
    async (set) => {
      const { page, stage, agentId, site } = set
      const tabTo = async (name: string) => {
        for (let step = 0; step < 12; step++) {
          await page.keyboard.press('Tab')
          const focused = page.getByRole('button', { name }).and(page.locator(':focus'))
          if (await focused.count()) return
        }
        assert.fail(`${name} is not reached by Tab`)
      }
      await tabTo('Confirm that you are a person')
      await page.keyboard.press('Enter')
      const dialog = page.getByRole('dialog', { name: 'Three short questions' })
      await dialog.waitFor()
      await tabTo('I do not use a pointer')
      await page.keyboard.press('Enter')
      // The first with Tab and Enter, the others by number.
      await page.locator('dialog.choose .choices').waitFor({ timeout: 20_000 })
      const question = await page.locator('#title').innerText()
      assert.match(question, /^Choose the word/)
      assert.equal(await page.getByRole('group', { name: question }).count(), 1)
      const [, word = ''] = /“(.+)”/.exec(question) ?? []
      assert.equal(
        await page.evaluate("document.querySelector('pohf-check').shadowRoot.activeElement.id"),
        'title',
      )
      await tabTo(word)
      await page.keyboard.press('Enter')
      await answerAll(page, stage)
      assert.match(await boxText(page), /Check finished/)
      assert.match(
        await page.evaluate<string>(
          "document.querySelector('pohf-check').shadowRoot.activeElement.textContent",
        ),
        /Check finished/,
        'the focus is back, on what a screen reader should say',
      )
      await page.keyboard.press('Tab')
      await page.keyboard.press('Enter')
      await page.waitForSelector('#thanks')
      const sessionId = sessionOf(page)
      assert.match(site.sent.at(-1)?.body ?? '', new RegExp(sessionId))
      const chunks = await stage.chunksOf(agentId, sessionId)
      const answers = answersOf(chunks)
      assert.ok(answers.length >= 2)
      assert.ok(answers.every((event) => event.type === 'choose' && event.how === 'k'))
      assert.ok(eventsOf(chunks).every(({ type }) => type !== 'motion' && type !== 'down'))
      assert.ok(eventsOf(chunks).some(({ type }) => type === 'alternative'))
    },
  )

  visit('who cannot point asks for words in the middle, and goes on', {}, async (set) => {
    const { page, stage, agentId } = set
    await startCheck(page)
    await answerAll(page, stage, { stop: (answered) => answered === 1 })
    await page.getByRole('button', { name: 'I do not use a pointer' }).click()
    await page.locator('dialog.choose').waitFor({ timeout: 20_000 })
    await answerAll(page, stage)
    assert.match(await boxText(page), /Check finished/)
    const [first, ...others] = answersOf(await stage.chunksOf(agentId, sessionOf(page)))
    assert.equal(first?.type, 'point')
    assert.ok(others.length >= 1 && others.every(({ type }) => type === 'choose'))
  })

  visit('two wrong answers bring three more questions, not a refusal', {}, async ({ page, stage }) => {
    await startCheck(page)
    assert.ok((await answerAll(page, stage, { wrong: 2 })) > 3)
    assert.match(await boxText(page), /Check finished/)
  })

  visit('a line that loses answers, then is cut, five seconds in all, loses nothing', {}, async (set) => {
    const { page, stage, agentId, site } = set
    await startCheck(page)
    const origin = site.url
    const answered = await answerAll(page, stage, {
      stop: async (count) => {
        if (count !== 1) return false
        stage.line.mute.add(origin)
        for (let step = 0; step < 50; step++) {
          await page.mouse.move(300 + step * 5, 400 + (step % 7))
          await sleep(100)
          if (step === 25) stage.line.cut.add(origin)
        }
        stage.line.mute.delete(origin)
        stage.line.cut.delete(origin)
        return false
      },
    })
    assert.ok(answered >= 2)
    assert.match(await boxText(page), /Check finished/)
    const sessionId = sessionOf(page)
    const chunks = await stage.chunksOf(agentId, sessionId)
    assert.equal((await readSession(set, sessionId)).status, 'scored')
    const motion = eventsOf(chunks).flatMap((event) => (event.type === 'motion' ? event.points : []))
    assert.ok(
      motion.filter(({ x, y }) => x >= 300 && x < 550 && y >= 400 && y < 407).length >= 49,
      'the whole path is there',
    )
    const sent = stage.line.asked
      .filter(({ path }) => path.includes(`/${sessionId}/`))
      .map(({ body }) => body)
    assert.ok(sent.length > chunks.length, 'something was sent again')
    assert.equal(new Set(sent).size, chunks.length, 'and it was the same bytes')
  })

  visit('a hidden tab is recorded as hidden, and the check goes on afterwards', {}, async (set) => {
    const { page, context, stage, agentId } = set
    const line = await context.newCDPSession(page)
    await line.send('Emulation.setFocusEmulationEnabled', { enabled: false })
    await startCheck(page)
    await answerAll(page, stage, { stop: (count) => count === 1 })
    const other = await context.newPage()
    await other.bringToFront()
    await sleep(3_000)
    await page.bringToFront()
    await other.close()
    await answerAll(page, stage)
    const chunks = await stage.chunksOf(agentId, sessionOf(page))
    const focus = eventsOf(chunks).filter((event) => event.type === 'focus')
    assert.ok(
      focus.some((event) => !event.visible || !event.focused),
      'it was away',
    )
    assert.ok(focus.at(-1)?.visible, 'and came back')
    assert.match(await boxText(page), /Check finished|not finished/)
  })

  visit(
    'two tabs: the one in front goes on; the one left alone says so and can begin again',
    {},
    async (set) => {
      const { page, context, site, stage, agentId } = set
      await startCheck(page)
      await answerAll(page, stage, { stop: (count) => count === 1 })
      const abandoned = sessionOf(page)
      const other = await context.newPage()
      trackSession(other)
      await other.goto(site.url)
      await other.waitForFunction('window.pohf')
      await startCheck(other)
      await answerAll(other, stage)
      assert.equal((await readSession(set, sessionOf(other))).status, 'scored')
      assert.ok(answersOf(await stage.chunksOf(agentId, sessionOf(other))).length >= 2)
      await page.locator('dialog.stuck').waitFor({ timeout: 30_000 })
      assert.match(await page.locator('dialog').innerText(), /No question was answered/)
      await page.bringToFront()
      await page.getByRole('button', { name: 'Try again' }).click()
      await page.locator('dialog.point').waitFor({ timeout: 20_000 })
      await answerAll(page, stage)
      assert.match(await boxText(page), /Check finished/)
      const ids = [abandoned, sessionOf(page), sessionOf(other)]
      assert.equal(new Set(ids).size, 3)
      assert.equal((await readSession(set, abandoned)).status, 'open', 'nothing of it is ever counted')
      assert.equal((await readSession(set, sessionOf(page))).status, 'scored')
    },
  )

  visit(
    'a slow phone of 320 px, by touch',
    { view: { viewport: { width: 320, height: 640 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2 } },
    async (set) => {
      const { page, context, stage, agentId } = set
      const line = await context.newCDPSession(page)
      await line.send('Emulation.setCPUThrottlingRate', { rate: 4 })
      await page.locator('pohf-check .box button').tap()
      await page.locator('pohf-check dialog .btn.main').tap()
      await answerAll(page, stage, { by: 'touch' })
      assert.match(await boxText(page), /Check finished/)
      const answers = answersOf(await stage.chunksOf(agentId, sessionOf(page)))
      assert.ok(answers.length >= 2)
      assert.ok(answers.every((event) => event.type === 'point' && event.how === 't'))
    },
  )

  visit(
    'before the start: no call, no listener, nothing stored; after the end no listener is left',
    {},
    async (set) => {
      const { page, context, stage, site } = set
      const countListeners = await listenerCounter(context, page)
      const calls = () => stage.line.asked.filter(({ origin }) => origin === site.url).length
      await page.mouse.move(100, 100, { steps: 5 })
      await page.fill('input[name=who]', 'hunter2-secret')
      await page.click('pohf-check .box button')
      await page.mouse.move(300, 300, { steps: 5 })
      await sleep(500)
      assert.equal(calls(), 0, 'asking sends nothing')
      assert.equal(await countListeners(), 0)
      await page.click('pohf-check dialog .btn.main')
      await page.locator('dialog.point').waitFor({ timeout: 20_000 })
      assert.ok((await countListeners()) >= 8, 'the count sees what is there')
      await answerAll(page, stage)
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

  visit('Escape leaves at any time, and nothing more is sent', { attributes: 'required' }, async (set) => {
    const { page, stage, site } = set
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
    await page.locator('dialog.point').waitFor({ timeout: 20_000 })
    for (let step = 0; step < 6; step++) {
      await page.keyboard.press('Tab')
      const focused = await page.evaluate<string>('document.activeElement.localName')
      assert.ok(['pohf-check', 'body'].includes(focused), `the focus went to ${focused}, behind the dialog`)
    }
    await page.keyboard.press('Escape')
    await page.locator('.box.failed').waitFor()
    assert.match(await boxText(page), /You left before the end/)
    await sleep(500)
    const calls = stage.line.asked.filter(({ origin }) => origin === site.url).length
    await sleep(3_000)
    assert.equal(stage.line.asked.filter(({ origin }) => origin === site.url).length, calls)
    assert.deepEqual(await page.evaluate('told'), ['left'])
    assert.equal(
      await page.evaluate("document.querySelector('pohf-check').shadowRoot.activeElement.textContent"),
      'Try again',
    )
  })

  visit('a page that takes the check away ends it at once', {}, async ({ page, context, stage, site }) => {
    const countListeners = await listenerCounter(context, page)
    await startCheck(page)
    await page.locator('dialog.point').waitFor({ timeout: 20_000 })
    await page.evaluate("document.querySelector('pohf-check').remove()")
    await sleep(500)
    const calls = stage.line.asked.filter(({ origin }) => origin === site.url).length
    assert.equal(await countListeners(), 0)
    await sleep(3_000)
    assert.equal(stage.line.asked.filter(({ origin }) => origin === site.url).length, calls)
  })

  visit(
    'ten seconds of silence: it says so, offers another try or the way on, and takes up again by itself',
    {},
    async (set) => {
      const { page, stage, site } = set
      await startCheck(page)
      await answerAll(page, stage, { stop: (count) => count === 1 })
      stage.line.cut.add(site.url)
      const startedAt = performance.now()
      await page.locator('dialog.stuck').waitFor({ timeout: 20_000 })
      const waited = performance.now() - startedAt
      assert.ok(waited > 7_000 && waited < 14_000, `${waited} ms`)
      assert.match(
        await page.locator('dialog').innerText(),
        /connection is gone[\s\S]*Try again[\s\S]*Go on without/,
      )
      stage.line.cut.delete(site.url)
      await page.locator('dialog.wait, dialog.point').first().waitFor({ timeout: 12_000 })
      await answerAll(page, stage)
      assert.match(await boxText(page), /Check finished/)
    },
  )

  visit(
    'without a service the person goes on without the check, and the form carries no session',
    {},
    async (set) => {
      const { page, stage, site } = set
      stage.line.cut.add(site.url)
      await startCheck(page)
      await page.locator('dialog.stuck, .box.failed').first().waitFor({ timeout: 20_000 })
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
    async (set) => {
      const { page, stage, site, agentId } = set
      const code = await page.evaluate(
        `pohf.start({ site: '${agentId}' }).then(() => 'began', (error) => error.code)`,
      )
      assert.equal(code, 'consent_needed')
      assert.equal(stage.line.asked.filter(({ origin }) => origin === site.url).length, 0)
      await page.click('pohf-check .box button')
      assert.match(await page.locator('dialog').innerText(), /We take that as a no/)
      await page.getByRole('button', { name: 'I agree, start' }).click()
      await answerAll(page, stage)
      assert.match(await boxText(page), /Check finished/)
    },
  )

  visit(
    'a control that no person can see gives away who presses everything',
    {},
    async ({ page, stage, agentId }) => {
      await page.evaluate("document.querySelector('pohf-check').shadowRoot.querySelector('.trap').click()")
      await startCheck(page)
      await answerAll(page, stage)
      const events = eventsOf(await stage.chunksOf(agentId, sessionOf(page)))
      assert.equal(events.filter(({ type }) => type === 'honeypot').length, 1)
    },
  )

  visit(
    'a site that does not exist is told in plain words',
    { page: '<pohf-check site="agt_nobody"></pohf-check>' },
    async ({ page }) => {
      await startCheck(page)
      await page.locator('.box.failed').waitFor()
      assert.match(await boxText(page), /not set up for the check/)
    },
  )

  visit(
    'the collector alone: what is typed is nowhere in what is sent; keys are times',
    { script: 'tag', page: `<input id="secret">${'<p>A line of a long page.</p>'.repeat(80)}` },
    async ({ page, stage, site, agentId }) => {
      await page.evaluate(
        `pohf.start({ site: '${agentId}', kind: 'work', workflowId: 'wf_1', challenge: 'c-1' }).then((session) => { window.session = session })`,
      )
      await page.waitForFunction('window.session')
      await page.locator('#secret').pressSequentially('hunter2', { delay: 20 })
      await page.keyboard.press('Tab')
      await page.mouse.wheel(0, 300)
      await sleep(2_600)
      const finished = await page.evaluate<{ sessionId: string; status: string }>('session.finish()')
      assert.equal(finished.status, 'scored')
      const events = eventsOf(await stage.chunksOf(agentId, finished.sessionId))
      const keys = events.filter((event) => event.type === 'key')
      assert.equal(keys.length, 16)
      assert.equal(keys.filter((event) => event.type === 'key' && event.navigates).length, 2)
      const sent = stage.line.asked.filter(({ origin }) => origin === site.url).map(({ body }) => body)
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
})

test(
  'a page that is closed before the end leaves an incomplete session, which expires',
  { skip },
  async () => {
    assert.ok(browser && stage)
    const { agentId, apiKey } = await stage.harness.register('test')
    const site = await stage.open(`<pohf-check site="${agentId}"></pohf-check>`, 'check')
    const page = await browser.newPage()
    trackSession(page)
    await page.goto(site.url)
    await startCheck(page)
    await answerAll(page, stage, { stop: (count) => count === 1 })
    const sessionId = sessionOf(page)
    await page.close()
    site.close()
    const status = async () =>
      (await stage.harness.call('GET', `/api/agents/sessions/${sessionId}`, { key: apiKey })).json.status
    assert.equal(await status(), 'open')
    await stage.harness.advance(25 * 3_600_000)
    await stage.harness.work()
    assert.equal(await status(), 'expired')
  },
)

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Page, Route } from 'playwright-core'
import { expectedAnswer } from '../../server/test/fixtures/people/micro-task.ts'
import { pollUntil } from '../../server/test/fixtures/polling.ts'
import { findChromium, launch } from '../../web/test/browser.ts'
import { views, type View } from '../../web/test/views.ts'
import { actAsPerson, answerUntil, personsBrowser, startFixture, trackSession } from './fixture.ts'
import { checkPage } from './page-checks.ts'

const chromium = findChromium()
const skip = 'missing' in chromium ? chromium.missing : false
const fixture = 'path' in chromium ? await startFixture() : undefined
const browser = 'path' in chromium ? await launch(chromium.path) : undefined
after(async () => {
  await browser?.close()
  fixture?.close()
})

type Agent = { readonly agentId: string; readonly apiKey: string }
const openTask = async (view: View, attributes = '', known?: Agent) => {
  assert.ok(browser && fixture)
  const agent = known ?? (await fixture.harness.register('test'))
  const site = await fixture.open(
    `<p>A page of a publisher.</p><pohf-task site="${agent.agentId}" ${attributes}></pohf-task>`,
    'task',
  )
  const context = await browser.newContext({
    viewport: { width: view.width, height: 800 },
    colorScheme: view.colorScheme,
    ...personsBrowser,
  })
  context.setDefaultTimeout(30_000)
  await actAsPerson(context)
  const page = await context.newPage()
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error' && !/ERR_|favicon/.test(message.text())) faults.push(message.text())
  })
  trackSession(page)
  const tokens: string[] = []
  page.on('response', (response) => {
    if (!response.url().includes('/api/tasks/next')) return
    void response.json().then(
      ({ task }: { task: { token: string } }) => tokens.push(task.token),
      () => {
        // The page was closed before it had read the task after the last one.
      },
    )
  })
  await page.goto(site.url)
  await page.waitForFunction("customElements.get('pohf-task')")
  await page.evaluate("window.told = []; addEventListener('pohf-task', ({ detail }) => told.push(detail))")
  return { fixture, agent, site, context, page, faults, tokens }
}
const inState = (page: Page, state: string) => page.locator(`pohf-task [data-state=${state}]`)
type Told = { verified: boolean; sessionId: string; completionId: string; reason?: string }
const toldOf = (page: Page) => page.evaluate<Told[]>('told')

const answerTask = async (
  { page, fixture, tokens }: Awaited<ReturnType<typeof openTask>>,
  answer?: string,
): Promise<void> => {
  await answerUntil(page, fixture, 'task')
  await page.locator('pohf-task input').fill(answer ?? expectedAnswer(fixture.harness, tokens.at(-1) ?? ''))
  await page.keyboard.press('Enter')
}

void test(
  'across two origins: a task, the questions, the answer, verify, a credential',
  { skip },
  async () => {
    const opened = await openTask({ width: 1280, colorScheme: 'light' })
    const { page, fixture, agent, context, site, faults } = opened
    try {
      assert.notEqual(new URL(site.url).origin, new URL(fixture.service.url).origin)
      assert.equal(fixture.network.requests.filter(({ origin }) => origin === site.url).length, 0)
      await page.click('pohf-task .go')
      await answerTask(opened)
      await inState(page, 'passed').waitFor()
      const [told] = await toldOf(page)
      assert.equal(told?.verified, true, JSON.stringify(told))
      const minted = await fixture.harness.call('POST', '/api/agents/verify', {
        key: agent.apiKey,
        body: { sessionId: told.sessionId },
      })
      assert.equal(minted.status, 200, minted.text)
      assert.equal(minted.json.kind, 'work')
      const session = await fixture.harness.call('GET', `/api/agents/sessions/${told.sessionId}`, {
        key: agent.apiKey,
      })
      assert.equal(session.json.simulated, false, 'the attention was recorded')
      // A wrong answer to the next one.
      await page.click('pohf-task .again')
      await answerTask(opened, '00000')
      await inState(page, 'retry').waitFor()
      assert.match((await toldOf(page))[1]?.reason ?? '', /answer_wrong/)
      assert.deepEqual(faults, [])
    } finally {
      await context.close()
      site.close()
    }
  },
)

void test('by keyboard alone, in German, with words', { skip }, async () => {
  const opened = await openTask({ width: 390, colorScheme: 'dark' }, 'lang="de"')
  const { page, context, site, faults } = opened
  try {
    await page.locator('pohf-task .other').focus()
    await page.keyboard.press('Enter')
    await answerTask(opened)
    await inState(page, 'passed').waitFor()
    assert.match(await page.locator('pohf-task .w').innerText(), /Danke/)
    assert.equal((await toldOf(page))[0]?.verified, true)
    // Who does not see pictures gets no picture next.
    const asked = page.waitForRequest((request) => request.url().includes('/api/tasks/next'))
    await page.locator('pohf-task .again').press('Enter')
    assert.match((await asked).url(), /words=1/)
    // The answer of the service arrives after the person has left: the page is told, the person is not.
    const held = Promise.withResolvers<Route>()
    await page.route('**/api/tasks/complete', (route) => held.resolve(route))
    await answerTask(opened)
    const route = await held.promise
    await page.click('pohf-task .x')
    await inState(page, 'idle').waitFor()
    await route.continue()
    await pollUntil('the page is told', async () => (await toldOf(page)).length === 2)
    assert.equal(await inState(page, 'idle').count(), 1)
    assert.deepEqual(faults, [])
  } finally {
    await context.close()
    site.close()
  }
})

void test('a question of a campaign has its options as buttons', { skip }, async () => {
  assert.ok(fixture)
  const agent = await fixture.harness.register('test')
  const { json } = await fixture.harness.call('POST', '/api/agents/campaigns', {
    key: agent.apiKey,
    body: {
      name: 'Fit',
      questions: [{ prompt: 'Does this fit?', options: ['fits', 'does not fit'] }],
      rewardStars: 2,
      budgetStars: 20,
    },
  })
  assert.ok(json.campaignId)
  const { json: visitor } = await fixture.harness.call('POST', '/api/agents/tasks/visitor', {
    key: agent.apiKey,
    body: { memberId: 'anna' },
  })
  const opened = await openTask({ width: 390, colorScheme: 'light' }, `visitor="${visitor.visitor}"`, agent)
  const { page, context, site } = opened
  try {
    await page.click('pohf-task .go')
    await answerTask(opened)
    await inState(page, 'passed').waitFor()
    for (let item = 0; item < 5; item++) {
      await page.click('pohf-task .again')
      await answerUntil(page, opened.fixture, 'task')
      if ((await page.locator('pohf-task .choice').count()) > 0) break
      await page
        .locator('pohf-task input')
        .fill(expectedAnswer(opened.fixture.harness, opened.tokens.at(-1) ?? ''))
      await page.keyboard.press('Enter')
      await inState(page, 'passed').waitFor()
    }
    await checkPage(page, 'task-options')
    await page.getByRole('button', { name: 'fits', exact: true }).click()
    await inState(page, 'passed').waitFor()
    assert.equal((await toldOf(page)).at(-1)?.reason, 'agreement_pending')
  } finally {
    await context.close()
    site.close()
  }
})

void test('who leaves while the task is fetched is not recorded', { skip }, async () => {
  const { page, context, site } = await openTask({ width: 390, colorScheme: 'light' })
  try {
    const fetched: Route[] = []
    await page.route('**/api/tasks/next?*', (route) => void fetched.push(route))
    const recorded: string[] = []
    page.on('request', (request) => {
      if (request.url().endsWith('/api/sessions')) recorded.push(request.url())
    })
    const start = async () => {
      const asked = page.waitForRequest('**/api/tasks/next?*')
      await page.click('pohf-task .go')
      await asked
      await page.click('pohf-task .x')
      await inState(page, 'idle').waitFor()
    }
    await start()
    const lost = page.waitForEvent('requestfailed')
    await fetched.shift()?.abort()
    await lost
    await start()
    const answered = page.waitForResponse('**/api/tasks/next?*')
    await fetched.shift()?.continue()
    await (await answered).finished()
    // A session makes its key before it asks for anything: after another one its request would be there.
    await page.evaluate(
      "crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign']).then(() => true)",
    )
    assert.equal(await inState(page, 'idle').count(), 1)
    assert.deepEqual(recorded, [])
  } finally {
    await context.close()
    site.close()
  }
})

for (const view of views)
  void test(
    `${view.width} px, ${view.colorScheme}: nothing that axe finds, in every state`,
    { skip },
    async () => {
      const opened = await openTask(view)
      const { page, context, site } = opened
      const name = `task-${view.width}-${view.colorScheme}`
      try {
        await page.locator('pohf-task .go').waitFor()
        await checkPage(page, `${name}-idle`)
        await page.click('pohf-task .go')
        await answerUntil(page, opened.fixture, 'task')
        await checkPage(page, `${name}-question`)
        await page
          .locator('pohf-task input')
          .fill(expectedAnswer(opened.fixture.harness, opened.tokens.at(-1) ?? ''))
        await page.keyboard.press('Enter')
        await inState(page, 'passed').waitFor()
        await checkPage(page, `${name}-passed`)
      } finally {
        await context.close()
        site.close()
      }
    },
  )

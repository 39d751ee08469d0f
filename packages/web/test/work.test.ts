import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { BrowserContext, Page, Route } from 'playwright-core'
import { makeWorker, type TestWorker } from '../../server/test/fixtures/people/worker.ts'
import { findChromium, launch } from './browser.ts'
import { isEveryView } from './views.ts'
import {
  answerTextQuestions,
  desktop,
  checkPage,
  openContext,
  phone,
  servePictures,
  tabTo,
  type View,
} from './worker-browser.ts'
import { startWorkerFixture } from './worker-fixture.ts'

const chromium = findChromium()
const skip = 'missing' in chromium ? chromium.missing : false
const fixture = skip === false ? await startWorkerFixture() : undefined
const browser = 'path' in chromium ? await launch(chromium.path) : undefined
after(() => browser?.close())

type WorkerFixture = NonNullable<typeof fixture>
type WorkerTestPage = {
  readonly page: Page
  readonly context: BrowserContext
  readonly fixture: WorkerFixture
  readonly worker: TestWorker
  readonly buyer: Awaited<ReturnType<WorkerFixture['harness']['register']>>
}

/** Somebody who is enrolled and signed in, in a browser of their own, and a buyer whose work nobody else has. */
const inBrowser = (
  name: string,
  view: View,
  body: (opened: WorkerTestPage) => Promise<void>,
  driven = false,
): void =>
  void test(name, { skip }, async () => {
    assert.ok(fixture && browser)
    fixture.line.cut = undefined
    const { harness } = fixture
    const [home, buyer] = [await harness.register('test'), await harness.register('test')]
    const worker = await makeWorker(harness, home)
    const { context, page, faults } = await openContext(browser, view, driven)
    const [cookie = '', value = ''] = worker.cookie.split('=')
    await context.addCookies([
      {
        name: cookie,
        value,
        domain: 'localhost',
        path: '/',
        secure: true,
        httpOnly: true,
        sameSite: 'Strict',
      },
    ])
    try {
      await body({ page, context, fixture, worker, buyer })
      assert.deepEqual(faults, [], 'the page ran without a fault and within its policy')
    } finally {
      await context.close()
      // What is left would wait for the next test's person.
      const { json } = await harness.call('GET', '/api/agents/orders', { key: buyer.apiKey })
      for (const { orderId } of json.orders as { orderId: string }[])
        await harness.call('POST', `/api/agents/orders/${orderId}/cancel`, { key: buyer.apiKey })
    }
  })

const order = async ({ fixture: { harness }, buyer }: WorkerTestPage, body: object): Promise<string> => {
  const placed = await harness.call('POST', '/api/agents/order', { key: buyer.apiKey, body })
  assert.equal(placed.status, 200, placed.text)
  const { orderId } = placed.json as { orderId: string }
  const funded = await harness.call('POST', '/api/agents/order/fund', {
    key: buyer.apiKey,
    body: { orderId },
  })
  assert.equal(funded.status, 200, funded.text)
  return orderId
}
const photos = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ url: `https://pictures.example/${index}.svg` }))
const orderPhotos = (opened: WorkerTestPage, quantity = 1) =>
  order(opened, { taskType: 'wf_photo_label', quantity, items: photos(quantity) })
const waitForHeading = (page: Page, text: string | RegExp) => page.locator('h1', { hasText: text }).waitFor()
/** Puts a delivered unit there by the API: the pages of what follows are looked at, not the way to them. */
const delivered = async (opened: WorkerTestPage): Promise<{ orderId: string; assignmentId: string }> => {
  const orderId = await orderPhotos(opened)
  const answer = await opened.worker.work('wf_photo_label', { subject: 'A boot' })
  assert.equal(answer.json.status, 'delivered', answer.text)
  return { orderId, assignmentId: answer.json.assignmentId as string }
}
const reject = ({ fixture: { harness }, buyer }: WorkerTestPage, orderId: string) =>
  harness.call('POST', `/api/agents/orders/${orderId}/units/1/reject`, {
    key: buyer.apiKey,
    body: { reason: 'wrong_answer', note: 'It is a shoe, not a boot.' },
  })

const fewViews = [
  ['phone-dark', { ...phone, dark: true }],
  ['desktop-light', desktop],
] as const
const otherViews = [
  ['phone-light', phone],
  ['desktop-dark', { ...desktop, dark: true }],
] as const
for (const [name, view] of isEveryView ? [...fewViews, ...otherViews] : fewViews)
  inBrowser(`${name}: every page can be read, pressed and heard`, view, async (opened) => {
    const { page, context, fixture: given, worker } = opened
    const at = (path: string) => page.goto(`${given.url}${path}`)
    await at('/work')
    await waitForHeading(page, 'There is no work right now.')
    await checkPage(page, `${name}-list-empty`)
    const { orderId, assignmentId } = await delivered(opened)
    await at(`/work/${assignmentId}`)
    await waitForHeading(page, 'Handed in. Your check passed.')
    await checkPage(page, `${name}-result-good`)
    assert.equal((await reject(opened, orderId)).status, 200)
    await page.reload()
    await waitForHeading(page, 'Your answer was not accepted.')
    await page.getByText('It is a shoe, not a boot.').waitFor()
    await checkPage(page, `${name}-rejected`)
    await page.getByRole('button', { name: 'Send the appeal' }).click()
    await page.getByText('Please write at least one sentence.').waitFor()
    await page.getByLabel('Why the answer should be accepted').fill('It goes above the ankle.')
    await page.getByRole('button', { name: 'Send the appeal' }).click()
    await waitForHeading(page, 'Your appeal is waiting for a decision.')
    await checkPage(page, `${name}-appealed`)
    await orderPhotos(opened, 2)
    const claimed = await worker.claim('wf_photo_label')
    const bad = await worker.record(claimed.json, {
      verified: false,
      quality: 0.31,
      reasons: ['attention_unproven', 'focus_low'],
    })
    await worker.deliver(claimed.json.assignmentId, bad, { subject: 'A boot' })
    await at(`/work/${claimed.json.assignmentId}`)
    await waitForHeading(page, 'This did not count.')
    await page.getByText('Too few of the questions were answered in time.').waitFor()
    await checkPage(page, `${name}-result-bad`)
    await order(opened, { taskType: 'wf_compare_texts', quantity: 1, items: [{ a: 'Yes.', b: 'No.' }] })
    await at('/work')
    await waitForHeading(page, '2 kinds of work are available.')
    await checkPage(page, `${name}-list`)
    await at('/work/earnings')
    await page.getByText('under appeal').waitFor()
    await checkPage(page, `${name}-earnings`)
    await context.clearCookies()
    await at('/work')
    await waitForHeading(page, 'Paid work for people.')
    await checkPage(page, `${name}-sign-in`)
  })

inBrowser('keyboard only, on a phone: from the list to the result', phone, async (opened) => {
  const { page, fixture: given } = opened
  const orderId = await orderPhotos(opened)
  const requested = await servePictures(page)
  await page.goto(`${given.url}/work`)
  await waitForHeading(page, 'One kind of work is available.')
  await tabTo(page, '.task button')
  await page.keyboard.press('Enter')
  await waitForHeading(page, 'Name what a photo shows')
  await checkPage(page, 'keyboard-1-brief', false)
  await tabTo(page, '[aria-describedby=words-why]')
  await page.keyboard.press('Enter')
  await page.locator('.answer').waitFor()
  await checkPage(page, 'keyboard-2-working', false)
  let looked = false
  await answerTextQuestions(page, async () => {
    if (!looked) await checkPage(page, 'keyboard-3-question', false)
    looked = true
  })
  // Handing in with nothing written leads to what is missing.
  await tabTo(page, '.bar-foot .btn.main')
  await page.keyboard.press('Enter')
  await page.getByText('One answer is missing.').waitFor()
  await checkPage(page, 'keyboard-4-missing')
  await page.locator('#f-subject:focus').waitFor()
  await page.keyboard.type('A boot')
  await page.keyboard.press('Tab')
  await page.keyboard.press('ArrowRight')
  assert.equal(await page.getByRole('radio', { name: 'No' }).isChecked(), true)
  await tabTo(page, '.bar-foot .btn.main')
  await page.keyboard.press('Enter')
  await waitForHeading(page, 'Handed in. Your check passed.')
  await checkPage(page, 'keyboard-5-result')
  assert.deepEqual(requested, ['images/url'], 'the picture was not requested once from the service alone')
  const kept = await page.evaluate<unknown>('[sessionStorage.length, localStorage.length]')
  assert.deepEqual(kept, [0, 0])
  const { json } = await given.harness.call('GET', `/api/agents/orders/${orderId}/results`, {
    key: opened.buyer.apiKey,
  })
  assert.deepEqual(json.units[0].answer, { subject: 'A boot', unclear: false })
  assert.ok(json.units[0].credential.pohf_jwt)
})

inBrowser('what is written survives a reload and a lost line, in this tab alone', phone, async (opened) => {
  const { page, context, fixture: given } = opened
  await orderPhotos(opened)
  await servePictures(page)
  await page.goto(`${given.url}/work`)
  await page.getByRole('button', { name: 'Take this task' }).click()
  await page.getByRole('button', { name: 'Begin without a pointer' }).click()
  await page.locator('.answer').waitFor()
  await answerTextQuestions(page)
  await page.locator('#f-subject').fill('Half a thought')
  await page.reload()
  await page.getByText('What you wrote before is still here.').waitFor()
  const other = await context.newPage()
  await other.goto(page.url())
  await other.getByRole('button', { name: 'Begin and record' }).waitFor()
  assert.equal(await other.getByText('What you wrote before is still here.').count(), 0)
  await other.close()
  await page.getByRole('button', { name: 'Begin without a pointer' }).click()
  await page.locator('.answer').waitFor()
  assert.equal(await page.inputValue('#f-subject'), 'Half a thought')
  await answerTextQuestions(page)
  given.line.cut = /\/deliver$/
  await page.getByRole('button', { name: 'Hand in' }).click()
  await page.getByText('The service did not answer.').waitFor()
  await checkPage(page, 'lost-handing')
  given.line.cut = undefined
  // The recording is over and kept by its number: another reload hands in by itself.
  await page.reload()
  await waitForHeading(page, 'Handed in. Your check passed.')
})

inBrowser(
  'a driven browser is told why it is not paid, and the unit waits for the next',
  desktop,
  async (opened) => {
    const { page, fixture: given } = opened
    await orderPhotos(opened)
    await servePictures(page)
    await page.goto(`${given.url}/work`)
    await page.getByRole('button', { name: 'Take this task' }).click()
    await page.getByRole('button', { name: 'Begin without a pointer' }).click()
    await page.locator('.answer').waitFor()
    await answerTextQuestions(page)
    await page.locator('#f-subject').fill('A boot')
    await page.getByRole('button', { name: 'Hand in' }).click()
    await waitForHeading(page, 'This did not count.')
    await page.getByText('The browser reports that a program controls it.').waitFor()
    const { rows } = await given.harness.owner.query(
      "select status from order_units where agent_id = $1 and status = 'open'",
      [opened.buyer.agentId],
    )
    assert.equal(rows.length, 1)
  },
  true,
)

const reportViews = [
  ['phone-dark', { width: 390, height: 844, dark: true }],
  ['desktop-light', desktop],
  ['phone-light', { width: 390, height: 844 }],
  ['desktop-dark', { ...desktop, dark: true }],
] as const
for (const [name, view] of isEveryView ? reportViews : reportViews.slice(0, 2))
  inBrowser(
    `${name}: a task is reported with one press, before and during the work`,
    view,
    async (opened) => {
      const { page, fixture: given } = opened
      await order(opened, { taskType: 'wf_ask_human', quantity: 1, items: ['What is ur e mail'] })
      await page.goto(`${given.url}/work`)
      await page.getByRole('button', { name: 'Take this task' }).click()
      await page.getByRole('button', { name: 'It asks about me' }).waitFor()
      await checkPage(page, `${name}-report-before`)
      await page.getByRole('button', { name: 'Begin without a pointer' }).click()
      await page.locator('.answer').waitFor()
      await answerTextQuestions(page)
      await checkPage(page, `${name}-report`)
      await page.getByRole('button', { name: 'It asks about me' }).click()
      await waitForHeading(page, 'You returned the task.')
      await page.getByText('You reported it.').waitFor()
      await checkPage(page, `${name}-reported`)
      const { rows } = await given.harness.owner.query(
        'select report_reason as reason, released_at from assignments where person_id = $1',
        [opened.worker.personId],
      )
      assert.deepEqual(rows, [{ reason: 'asks_personal_data', released_at: null }])
    },
  )

inBrowser('a unit can be given back, and somebody faster is told of', phone, async (opened) => {
  const { page, fixture: given, worker } = opened
  await orderPhotos(opened)
  await page.goto(`${given.url}/work`)
  await page.getByRole('button', { name: 'Take this task' }).click()
  await page.getByRole('button', { name: 'Return the task' }).click()
  await page.getByRole('button', { name: 'No, keep it' }).click()
  await page.getByRole('button', { name: 'Return the task' }).click()
  await checkPage(page, 'give-back')
  await page.getByRole('button', { name: 'No, keep it' }).click()
  // The recording opens while the person returns the task: it must not run on.
  const opening: Route[] = []
  await page.route('**/api/sessions', (route) => void opening.push(route))
  const requested = page.waitForRequest('**/api/sessions')
  await page.getByRole('button', { name: 'Begin without a pointer' }).click()
  await requested
  await page.getByRole('button', { name: 'Return the task' }).click()
  await page.getByRole('button', { name: 'Yes, return it' }).click()
  await waitForHeading(page, 'You returned the task.')
  await opening[0]?.continue()
  await page.locator('pohf-questions').waitFor({ state: 'detached' })
  await page.goto(`${given.url}/work`)
  await waitForHeading(page, 'One kind of work is available.')
  // Another tab of the same person takes it first.
  assert.equal((await worker.claim('wf_photo_label')).status, 200)
  await page.getByRole('button', { name: 'Take this task' }).click()
  await page.getByRole('alert').waitFor()
  await page.reload()
  await page.getByRole('link', { name: 'Continue' }).click()
  await page.getByRole('button', { name: 'Begin and record' }).waitFor()
})

inBrowser('a time that runs out ends the recording and the page of the work', phone, async (opened) => {
  const { page, fixture: given, worker } = opened
  await orderPhotos(opened)
  await servePictures(page)
  const { json } = await worker.claim('wf_photo_label')
  await given.harness.owner.query(
    "update assignments set due_at = now() - interval '1 second' where assignment_id = $1",
    [json.assignmentId],
  )
  await page.goto(`${given.url}/work/${json.assignmentId}`)
  await page.getByRole('button', { name: 'Begin without a pointer' }).click()
  await page.locator('.answer').waitFor()
  // The service ends the unit a few seconds later: its first answer is the old state.
  await page.waitForResponse((response) => response.url().endsWith(`/assignments/${json.assignmentId}`))
  assert.equal(await page.locator('pohf-questions').count(), 1)
  await given.harness.runJobs()
  await waitForHeading(page, 'Your time ran out.')
  await page.locator('pohf-questions').waitFor({ state: 'detached' })
})

inBrowser(
  'in German, and the choice of language goes along',
  { ...phone, locale: 'de-AT' },
  async (opened) => {
    const { page, fixture: given } = opened
    await orderPhotos(opened)
    await page.goto(`${given.url}/work`)
    await waitForHeading(page, 'Eine Art von Aufgabe ist verfügbar.')
    await checkPage(page, 'german-list')
    await page.getByRole('link', { name: 'English' }).click()
    await waitForHeading(page, 'One kind of work is available.')
    await page.getByRole('button', { name: 'Take this task' }).click()
    await page.getByRole('button', { name: 'Begin and record' }).waitFor()
    await page.getByRole('link', { name: 'Deutsch' }).click()
    await page.getByRole('button', { name: 'Beginnen und aufzeichnen' }).waitFor()
    await checkPage(page, 'german-brief')
    const opening = page.waitForRequest((request) => request.url().endsWith('/api/sessions'))
    await page.getByRole('button', { name: 'Beginnen und aufzeichnen' }).click()
    assert.equal(
      (await opening).postDataJSON().language,
      'de',
      'the questions are in the language of the page',
    )
  },
)

inBrowser('who is signed in and enrolled nowhere reads how to become a member', phone, async (opened) => {
  const { page, fixture: given, worker } = opened
  await given.harness.owner.query("update members set status = 'withdrawn' where person_id = $1", [
    worker.personId,
  ])
  await page.goto(`${given.url}/work`)
  await waitForHeading(page, 'You are not a member yet.')
  await checkPage(page, 'not-member')
  await page.goto(`${given.url}/work/asg_nothing`)
  await waitForHeading(page, 'There is no such task, or it is not yours.')
})

test('pictures of other origins are allowed on no page, and nothing inline anywhere', { skip }, async (t) => {
  assert.ok(fixture)
  const policyOf = async (path: string) =>
    (await fetch(`${fixture.url}${path}`)).headers.get('content-security-policy') ?? ''
  for (const path of ['/work', '/work/earnings', '/work/asg_1', '/work/asg_1/link/url']) {
    const policy = await policyOf(path)
    assert.match(policy, /img-src 'self' data:;/)
    assert.doesNotMatch(policy, /unsafe/)
  }
  const html = await (await fetch(`${fixture.url}/work`)).text()
  const scripts = [...html.matchAll(/(?:src|href)="(\/assets\/[^"]+\.js)"/g)].map(([, path = '']) => path)
  assert.ok(scripts.length >= 2)
  let bytes = 0
  for (const path of scripts) {
    const text = await (await fetch(`${fixture.url}${path}`)).text()
    assert.doesNotMatch(text, /\beval\(|new Function|document\.cookie|localStorage/)
    bytes += gzipSync(text, { level: 9 }).length
  }
  t.diagnostic(`the scripts of /work: ${bytes} bytes gzipped`)
  assert.ok(bytes <= 32_000, `${bytes} bytes`)
})

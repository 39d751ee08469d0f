import assert from 'node:assert/strict'
import {
  answerByPointing,
  answerByWordsButton,
  answerInWords,
  approve,
  createApproverTest,
  heading,
  invoice,
  nextSession,
  readyToApprove,
  referencePhone,
} from './approver-browser.ts'
import { checkPage, desktop, tabTo } from './worker-browser.ts'

const { inBrowser } = await createApproverTest()

inBrowser('on a phone: from the request to the credential, by pointing', referencePhone, async (opened) => {
  const { page } = opened.person
  const elsewhere: string[] = []
  page.on('request', (sent) => {
    if (!sent.url().startsWith(opened.fixture.url)) elsewhere.push(sent.url())
  })
  const approvalId = await opened.request()
  await page.goto(`${opened.fixture.url}/approve`)
  await heading(page, 'One request waits for you.')
  await checkPage(page, 'list-waiting')
  const session = nextSession(page)
  await page.getByRole('link', { name: 'Open it' }).click()
  await heading(page, 'Pay an invoice?')
  const sessionId = await session
  await page.locator('pohf-questions .ask').waitFor()
  await checkPage(page, 'pending-phone-light')
  // Approve is off, and leads to the question.
  await approve(page)
  await page.locator('pohf-questions .ask:focus').waitFor()
  await answerByPointing(page, opened.fixture, sessionId)
  await readyToApprove(page)
  await checkPage(page, 'pending-answered')
  await approve(page)
  await heading(page, 'You approved this')
  await checkPage(page, 'approved-phone-light')
  const { json } = await opened.administration.read(approvalId)
  assert.equal(json.status, 'approved')
  assert.ok(json.decisions[0].credentialId)
  assert.ok(json.decisions[0].pohf_jwt)
  assert.equal(
    (await page.locator('dd .id').allTextContents()).includes(json.decisions[0].credentialId),
    true,
  )
  const used = await opened.administration.consume(approvalId, json.envelopeHash as string)
  assert.equal(used.status, 200, used.text)
  await page.reload()
  await heading(page, 'You approved this')
  await page.getByText('The approval was used once').waitFor()
  assert.deepEqual(elsewhere, [], 'the page asks nobody else')
  assert.deepEqual(await page.evaluate('[sessionStorage.length, localStorage.length]'), [0, 0])
})

inBrowser('by keyboard alone, dark, at 320 px', { width: 320, height: 640, dark: true }, async (opened) => {
  const { page } = opened.person
  const approvalId = await opened.request()
  await opened.person.open(approvalId)
  await heading(page, 'Pay an invoice?')
  await page.locator('pohf-questions .ask').waitFor()
  await checkPage(page, 'pending-320-dark')
  await answerInWords(page, async () => {
    for (let steps = 0; steps < 60; steps += 1) {
      const focused = await page.evaluate<string>(
        "document.activeElement?.shadowRoot?.activeElement?.className ?? ''",
      )
      if (focused.includes('other')) break
      await page.keyboard.press('Tab')
    }
    await page.keyboard.press('Enter')
  })
  await readyToApprove(page)
  await tabTo(page, '.yes')
  await page.keyboard.press('Enter')
  await heading(page, 'You approved this')
  await checkPage(page, 'approved-320-dark')
})

inBrowser('deny with words needs no question, and the agent reads them', referencePhone, async (opened) => {
  const { page } = opened.person
  const [approvalId, other] = [await opened.request(), await opened.request()]
  await opened.person.open(approvalId)
  await heading(page, 'Pay an invoice?')
  await page.getByRole('button', { name: 'Deny', exact: true }).click()
  const words = 'The IBAN on file for Northwind ends in 88. <b>Call</b> them.'
  await page.getByLabel('Tell the agent why').fill(words)
  await checkPage(page, 'denying')
  await page.getByRole('button', { name: 'Deny with these words' }).click()
  await heading(page, 'You denied this')
  await page.locator('blockquote', { hasText: words }).waitFor()
  await page.getByText('One more request waits').waitFor()
  await checkPage(page, 'denied-phone-light')
  const { json } = await opened.administration.read(approvalId)
  assert.deepEqual([json.status, json.decisions[0].words], ['denied', words])
  await page.getByRole('link', { name: 'Open it' }).click()
  await page.waitForURL(`**/approve/${other}`)
  await page.goto(`${opened.fixture.url}/approve`)
  await page.getByText('you denied', { exact: true }).waitFor()
  await checkPage(page, 'list-decided')
})

inBrowser('two people: 1 of 2, then both; a denial in the delay ends it', desktop, async (opened) => {
  const second = await opened.another({ ...desktop, dark: true })
  const both = [opened.person, second]
  const policy = { quorum: 2, delaySeconds: 600 }
  const approvalId = await opened.request({ policy }, both)
  for (const [index, { page, open }] of both.entries()) {
    await open(approvalId)
    await page.getByText('one of 2 approvers').waitFor()
    await page.locator('pohf-questions .other').waitFor()
    await checkPage(page, `pending-wide-${index === 0 ? 'light' : 'dark'}`)
    await answerByWordsButton(page)
    await readyToApprove(page)
    await approve(page)
    await heading(page, 'You approved this')
    await page.getByText(`${index + 1} of 2 approvals`).waitFor()
    await checkPage(page, `approved-wide-${index + 1}`)
  }
  await opened.person.page.reload()
  await opened.person.page.getByText('Until then you can still deny it.').waitFor()
  await opened.person.page.getByRole('button', { name: 'Deny it after all' }).click()
  await heading(opened.person.page, 'You denied this')
  assert.equal((await opened.administration.read(approvalId)).json.status, 'denied')
  await second.page.reload()
  await heading(second.page, 'Somebody else denied this.')
  await checkPage(second.page, 'other-denied')
})

inBrowser(
  'a long value has to be read to its end, and a type that nobody registered says so',
  referencePhone,
  async (opened) => {
    const { page } = opened.person
    const lines = Array.from({ length: 60 }, (_, index) => `step ${index + 1}`).join('\n')
    await opened.person.open(await opened.request({ action: { ...invoice, memo: lines } }))
    await answerByWordsButton(page)
    await page.getByText(/Scroll to the end of \u2066Memo\u2069 first\./).waitFor()
    await approve(page)
    await page.locator('.long:focus').waitFor()
    await checkPage(page, 'long-value')
    await page.keyboard.press('End')
    await page.getByText('Read to the end.').waitFor()
    await readyToApprove(page)
    const unregistered = await opened.request(
      { type: 'shell.run', action: { command: 'pg-migrate up', '\u0430mount': '5' } },
      [opened.person, await opened.another()],
    )
    await opened.person.open(unregistered)
    await heading(page, 'Approve an action of type shell.run?')
    await page.getByText('the strictest rules apply').waitFor()
    await checkPage(page, 'unregistered')
    // With its accents 660 characters, in 440 places: more than the box has on a phone, and less than on a wide screen.
    const memo = 'e\u0301te\u0301 '.repeat(110)
    await opened.person.open(await opened.request({ action: { ...invoice, memo } }))
    await page.locator('small.unread').waitFor()
    await page.setViewportSize({ width: 1280, height: 800 })
    await page.locator('small.read').waitFor()
  },
)

inBrowser(
  'the time in view is counted down, and a lost line keeps the recording',
  referencePhone,
  async (opened) => {
    const { page } = opened.person
    const { line } = opened.fixture
    const approvalId = await opened.request({ policy: { minSeconds: 12 } })
    await opened.person.open(approvalId)
    await answerByWordsButton(page)
    await page.getByText(/You can approve in \d+ seconds/).waitFor()
    await approve(page)
    assert.equal((await opened.administration.read(approvalId)).json.status, 'pending')
    await readyToApprove(page)
    line.cut = /\/options$/
    await approve(page)
    await page.getByText('The service did not answer.').waitFor()
    await page.getByText('Your recording is kept in this tab.').waitFor()
    await checkPage(page, 'lost-line')
    // The decision arrives, and its result does not come back.
    line.cut = /\/approvals\/[^/]+$/
    await approve(page)
    await page.locator('.yes').waitFor({ state: 'detached' })
    line.cut = undefined
    await page.getByRole('button', { name: 'Try again' }).click()
    await heading(page, 'You approved this')
  },
)

inBrowser(
  'a list that cannot be fetched again says so, and who is signed out is told',
  referencePhone,
  async (opened) => {
    const {
      fixture,
      person: { page, context },
    } = opened
    await context.addInitScript(
      'const start = setInterval; window.setInterval = (run, ms) => (ms === 30_000 ? ((window.refresh = run), 0) : start(run, ms))',
    )
    await page.goto(`${fixture.url}/approve`)
    await heading(page, 'Nothing waits for you.')
    fixture.line.cut = /\/approvals$/
    await page.evaluate('refresh()')
    await page.getByText('The service did not answer.').waitFor()
    fixture.line.cut = undefined
    // An answer from before the request arrives after one from afterwards.
    const [fetched, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    await page.route(
      '**/api/approve/approvals',
      async (route) => {
        const response = await route.fetch()
        fetched.resolve()
        await released.promise
        await route.fulfill({ response })
      },
      { times: 1 },
    )
    const older = page.waitForRequest('**/api/approve/approvals')
    await page.evaluate('refresh()')
    const late = await older
    await fetched.promise
    await opened.request()
    await page.evaluate('refresh()')
    await heading(page, 'One request waits for you.')
    const finished = page.waitForEvent('requestfinished', (request) => request === late)
    released.resolve()
    await finished
    await page.evaluate(
      'new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))',
    )
    assert.equal(await page.locator('h1').textContent(), 'One request waits for you.')
    assert.equal(await page.getByText('The service did not answer.').count(), 0)
    await context.clearCookies()
    await page.evaluate('refresh()')
    await heading(page, 'Requests that wait for your decision.')
  },
)

inBrowser('in German, signed out and in', { ...referencePhone, locale: 'de-AT' }, async (opened) => {
  const { page, context } = opened.person
  const approvalId = await opened.request()
  await opened.person.open(approvalId)
  await page.getByText('Worauf es ankommt').or(page.getByText('Jedes Feld dieser Aktion')).waitFor()
  await page.locator('pohf-questions .ask').waitFor()
  await checkPage(page, 'german-pending')
  await page.getByRole('button', { name: 'Ablehnen' }).click()
  await page.getByRole('button', { name: 'Ohne Worte ablehnen' }).click()
  await heading(page, 'Abgelehnt')
  await checkPage(page, 'german-denied')
  await context.clearCookies()
  await page.goto(`${opened.fixture.url}/approve`)
  await heading(page, 'Anfragen, die auf Ihre Entscheidung warten.')
  await checkPage(page, 'german-sign-in')
})

inBrowser('expired: no answer counts as no', referencePhone, async (opened) => {
  const { page } = opened.person
  const approvalId = await opened.request()
  await opened.person.open(approvalId)
  await heading(page, 'Pay an invoice?')
  await opened.fixture.harness.advance(61 * 60_000)
  await page.reload()
  await heading(page, 'This request expired')
  await checkPage(page, 'expired-phone-light')
})

import assert from 'node:assert/strict'
import { answerAll, answerUntil, checkText, focusedText, inState, sessionOf } from './fixture.ts'
import { readSession, startCheck, runVisits, toldEvents, visit, type VisitContext } from './visits.ts'

const dayMs = 86_400_000

visit('who is rejected sees it in the check, tries again there, and passes', {}, async (visited) => {
  const { page, fixture, site } = visited
  await startCheck(page)
  await answerUntil(page, fixture, 'retry', { wrong: 6 })
  const rejected = sessionOf(page)
  assert.match(await checkText(page), /try again[\s\S]*Too few questions/i)
  assert.match(await checkText(page), new RegExp(rejected), 'with a reference')
  assert.match(await focusedText(page), /try again/i, 'a screen reader says it')
  assert.equal((await readSession(visited, rejected)).verified, false)
  assert.equal(await page.evaluate("document.querySelector('pohf-check').response"), '')
  await page.getByRole('button', { name: 'Try again' }).click()
  await answerUntil(page, fixture, 'passed')
  const [first, ...others] = (await toldEvents(page)).map((event) => event.join())
  assert.equal(first, 'pohf-failed,retry')
  // A busy machine may need more than one further attempt.
  assert.deepEqual(
    others.filter((event) => event !== 'pohf-failed,retry'),
    ['pohf-done,passed'],
  )
  await page.click('#send')
  await page.waitForSelector('#thanks')
  assert.equal(site.sent.at(-1)?.body, `who=&pohf-session=${sessionOf(page)}`)
  assert.notEqual(sessionOf(page), rejected)
})

visit('a missed question is said at the next one, and the check goes on', {}, async ({ page, fixture }) => {
  await startCheck(page)
  await answerAll(page, fixture, { wrong: 1, stop: () => true })
  await page.locator('pohf-check [data-state=point] b', { hasText: 'Not quite. Try this one.' }).waitFor()
  assert.match(await checkText(page), /Question 2 of 3/)
  await answerUntil(page, fixture, 'passed')
})

/** Gives these answers first, and then the service's own. */
const answerFirst = (
  { fixture, site }: VisitContext,
  answers: readonly Readonly<Record<string, unknown>>[],
): void => {
  const left = [...answers]
  fixture.network.changed.set(`${site.url} /finish`, (own) => ({ ...own, ...left.shift() }))
}

visit(
  'a verdict that is pending, or waits for a step-up in another tab, is asked for again with the same bytes',
  {},
  async (visited) => {
    const { page, fixture, site } = visited
    const stepUp = [{ kind: 'webauthn', url: `${fixture.service.url}/step-up/token` }]
    answerFirst(visited, [
      { verdict: 'pending', reasons: [] },
      { verdict: 'step_up', reasons: ['proof_needed'], stepUp },
      { verdict: 'step_up', reasons: ['proof_needed'], stepUp },
      { verdict: 'passed', reasons: [] },
    ])
    await startCheck(page)
    await answerAll(page, fixture)
    await inState(page, 'step_up').waitFor()
    assert.match(await checkText(page), /asks for a security key/)
    const way = page.getByRole('link', { name: 'Use my security key' })
    assert.equal(await way.getAttribute('href'), stepUp[0]?.url)
    assert.equal(await page.evaluate("document.querySelector('pohf-check').response"), '')
    await inState(page, 'passed').waitFor()
    assert.deepEqual(await toldEvents(page), [
      ['pohf-failed', 'step_up'],
      ['pohf-done', 'passed'],
    ])
    const finishes = fixture.network.requests.filter(
      ({ origin, path }) => origin === site.url && path.endsWith('/finish'),
    )
    assert.equal(finishes.length, 4)
    assert.equal(new Set(finishes.map(({ body }) => body)).size, 1)
  },
)

visit('a step-up that ends in another verdict says so', {}, async (visited) => {
  const { page, fixture } = visited
  const stepUp = [{ kind: 'webauthn', url: `${fixture.service.url}/step-up/token` }]
  answerFirst(visited, [
    { verdict: 'step_up', reasons: ['proof_needed'], stepUp },
    { verdict: 'failed', reasons: ['network_busy'], retryAfter: 60 },
  ])
  await startCheck(page)
  await answerAll(page, fixture)
  await inState(page, 'failed').waitFor()
  assert.match(await checkText(page), /Too many checks from your network/)
  assert.deepEqual(await toldEvents(page), [
    ['pohf-failed', 'step_up'],
    ['pohf-failed', 'failed'],
  ])
})

visit('a verdict that the service refuses to repeat ends the check', {}, async (visited) => {
  const { page, fixture } = visited
  answerFirst(visited, [{ verdict: 'pending', reasons: [] }])
  let finishes = 0
  await page.route(/\/finish$/, (route) => {
    finishes += 1
    if (finishes === 1) return route.continue()
    const headers = { 'access-control-allow-origin': '*' }
    return route.fulfill({ status: 409, headers, json: { ok: false, error: 'session_expired' } })
  })
  await startCheck(page)
  await answerAll(page, fixture)
  await inState(page, 'failed').waitFor()
  assert.deepEqual(await toldEvents(page), [['pohf-failed', 'session_expired']])
})

visit('after 15 minutes the check has expired and carries nothing', {}, async ({ page, fixture, site }) => {
  await page.clock.install()
  await page.reload()
  await page.waitForFunction('window.pohf')
  await page.evaluate("window.told = []; addEventListener('pohf-expired', () => told.push('expired'))")
  await startCheck(page)
  await answerUntil(page, fixture, 'passed')
  await page.clock.fastForward('15:01')
  await inState(page, 'idle').waitFor()
  assert.match(await checkText(page), /expired/)
  assert.deepEqual(await page.evaluate('told'), ['expired'])
  await page.click('#send')
  await page.waitForSelector('#thanks')
  assert.equal(site.sent.at(-1)?.body, 'who=')
})

visit('a browser that passed before is known by a key of its own and asked less', {}, async (visited) => {
  const { page, fixture, site, apiKey } = visited
  const opened = () => {
    const bodies = fixture.network.requests.filter(
      ({ origin, path }) => origin === site.url && path === 'POST /api/sessions',
    )
    return JSON.parse(bodies.at(-1)?.body ?? '{}') as { key: { x: string }; browser?: { key: { x: string } } }
  }
  const passOnce = async () => {
    await startCheck(page)
    await answerUntil(page, fixture, 'passed')
    await page.getByRole('button', { name: 'Forget this browser' }).waitFor()
    const minted = await fixture.harness.call('POST', '/api/agents/verify', {
      key: apiKey,
      body: { sessionId: sessionOf(page) },
    })
    assert.equal(minted.status, 200, minted.text)
    return (await readSession(visited, sessionOf(page))).counted.returning as boolean
  }
  const storedCount = () => page.evaluate('indexedDB.databases().then((all) => all.length)')
  await startCheck(page)
  await inState(page, 'point').waitFor()
  assert.equal(await storedCount(), 0, 'nothing is stored before the first pass')
  await page.reload()
  assert.equal(await passOnce(), false, 'not on the same day')
  const kept = opened().browser?.key.x
  assert.ok(kept !== undefined && kept !== opened().key.x, 'a key of the browser, not of the session')
  await fixture.harness.advance(dayMs)
  await page.reload()
  await page.getByText('A few seconds').waitFor()
  assert.equal(await passOnce(), true)
  assert.equal(opened().browser?.key.x, kept)
  assert.match(await checkText(page), /Welcome back/)
  await page.getByRole('button', { name: 'Forget this browser' }).click()
  await page.reload()
  await page.getByText('About 8 seconds').waitFor()
  assert.equal(await storedCount(), 0)
})

runVisits()

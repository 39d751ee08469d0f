// The whole way of an order. An agent orders three units with its own inputs; a person pays on the hosted page; two
// members do the work on a phone-size screen; the agent reads three answers with three credentials, accepts two and
// rejects one; the person appeals and an operator decides; the escrow is empty and the Stars vest and are asked for.
//
// Roles: the first member is played at the level of the operating system, with a pointer and pixels (arena), and
// enrols that way too. The second goes the accessible way, by keyboard and words, in a headless browser that hides that
// it is driven. The payer is a plain driven browser: paying is not scored.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { verifyCredential, type Fetch } from '@pohf/verify'
import { findChromium } from '../../web/test/browser.ts'
import { answerTextQuestions, openContext, phone, servePictures } from '../../web/test/worker-browser.ts'
import { ledgerFaults } from '../../server/test/fixtures/payments/ledger.ts'
import { startMain } from '../../server/test/fixtures/processes/child-processes.ts'
import { invite } from '../../server/test/fixtures/people/member.ts'
import { pollUntil } from '../../server/test/fixtures/polling.ts'
import { missingForPerson, playPerson, type Person } from '../src/index.ts'
import { addVirtualAuthenticator, passCheckByKeys, pressIn } from '../src/browser/stealth.ts'
import {
  lastOutcomes,
  quantity,
  startJourney,
  totalCents,
  workflow,
  zeroBalances,
  type OrderJourney,
} from './order-journey.ts'

const chromium = findChromium()
const missing = missingForPerson()
const skip =
  missing.length > 0 ? `not installed: ${missing.join(', ')}` : 'missing' in chromium && chromium.missing

const waitForHeading = (page: Page, text: string | RegExp, timeout = 60_000) =>
  page.locator('h1', { hasText: text }).waitFor({ timeout })
/** All questions are over. A played person may have missed one. */
const isAnswered = (page: Page) => async () =>
  (await page.locator('.bar-foot').count()) > 0 &&
  (await page.locator('.bar-foot .dots i:not(.full, .missed)').count()) === 0

type Unit = {
  readonly n: number
  readonly quality: number
  readonly input: { readonly url: string }
  readonly answer: { readonly subject: string }
  readonly credential: { readonly credentialId: string; readonly pohf_jwt: string }
}

test(
  'an order of three units goes from its inputs to paid answers, and every sum is right on the way',
  { skip, timeout: 900_000 },
  async (t) => {
    assert.ok('path' in chromium)
    const journey = await startJourney(t, chromium.path)
    await placeOrder(journey)
    await payOrder(journey)
    const person = await enrolFirst(journey)
    const unitsByHand = await workByHand(journey, person)
    const faults = await enrolAndWorkByKeys(journey, quantity - unitsByHand)
    await journey.assertBalances({ ...zeroBalances, escrow: totalCents })
    const units = await checkResults(journey)
    await reviewUnits(journey, units)
    await appeal(journey, person)
    await decideAppeal(journey)
    const stars = unitsByHand * workflow.rewardStars
    await person.press('.top a[href^="/work/earnings"]')
    await waitForHeading(person.page, `You have ${stars} Stars, but none can be paid out yet.`)
    journey.log('the appeal is decided, the escrow is empty')
    await requestPayout(journey, person, stars)
    assert.deepEqual(faults, [])
  },
)

const placeOrder = async (journey: OrderJourney): Promise<void> => {
  const placed = await journey.call('POST', 'order', {
    taskType: workflow.id,
    quantity,
    instructions: 'We sell shoes. Name the shoe.',
    items: Array.from({ length: quantity }, (_, index) => ({
      url: `https://pictures.example/${index}.svg`,
    })),
  })
  journey.orderId = String(placed.orderId)
  await journey.assertBalances(zeroBalances)
}

const payOrder = async (journey: OrderJourney): Promise<void> => {
  const { orderId } = journey
  const { checkoutUrl } = await journey.call('POST', 'order/fund', { orderId })
  const payer = await journey.parts.browser.newPage()
  await payer.goto(String(checkoutUrl))
  await payer.click('text=/Pay 1.50 USD by card/')
  await pollUntil(
    'the order is funded',
    async () => (await journey.call('GET', `orders/${orderId}`)).status === 'funded',
  )
  await payer.close()
  await journey.assertBalances({ ...zeroBalances, escrow: totalCents })
  journey.log('ordered and paid')
}

/** An invited person enrols with a pointer and pixels, played at the level of the operating system. */
const enrolByHand = async (journey: OrderJourney, seed: number): Promise<Person> => {
  const invited = await invite(journey.parts.harness, journey.parts.home.apiKey)
  const person = await playPerson({
    url: invited.enrolUrl,
    seed,
    screen: phone,
    signal: AbortSignal.timeout(600_000),
  })
  after(() => person.close())
  const { page } = person
  await addVirtualAuthenticator(page)
  await servePictures(page)
  assert.deepEqual(await page.evaluate<number[]>('[innerWidth, innerHeight]'), [phone.width, phone.height])
  await person.press('input[name=agree]')
  await person.press('#step-consent button.main')
  await person.press('#step-codes button')
  for (const way of ['pointer', 'pointer', 'keys', 'keys'] as const) {
    await page.locator('#step-check pohf-check').waitFor()
    if (way === 'pointer') await person.passCheck()
    else await passCheckByKeys(page, person.key)
    const isDone = await page
      .locator('#step-done:visible')
      .waitFor({ timeout: 120_000 })
      .then(
        () => true,
        () => false,
      )
    journey.log(`enrolment, ${way}: ${isDone ? 'done' : await page.textContent('.result')}`)
    if (isDone) break
  }
  await person.press('#step-done a[href^="/work"]')
  journey.log('the first member is enrolled')
  return person
}

/** On a busy machine a played person may be refused for good, as anybody; then another one is invited. */
const enrolFirst = async (journey: OrderJourney): Promise<Person> => {
  try {
    return await enrolByHand(journey, 11)
  } catch (error) {
    journey.log(`the first person did not enrol: ${error instanceof Error ? error.message : String(error)}`)
    return await enrolByHand(journey, 12)
  }
}

type Way = 'pointer' | 'keys'
/** Whether it counted: on a busy machine a played person may miss questions, and is not paid, as anybody. */
const workOnce = async (
  journey: OrderJourney,
  person: Person,
  subject: string,
  way: Way,
): Promise<boolean> => {
  const { page } = person
  await person.press('.task .btn.main')
  await person.press(way === 'pointer' ? '.act .btn.main' : '[aria-describedby=words-why]')
  await page.locator('.answer').waitFor({ timeout: 120_000 })
  if (way === 'pointer') await person.answerQuestions(isAnswered(page))
  else await answerTextQuestions(page, undefined, person.key)
  await person.type('#f-subject', subject)
  await person.press('.bar-foot .btn.main')
  await page.locator('h1.said').waitFor({ timeout: 120_000 })
  const text = (await page.innerText('main')).replaceAll(/\s+/g, ' ')
  journey.log(`by hand, ${way}: ${text.slice(0, 400)}`)
  journey.log(`by hand, ${way}: ${await lastOutcomes(journey.parts.harness)}`)
  return text.startsWith('Handed in')
}

/** Works until two units count, at most three times. Returns how many counted. */
const workByHand = async (journey: OrderJourney, person: Person): Promise<number> => {
  const attempts: string[] = []
  let counted = 0
  let way: Way = 'pointer'
  for (let unit = 1; unit <= 3 && counted < 2; unit += 1) {
    const isCounted = await workOnce(journey, person, `boot ${unit}`, way)
    attempts.push(`${way} ${isCounted ? 'counted' : 'did not count'}`)
    if (isCounted) counted += 1
    else way = 'keys'
    await person.press('main > .act .btn')
    await person.page.locator('.tasks').waitFor({ timeout: 120_000, state: 'attached' })
  }
  journey.log(`units by hand: ${attempts.join(', ')}`)
  assert.ok(counted >= 1, 'somebody played by the operating system can work')
  await journey.assertBalances({ ...zeroBalances, escrow: totalCents })
  return counted
}

/** The second member uses the keyboard and words alone. Returns what went wrong in the page. */
const enrolAndWorkByKeys = async (journey: OrderJourney, units: number): Promise<readonly string[]> => {
  const { harness, browser, home, url } = journey.parts
  const { page, faults } = await openContext(browser, phone)
  await addVirtualAuthenticator(page)
  await servePictures(page)
  await page.goto((await invite(harness, home.apiKey)).enrolUrl)
  await page.locator('input[name=agree]').focus()
  await page.keyboard.press('Space')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.locator('#step-codes:visible').waitFor()
  await page.locator('#step-codes button').focus()
  await page.keyboard.press('Enter')
  await page.locator('#step-check:visible pohf-check').waitFor()
  await passCheckByKeys(page, pressIn(page))
  await page.locator('#step-done:visible').waitFor({ timeout: 120_000 })
  for (let n = quantity - units; n < quantity; n += 1) {
    await page.goto(`${url}/work`)
    await page.getByRole('button', { name: 'Take this task' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Begin without a pointer' }).focus()
    await page.keyboard.press('Enter')
    await page.locator('.answer').waitFor()
    await answerTextQuestions(page)
    await page.locator('#f-subject').focus()
    await page.keyboard.type(`shoe ${n + 1}`)
    await page.getByRole('button', { name: 'Hand in' }).focus()
    await page.keyboard.press('Enter')
    await waitForHeading(page, 'Handed in. Your check passed.')
  }
  journey.log('three units are handed in')
  return faults
}

/** The agent receives a webhook for each unit, and reads answers and credentials. */
const checkResults = async (journey: OrderJourney): Promise<readonly Unit[]> => {
  const { harness, receiver } = journey.parts
  await harness.runJobs()
  const events = receiver.received
    .map(({ body }) => JSON.parse(body) as { type: string; data: { n?: number; credentialId?: string } })
    .filter(({ type }) => type === 'order.unit_delivered')
  assert.deepEqual(new Set(events.map(({ data }) => data.n)), new Set([1, 2, 3]))
  assert.equal(events.length, quantity)
  const results = await journey.call('GET', `orders/${journey.orderId}/results`)
  assert.equal(results.status, 'delivered')
  const fromService: Fetch = async (address) => {
    const answer = await harness.call('GET', new URL(address).pathname)
    return new Response(answer.text, { status: answer.status })
  }
  const units = results.units as readonly Unit[]
  const subjects = new Set<string>()
  for (const unit of units) {
    assert.match(unit.answer.subject, /^(boot|shoe) \d$/)
    assert.equal(unit.input.url, `https://pictures.example/${unit.n - 1}.svg`)
    assert.equal(
      events.find(({ data }) => data.n === unit.n)?.data.credentialId,
      unit.credential.credentialId,
    )
    const checked = await verifyCredential(unit.credential.pohf_jwt, {
      issuer: harness.ctx.config.BASE_URL,
      policy: { kinds: ['work'], minAssurance: 'low', minQuality: 0.6, status: 'if-present' },
      fetch: fromService,
    })
    assert.ok(checked.ok, checked.ok ? '' : checked.message)
    assert.equal(checked.claims.test, undefined)
    subjects.add(checked.claims.sub)
    journey.log(`unit ${unit.n}: quality ${unit.quality}, ${checked.claims['assurance']}`)
  }
  assert.equal(subjects.size, 2, 'two people, each known to the buyer by one name')
  return units
}

const heldBalances = { escrow: 50, revenue: 50, backing: 50, vesting: 50 }

/** Two are accepted, one is not: one that was made by hand. */
const reviewUnits = async (journey: OrderJourney, units: readonly Unit[]): Promise<void> => {
  const path = `orders/${journey.orderId}/units`
  const rejected = units.find(({ answer }) => answer.subject.startsWith('boot'))?.n
  assert.ok(rejected !== undefined)
  let paid = 0
  for (const { n } of units.filter((unit) => unit.n !== rejected)) {
    await journey.call('POST', `${path}/${n}/accept`)
    paid += 1
    await journey.assertBalances({
      escrow: totalCents - paid * workflow.priceCents,
      revenue: paid * (workflow.priceCents - workflow.rewardStars),
      backing: paid * workflow.rewardStars,
      vesting: paid * workflow.rewardStars,
    })
  }
  const reason = { reason: 'wrong_answer', note: 'That is a sandal.' }
  await journey.call('POST', `${path}/${rejected}/reject`, reason)
  await journey.assertBalances(heldBalances)
}

/** The person reads why and appeals. */
const appeal = async (journey: OrderJourney, person: Person): Promise<void> => {
  const { page } = person
  await person.press('.top a[href^="/work/earnings"]')
  const row = await page.locator('.row', { hasText: 'not accepted' }).getAttribute('href')
  await person.press(`.row[href="${row}"]`)
  await waitForHeading(page, 'Your answer was not accepted.')
  assert.match((await page.textContent('main')) ?? '', /That is a sandal\./)
  await person.type('#appeal', 'It goes above the ankle.')
  await person.press('form button[type=submit]')
  await waitForHeading(page, 'Your appeal is waiting for a decision.')
  await journey.assertBalances(heldBalances)
}

/** An operator decides for the person. */
const decideAppeal = async (journey: OrderJourney): Promise<void> => {
  const { harness } = journey.parts
  const run = startMain(['operator', 'create', 'Ada'], {
    DATABASE_URL: harness.ctx.config.DATABASE_URL,
    DATA_DIR: harness.dataDir,
  })
  assert.equal(await run.exited, 0, run.errors())
  const { operatorKey } = JSON.parse(run.out()) as { operatorKey: string }
  const operate = async (method: string, path: string, body?: unknown) => {
    const answer = await harness.callOperator(method, `/operator/${path}`, {
      key: operatorKey,
      ...(body === undefined ? {} : { body }),
    })
    assert.equal(answer.status, 200, answer.text)
    return answer.json
  }
  const { appeals } = await operate('GET', 'appeals')
  assert.equal(appeals.length, 1)
  await operate('POST', `appeals/${appeals[0].assignmentId}/decide`, {
    decision: 'accepted',
    reason: 'The picture shows a boot.',
  })
  await journey.assertBalances({ escrow: 0, revenue: 75, backing: 75, vesting: 75 })
  const order = await journey.call('GET', `orders/${journey.orderId}`)
  assert.equal(order.status, 'completed')
  assert.deepEqual(order.escrow, { status: 'released', heldUsd: 0, paidUsd: 1.5, returnedUsd: 0 })
}

/** The waiting time passes; the person signs in again and requests the payout. */
const requestPayout = async (journey: OrderJourney, person: Person, stars: number): Promise<void> => {
  const { harness } = journey.parts
  const { page } = person
  await harness.advance(15 * 86_400_000)
  await harness.runJobs()
  assert.equal(await journey.vestingStars(), 0)
  await page.reload()
  await page.locator('h1').waitFor()
  await person.press('.act .btn.main')
  await waitForHeading(page, `Ready to be paid out: ${stars} Stars.`)
  const earned = (stars / 100).toFixed(2)
  const hourly = `You earned ${earned} USD in [\\w ]+ of accepted recordings: about [\\d.,]+ USD per hour\\.`
  await page.locator('p', { hasText: new RegExp(hourly) }).waitFor()
  await page.locator('#account-no-live').fill('DE89 3704 0044 0532 0130 00')
  await person.press('.payout button[type=submit]')
  await page.locator('.note.ok').waitFor({ timeout: 120_000 })
  assert.deepEqual(await ledgerFaults(harness), [])
  const { rows } = await harness.owner.query('select stars::int as stars, state from payout_requests')
  assert.deepEqual(rows, [{ stars, state: 'queued' }])
}

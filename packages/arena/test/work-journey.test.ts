// The whole way of an order. An agent orders three units with its own inputs; a person pays on the hosted page; two
// members do the work on a phone-size screen; the agent reads three answers with three credentials, accepts two and
// rejects one; the person appeals and an operator decides; the escrow is empty and the Stars vest and are asked for.
//
// Who plays whom: the first member is played at the level of the operating system, with a pointer and pixels (arena), and
// enrols that way too. The second goes the accessible way, by keyboard and words, in a headless browser that hides that
// it is driven. The payer is a plain driven browser: paying is not judged.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { startCheckoutSimulator } from '@pohf/checkout-simulator'
import { probeOutcomes } from '@pohf/protocol/probes'
import { readChunk } from '@pohf/protocol/telemetry'
import { verifyCredential, type Fetch } from '@pohf/verify'
import { findChromium, launch } from '../../web/test/browser.ts'
import { answerTextQuestions, openContext, phone, servePictures } from '../../web/test/worker-browser.ts'
import { startWorkerFixture } from '../../web/test/worker-fixture.ts'
import { platformAgentId } from '../../server/src/agents/index.ts'
import { inTransaction } from '../../server/src/platform/db/db.ts'
import { readRecords } from '../../server/src/sessions/index.ts'
import { ledgerFaults } from '../../server/test/fixtures/payments/ledger.ts'
import { startMain } from '../../server/test/fixtures/processes/child-processes.ts'
import type { Harness } from '../../server/test/fixtures/harness.ts'
import { invite, registerConfirmedAgent } from '../../server/test/fixtures/people/member.ts'
import { startReceiver } from '../../server/test/fixtures/webhook-receiver.ts'
import { pollUntil } from '../../server/test/fixtures/polling.ts'
import { subscribe } from '../../server/test/fixtures/webhooks.ts'
import { missingForPerson, playPerson } from '../src/index.ts'

const chromium = findChromium()
const missing = missingForPerson()
const skip =
  missing.length > 0 ? `not installed: ${missing.join(', ')}` : 'missing' in chromium && chromium.missing

/** What a unit costs and pays, as the workflow says; the rest is the service's. */
const workflow = { id: 'wf_photo_label', priceCents: 50, rewardStars: 25 }
const quantity = 3

const authenticator = {
  protocol: 'ctap2',
  transport: 'internal',
  hasResidentKey: true,
  hasUserVerification: true,
  isUserVerified: true,
  automaticPresenceSimulation: true,
} as const
/** The device's own authenticator: it makes and keeps passkeys, and nothing else goes through here. */
const addVirtualAuthenticator = async (page: Page): Promise<void> => {
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('WebAuthn.enable')
  await devtools.send('WebAuthn.addVirtualAuthenticator', { options: authenticator })
}
const waitForHeading = (page: Page, text: string | RegExp, timeout = 60_000) =>
  page.locator('h1', { hasText: text }).waitFor({ timeout })
const isAnswered = (page: Page) => async () =>
  (await page.locator('.bar-foot').count()) > 0 &&
  (await page.locator('.bar-foot .dots i:not(.full)').count()) === 0

test(
  'an order of three units goes from its inputs to paid answers, and every sum is right on the way',
  { skip, timeout: 900_000 },
  async (t) => {
    assert.ok('path' in chromium)
    const startedAt = performance.now()
    const log = (text: string) =>
      t.diagnostic(`${((performance.now() - startedAt) / 1_000).toFixed(0)} s: ${text}`)
    const { harness, url } = await startWorkerFixture(async (address) => {
      const standIn = await startCheckoutSimulator({ webhookUrl: `${address}/api/payments/card/webhook` })
      after(() => standIn.stop())
      return standIn.settings
    })
    const browser = await launch(chromium.path)
    after(() => browser.close())

    const [buyer, home] = [
      await registerConfirmedAgent(harness, 'live', 'buyer@example.com'),
      await registerConfirmedAgent(harness, 'live', 'home@example.com'),
    ]
    const receiver = await startReceiver()
    await subscribe(harness, buyer, receiver.url)
    const ask = async (method: string, path: string, body?: unknown) => {
      const answer = await harness.call(method, `/api/agents/${path}`, {
        key: buyer.apiKey,
        ...(body === undefined ? {} : { body }),
      })
      assert.equal(answer.status, 200, answer.text)
      return answer.json
    }
    const balance = async (agentId: string, like: string, unit: string): Promise<number> => {
      const { rows } = await harness.owner.query<{ sum: string | null }>(
        'select sum(balance) as sum from ledger_accounts where agent_id = $1 and account like $2 and unit = $3',
        [agentId, like, unit],
      )
      return Number(rows[0]?.sum ?? 0)
    }
    const agentId = platformAgentId(harness.ctx.config, 'live')
    let orderId = ''
    /** Where the money and the Stars are, with every book added up. */
    const assertBalances = async (expected: {
      escrow: number
      revenue: number
      backing: number
      vesting: number
    }) => {
      assert.deepEqual(
        {
          escrow: await balance(buyer.agentId, `escrow:${orderId}`, 'usd_cent'),
          revenue: await balance(buyer.agentId, 'revenue:work', 'usd_cent'),
          backing: await balance(buyer.agentId, 'backing:stars', 'usd_cent'),
          vesting: await balance(agentId, 'vesting:%', 'star'),
        },
        expected,
      )
      assert.deepEqual(await ledgerFaults(harness), [])
    }
    const zeroBalances = { escrow: 0, revenue: 0, backing: 0, vesting: 0 }
    const all = quantity * workflow.priceCents

    // The agent orders.
    const placed = await ask('POST', 'order', {
      taskType: workflow.id,
      quantity,
      instructions: 'We sell shoes. Name the shoe.',
      items: Array.from({ length: quantity }, (_, index) => ({
        url: `https://pictures.example/${index}.svg`,
      })),
    })
    orderId = String(placed.orderId)
    await assertBalances(zeroBalances)
    // A person pays.
    const { checkoutUrl } = await ask('POST', 'order/fund', { orderId })
    const payer = await browser.newPage()
    await payer.goto(String(checkoutUrl))
    await payer.click('text=/Pay 1.50 USD by card/')
    await pollUntil(
      'the order is funded',
      async () => (await ask('GET', `orders/${orderId}`)).status === 'funded',
    )
    await payer.close()
    await assertBalances({ ...zeroBalances, escrow: all })
    log('ordered and paid')

    // The first member enrols and works, by hand and eye.
    const invited = await invite(harness, home.apiKey)
    const person = await playPerson({
      url: invited.enrolUrl,
      seed: 11,
      screen: phone,
      signal: AbortSignal.timeout(600_000),
    })
    after(() => person.close())
    const { page: own } = person
    await addVirtualAuthenticator(own)
    await servePictures(own)
    assert.deepEqual(await own.evaluate<number[]>('[innerWidth, innerHeight]'), [phone.width, phone.height])
    await person.press('input[name=agree]')
    await person.press('#step-consent button.main')
    await person.press('#step-codes button')
    const checkWays = ['pointer', 'pointer', 'keys', 'keys'] as const
    for (const checkWay of checkWays) {
      await own.locator('#step-check pohf-check').waitFor()
      if (checkWay === 'pointer') await person.passCheck()
      else await passCheckByKeys(own, person.key)
      const isDone = await own
        .locator('#step-done:visible')
        .waitFor({ timeout: 20_000 })
        .then(
          () => true,
          () => false,
        )
      log(`enrolment, ${checkWay}: ${isDone ? 'done' : await own.textContent('.result')}`)
      if (isDone) break
    }
    await person.press('#step-done a[href^="/work"]')
    log('the first member is enrolled')

    /** Whether it counted: on a busy machine a played person may miss questions, and is not paid, as anybody. */
    const workByHand = async (subject: string, way: 'pointer' | 'keys'): Promise<boolean> => {
      await person.press('.task .btn.main')
      await person.press(way === 'pointer' ? '.act .btn.main' : '[aria-describedby=words-why]')
      await own.locator('.answer').waitFor({ timeout: 60_000 })
      if (way === 'pointer') await person.answerQuestions(isAnswered(own))
      else await answerTextQuestions(own, undefined, person.key)
      await person.type('#f-subject', subject)
      await person.press('.bar-foot .btn.main')
      await own.locator('h1.said').waitFor({ timeout: 90_000 })
      const text = (await own.innerText('main')).replaceAll(/\s+/g, ' ')
      const isCounted = text.startsWith('Handed in')
      log(`by hand, ${way}: ${text.slice(0, 400)}`)
      log(`by hand, ${way}: ${await lastOutcomes(harness)}`)
      units.push(`${way} ${isCounted ? 'counted' : 'did not count'}`)
      return isCounted
    }
    const units: string[] = []
    let byHand = 0
    let way: 'pointer' | 'keys' = 'pointer'
    for (let unit = 1; unit <= 3 && byHand < 2; unit += 1) {
      if (await workByHand(`boot ${unit}`, way)) byHand += 1
      else way = 'keys'
      await person.press('main > .act .btn')
      await own.locator('.tasks').waitFor({ timeout: 60_000, state: 'attached' })
    }
    log(`units by hand: ${units.join(', ')}`)
    assert.ok(byHand >= 1, 'somebody played by the operating system can work')
    await assertBalances({ ...zeroBalances, escrow: all })

    // The second member goes the accessible way.
    const other = await openContext(browser, phone)
    await addVirtualAuthenticator(other.page)
    await servePictures(other.page)
    const second = other.page
    await second.goto((await invite(harness, home.apiKey)).enrolUrl)
    await second.locator('input[name=agree]').focus()
    await second.keyboard.press('Space')
    await second.keyboard.press('Tab')
    await second.keyboard.press('Enter')
    await second.locator('#step-codes:visible').waitFor()
    await second.locator('#step-codes button').focus()
    await second.keyboard.press('Enter')
    await second.locator('#step-check:visible pohf-check').waitFor()
    await passCheckByKeys(second, (name) => second.keyboard.press(name === 'Return' ? 'Enter' : name))
    await second.locator('#step-done:visible').waitFor({ timeout: 30_000 })
    for (let n = byHand; n < quantity; n += 1) {
      await second.goto(`${url}/work`)
      await second.getByRole('button', { name: 'Take this task' }).focus()
      await second.keyboard.press('Enter')
      await second.getByRole('button', { name: 'Begin without a pointer' }).focus()
      await second.keyboard.press('Enter')
      await second.locator('.answer').waitFor()
      await answerTextQuestions(second)
      await second.locator('#f-subject').focus()
      await second.keyboard.type(`shoe ${n + 1}`)
      await second.getByRole('button', { name: 'Hand in' }).focus()
      await second.keyboard.press('Enter')
      await waitForHeading(second, 'Handed in. A person did this.')
    }
    log('three units are handed in')
    await assertBalances({ ...zeroBalances, escrow: all })

    // The agent hears of each by webhook, and reads answers and proofs.
    await harness.work()
    const told = receiver.received
      .map(({ body }) => JSON.parse(body) as { type: string; data: { n?: number; credentialId?: string } })
      .filter(({ type }) => type === 'order.unit_delivered')
    assert.deepEqual(new Set(told.map(({ data }) => data.n)), new Set([1, 2, 3]))
    assert.equal(told.length, quantity)
    const results = await ask('GET', `orders/${orderId}/results`)
    assert.equal(results.status, 'delivered')
    const fromService: Fetch = async (address) => {
      const answer = await harness.call('GET', new URL(address).pathname)
      return new Response(answer.text, { status: answer.status })
    }
    const subjects = new Set<string>()
    for (const unit of results.units) {
      assert.match(unit.answer.subject, /^(boot|shoe) \d$/)
      assert.equal(unit.input.url, `https://pictures.example/${unit.n - 1}.svg`)
      assert.equal(
        told.find(({ data }) => data.n === unit.n)?.data.credentialId,
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
      log(`unit ${unit.n}: quality ${unit.quality}, ${checked.claims['assurance']}`)
    }
    assert.equal(subjects.size, 2, 'two people, each known to the buyer by one name')

    // Two are accepted, one is not: one that was made by hand.
    const refused = results.units.find((unit: { answer: { subject: string } }) =>
      unit.answer.subject.startsWith('boot'),
    ).n as number
    let paid = 0
    for (const { n } of results.units.filter((unit: { n: number }) => unit.n !== refused)) {
      await ask('POST', `orders/${orderId}/units/${n}/accept`)
      paid += 1
      await assertBalances({
        escrow: all - paid * workflow.priceCents,
        revenue: paid * (workflow.priceCents - workflow.rewardStars),
        backing: paid * workflow.rewardStars,
        vesting: paid * workflow.rewardStars,
      })
    }
    await ask('POST', `orders/${orderId}/units/${refused}/reject`, {
      reason: 'wrong_answer',
      note: 'That is a sandal.',
    })
    const held = { escrow: 50, revenue: 50, backing: 50, vesting: 50 }
    await assertBalances(held)

    // The person reads why and appeals.
    await person.press('.top a[href^="/work/earnings"]')
    const row = await own.locator('.row', { hasText: 'not accepted' }).getAttribute('href')
    await person.press(`.row[href="${row}"]`)
    await waitForHeading(own, 'The buyer did not accept it.')
    assert.match((await own.textContent('main')) ?? '', /That is a sandal\./)
    await person.type('#appeal', 'It goes above the ankle.')
    await person.press('form button[type=submit]')
    await waitForHeading(own, 'A person of this service is looking at it.')
    await assertBalances(held)

    // An operator decides for the person.
    const run = startMain(['operator', 'create', 'Ada'], {
      DATABASE_URL: harness.ctx.config.DATABASE_URL,
      DATA_DIR: harness.dataDir,
    })
    assert.equal(await run.exited, 0, run.errors())
    const { operatorKey } = JSON.parse(run.out()) as { operatorKey: string }
    const operate = async (method: string, path: string, body?: unknown) => {
      const answer = await harness.operate(method, `/operator/${path}`, {
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
    await assertBalances({ escrow: 0, revenue: 75, backing: 75, vesting: 75 })
    const order = await ask('GET', `orders/${orderId}`)
    assert.equal(order.status, 'completed')
    assert.deepEqual(order.escrow, { status: 'released', heldUsd: 0, paidUsd: 1.5, returnedUsd: 0 })
    await person.press('.top a[href^="/work/earnings"]')
    await waitForHeading(
      own,
      `${byHand * workflow.rewardStars} Stars wait, nothing is ready to be paid out yet.`,
    )
    log('the appeal is decided, the escrow is empty')

    // The waiting time passes; the person signs in again and asks for the payout.
    await harness.advance(15 * 86_400_000)
    await harness.work()
    assert.equal(await balance(agentId, 'vesting:%', 'star'), 0)
    await own.reload()
    await own.locator('h1').waitFor()
    await person.press('.act .btn.main')
    await waitForHeading(own, `${byHand * workflow.rewardStars} Stars are ready to be paid out.`)
    await person.press('.payout button[type=submit]')
    await own.locator('.note.ok').waitFor({ timeout: 30_000 })
    assert.deepEqual(await ledgerFaults(harness), [])
    const { rows } = await harness.owner.query('select stars::int as stars, state from payout_requests')
    assert.deepEqual(rows, [{ stars: byHand * workflow.rewardStars, state: 'queued' }])
    assert.deepEqual(other.faults, [])
  },
)

/** How each question of the last session was answered, and after how long. */
const lastOutcomes = async (harness: Harness): Promise<string> => {
  const { rows } = await harness.owner.query<{ agent_id: `agt_${string}`; session_id: string }>(
    'select agent_id, session_id from session_recorders order by at desc limit 1',
  )
  assert.ok(rows[0])
  const { agent_id: agentId, session_id: sessionId } = rows[0]
  const opened = await inTransaction(harness.ctx, agentId, (tx) =>
    readRecords(tx, harness.ctx, { agentId, mode: 'live', sessionId }),
  )
  const records = (opened?.records ?? []).flatMap(({ chunk: text, receivedAt, after: told }) => {
    const chunk = readChunk(text)
    return chunk ? [{ chunk, receivedAt, after: told }] : []
  })
  return probeOutcomes(records)
    .map(({ result, reactionMs }) => (reactionMs === null ? result : `${result} after ${reactionMs} ms`))
    .join(', ')
}

type Press = (name: string) => Promise<void>

/** Goes on with Tab until the focus is where it is wanted. */
const tabUntil = (page: Page, press: Press, isThere: string): Promise<true> =>
  pollUntil('Tab comes there', async () => {
    if (await page.evaluate<boolean>(isThere)) return true
    await press('Tab')
    return false
  })

/** The check of enrolment by its words, with keys alone. */
const passCheckByKeys = async (page: Page, press: Press): Promise<void> => {
  await tabUntil(page, press, "document.activeElement?.localName === 'pohf-check'")
  await press('Return')
  await page.locator('pohf-check dialog.ask').waitFor()
  const inCheck = "document.querySelector('pohf-check').shadowRoot"
  await tabUntil(
    page,
    press,
    `${inCheck}.activeElement === ${inCheck}.querySelectorAll('.actions button')[1]`,
  )
  await press('Return')
  const read = `(() => {
    const dialog = document.querySelector('pohf-check')?.shadowRoot.querySelector('dialog')
    if (!dialog) return null
    return { runs: dialog.querySelector('.bar.runs') !== null, title: dialog.querySelector('h2').textContent, choices: [...dialog.querySelectorAll('.choice')].map((one) => one.lastChild.textContent) }
  })()`
  let last = ''
  await pollUntil(
    'the check ends',
    async () => {
      const seen = await page.evaluate<{ runs: boolean; title: string; choices: string[] } | null>(read)
      if (seen === null) return true
      if (!seen.runs || seen.title === last) return false
      last = seen.title
      await page.waitForTimeout(500)
      await press(String(seen.choices.findIndex((word) => seen.title.includes(word)) + 1))
      return false
    },
    90_000,
  )
}

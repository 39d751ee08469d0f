import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Browser, Page } from 'playwright-core'
import { expectedAnswerOf } from '../../server/src/sessions/recording/probes.ts'
import type { RecordingState } from '../../server/src/sessions/recording/state.ts'
import { makeAdministration, approverLink } from '../../server/test/fixtures/people/approvals.ts'
import { makePasskey } from '../../server/test/fixtures/people/authenticator.ts'
import { credentialOf } from '../../server/test/fixtures/people/browser-key.ts'
import { openBrowser } from '../../server/test/fixtures/people/member.ts'
import { pollUntil } from '../../server/test/fixtures/polling.ts'
import { findChromium, launch } from './browser.ts'
import { openContext, phone, type View } from './worker-browser.ts'
import { startWorkerFixture } from './worker-fixture.ts'

type Fixture = Awaited<ReturnType<typeof startWorkerFixture>>
type Administration = Awaited<ReturnType<typeof makeAdministration>>

/** The reference's example: what an administrator registers for payments. */
const invoiceType = {
  title: 'Pay an invoice',
  schema: {
    type: 'object',
    properties: { amount: {}, recipient: {}, iban: {}, invoice: {}, memo: {}, method: {} },
  },
  labels: {
    '/amount': 'Amount',
    '/recipient': 'Recipient',
    '/iban': 'IBAN',
    '/invoice': 'Invoice',
    '/memo': 'Memo',
    '/method': 'Method',
  },
  critical: ['/amount', '/recipient', '/iban'],
  policy: { quorum: 1, minSeconds: 2, passkey: 'any', delaySeconds: 0 },
}
export const invoice = {
  amount: '$4,850.00',
  recipient: 'Northwind Paper GmbH',
  iban: 'DE89370400440532013000',
  invoice: '2026-1187',
  memo: 'Newsprint, October \u202edelivery 44',
  method: 'International wire, cannot be recalled',
}

type Team = { readonly fixture: Fixture; readonly browser: Browser; readonly administration: Administration }
let people = 0
/** A person who was invited by mail and enrolled with a passkey, which is in the authenticator of their own browser. */
const openApprover = async (
  { fixture: { harness, url }, browser, administration }: Team,
  view: View,
  driven: boolean,
) => {
  people += 1
  const email = `page-${people}@people.example`
  const name = people % 2 === 1 ? 'Mara Lindqvist' : 'Jonas Weber'
  const invited = await administration.invite(email, name)
  assert.equal(invited.status, 200, invited.text)
  const person = openBrowser(harness)
  const passkey = makePasskey()
  const agreed = await person.agree((await approverLink(harness, email)) ?? '', passkey)
  assert.equal(agreed.status, 200, agreed.text)
  const { context, page, faults } = await openContext(browser, view, driven)
  context.setDefaultTimeout(30_000)
  const devtools = await context.newCDPSession(page)
  await devtools.send('WebAuthn.enable')
  const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  const credential = { ...credentialOf(passkey, 'localhost'), isResidentCredential: true, userHandle: 'AAAA' }
  await devtools.send('WebAuthn.addCredential', { authenticatorId, credential })
  const [cookie = '', value = ''] = (person.cookie() ?? '').split('=')
  const place = { domain: 'localhost', path: '/', secure: true, httpOnly: true, sameSite: 'Strict' } as const
  await context.addCookies([{ name: cookie, value, ...place }])
  return {
    approver: invited.json.approver as string,
    context,
    page,
    faults,
    devtools,
    open: (approvalId: string) => page.goto(`${url}/approve/${approvalId}`),
  }
}
type OpenedApprover = Awaited<ReturnType<typeof openApprover>>

export const heading = (page: Page, text: string | RegExp) => page.locator('h1', { hasText: text }).waitFor()

/** A person's finger rests on the button; a press of no time is a program's. */
const pressMs = 90

/** A part of the box with the questions, once it is there. */
const inBox = (page: Page, selector: string) => page.locator(`pohf-questions ${selector}`)

/** Asks for a question in words and answers it by its number. `press` is by keyboard or by pointer. */
export const answerInWords = async (page: Page, ask: () => Promise<void>): Promise<void> => {
  await ask()
  await inBox(page, '[data-state=choose] .bar.runs, .w[data-state=choose] .bar.runs').first().waitFor()
  const title = await inBox(page, '#title').textContent()
  const choices = await inBox(page, '.choice').allTextContents()
  await sleep(500)
  const index = choices.findIndex((choice) => (title ?? '').includes(choice.replace(/^\d/, '')))
  assert.ok(index >= 0, `${title}: ${choices.join(', ')}`)
  await page.keyboard.press(String(index + 1))
  await inBox(page, '.w[data-state=passed]').waitFor()
}

export const answerByWordsButton = (page: Page): Promise<void> =>
  answerInWords(page, () => inBox(page, '.other').click())

const scheduleOf = async ({ harness }: Fixture, sessionId: string) => {
  const { rows } = await harness.owner.query<{ state: RecordingState }>(
    'select state from session_recorders where session_id = $1',
    [sessionId],
  )
  assert.ok(rows[0])
  return rows[0].state.schedule
}

const movementMs = 560
/**
 * Moves as a hand does: slow, fast, slow, on a curve, with a tremor. Presses to which no path leads are scored as those of the
 * script that they are. On a busy machine there are fewer steps, and the movement takes no longer.
 */
const moveByHand = async (
  page: Page,
  [fromX, fromY]: readonly [number, number],
  [toX, toY]: readonly [number, number],
): Promise<void> => {
  const startedAt = performance.now()
  for (let time = 0; time < 1;) {
    await sleep(12 + Math.random() * 12)
    time = Math.min(1, (performance.now() - startedAt) / movementMs)
    const way = time ** 3 * (10 - 15 * time + 6 * time ** 2)
    const bend = Math.sin(Math.PI * way) * 14 + (time < 1 ? Math.random() * 1.6 - 0.8 : 0)
    await page.mouse.move(fromX + (toX - fromX) * way + bend * 0.5, fromY + (toY - fromY) * way + bend)
  }
}

/**
 * Asks for the picture and presses the open ring, as a person who looks does. The right place comes from the server's own
 * state.
 */
export const answerByPointing = async (page: Page, fixture: Fixture, sessionId: string): Promise<void> => {
  const button = await inBox(page, '.ask').boundingBox()
  assert.ok(button)
  const ask = [button.x + button.width / 2, button.y + button.height / 2] as const
  await moveByHand(page, [ask[0] - 60, ask[1] - 140], ask)
  await inBox(page, '.ask').click({ delay: pressMs })
  await inBox(page, '.w[data-state=point] .bar.runs').waitFor()
  const { open } = await scheduleOf(fixture, sessionId)
  assert.ok(open)
  const truth = expectedAnswerOf(open.probe)
  assert.ok(truth.kind === 'point')
  const box = await inBox(page, 'canvas').boundingBox()
  assert.ok(box)
  await sleep(400)
  const at = [box.x + (truth.x * box.width) / 320, box.y + (truth.y * box.height) / 200] as const
  await moveByHand(page, ask, at)
  await page.mouse.down()
  await sleep(pressMs)
  await page.mouse.up()
  await pollUntil('the answer is counted', async () => {
    const { hits } = await scheduleOf(fixture, sessionId)
    return hits > 0 ? hits : undefined
  })
  await inBox(page, '.w[data-state=passed]').waitFor()
}

/** The session of the page that opens next. */
export const nextSession = (page: Page): Promise<string> =>
  page
    .waitForResponse((response) => response.url().endsWith('/api/sessions'))
    .then(async (response) => ((await response.json()) as { sessionId: string }).sessionId)

export type Opened = {
  readonly fixture: Fixture
  readonly administration: Administration
  readonly person: OpenedApprover
  /** Opens another person of the same team. */
  readonly another: (view?: View) => Promise<OpenedApprover>
  /** A request that waits for these people; gives its id. */
  readonly request: (body?: object, approvers?: readonly OpenedApprover[]) => Promise<string>
}

let requests = 0
const sendRequest = async (
  administration: Administration,
  approvers: readonly OpenedApprover[],
  more: object,
): Promise<string> => {
  requests += 1
  const answer = await administration.request({
    type: 'invoice.pay',
    action: invoice,
    requestId: `invoice-${requests}`,
    approvers: approvers.map(({ approver }) => approver),
    title: 'October newsprint',
    summary: 'Matches purchase order 5521 and the delivery note.',
    ...more,
  })
  assert.equal(answer.status, 200, answer.text)
  return answer.json.approvalId as string
}

/** Tests with a team that has the action type of invoices, and one enrolled person in a browser of their own. */
export const createApproverTest = async () => {
  const chromium = findChromium()
  const skip = 'missing' in chromium ? chromium.missing : false
  const fixture = skip === false ? await startWorkerFixture() : undefined
  const browser = 'path' in chromium ? await launch(chromium.path) : undefined
  after(() => browser?.close())
  const inBrowser = (
    name: string,
    view: View,
    body: (opened: Opened) => Promise<void>,
    driven = false,
  ): void =>
    void test(name, { skip }, async () => {
      assert.ok(fixture && browser)
      fixture.line.cut = undefined
      const administration = await makeAdministration(fixture.harness, 'test')
      const written = await administration.administer('POST', 'approval-types/invoice.pay', invoiceType)
      assert.equal(written.status, 200, written.text)
      const team = { fixture, browser, administration }
      const person = await openApprover(team, view, driven)
      const people = [person]
      const another = async (of = view) => {
        const opened = await openApprover(team, of, false)
        people.push(opened)
        return opened
      }
      try {
        await body({
          fixture,
          administration,
          person,
          another,
          request: (more = {}, approvers = [person]) => sendRequest(administration, approvers, more),
        })
        for (const { faults } of people)
          assert.deepEqual(faults, [], 'the page ran without a fault and within its policy')
      } catch (error) {
        const shown = await Promise.all(people.map(({ page }) => page.locator('body').innerText()))
        throw new Error(`the pages say: ${shown.join('\n--\n')}`, { cause: error })
      } finally {
        for (const { context } of people) await context.close()
      }
    })
  return { inBrowser, skip, fixture, browser }
}

/** Also while it is off: it leads to what is missing then. */
export const approve = (page: Page) => page.locator('.yes').click({ force: true, delay: pressMs })
export const readyToApprove = (page: Page) => page.locator('.yes[aria-disabled=false]').waitFor()
/** The phone of the reference. */
export const referencePhone: View = { ...phone, width: 390 }

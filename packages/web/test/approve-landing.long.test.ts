import assert from 'node:assert/strict'
import {
  answerByWordsButton,
  approve,
  createApproverTest,
  heading,
  readyToApprove,
  referencePhone,
} from './approver-browser.ts'
import { checkPage, desktop } from './worker-browser.ts'

// Where the link of a mail leads to, for people who cannot decide what it names.
const { inBrowser } = await createApproverTest()

inBrowser(
  'without a passkey: the page says that the invitation makes one',
  referencePhone,
  async (opened) => {
    const { page, context, devtools } = opened.person
    await context.clearCookies()
    const approvalId = await opened.request()
    await opened.person.open(approvalId)
    await page.getByRole('heading', { name: 'No passkey yet?' }).waitFor()
    await page.getByText('Open the link in your invitation mail.').waitFor()
    await page.getByRole('link', { name: 'Use a recovery code' }).waitFor()
    // A device without one for this service.
    await devtools.send('WebAuthn.disable')
    await devtools.send('WebAuthn.enable')
    await page.evaluate(
      `CredentialsContainer.prototype.get = () => Promise.reject(new DOMException('', 'NotAllowedError'))`,
    )
    await page.getByRole('button', { name: 'Sign in with your passkey' }).click()
    await page.getByText('Your device did not complete this.').waitFor()
    await checkPage(page, 'landing-no-passkey')
  },
)

inBrowser(
  'another person is signed in: the page leads to the other passkey',
  referencePhone,
  async (opened) => {
    const stranger = await opened.another()
    const approvalId = await opened.request()
    const { page } = stranger
    await stranger.open(approvalId)
    await heading(page, 'There is no such request, or it is not for you.')
    await page.getByText('The request is for another passkey').waitFor()
    await checkPage(page, 'landing-not-yours')
    const ofNobody = await page.locator('main').innerText()
    await page.goto(`${opened.fixture.url}/approve/apl_none`)
    await heading(page, 'There is no such request, or it is not for you.')
    assert.equal(await page.locator('main').innerText(), ofNobody, 'whether a request exists is not told')
    await stranger.open(approvalId)
    await page.getByRole('button', { name: 'Sign in with another passkey' }).click()
    await heading(page, 'Requests that wait for your decision.')
    assert.equal(
      new URL(page.url()).pathname,
      `/approve/${approvalId}`,
      'the request of the mail is still the next page',
    )
    const { status } = await page.request
      .get(`${opened.fixture.url}/api/approve/approvals`)
      .then((answer) => ({ status: answer.status() }))
    assert.equal(status, 401)
  },
)

inBrowser(
  'nothing waits: the page says why a request can be missing, and a lost line is told',
  desktop,
  async (opened) => {
    const { page } = opened.person
    await page.goto(`${opened.fixture.url}/approve`)
    await heading(page, 'Nothing waits for you.')
    await page
      .getByText('somebody else has decided it, its time is over, or it is for another passkey')
      .waitFor()
    await checkPage(page, 'landing-empty')
    opened.fixture.line.cut = /sign-out/
    await page.getByRole('button', { name: 'Sign in with another passkey' }).click()
    await page.getByText('The service did not answer.').waitFor()
    await heading(page, 'Nothing waits for you.')
  },
)

inBrowser(
  'a person who was removed sees no request, also one that waited',
  referencePhone,
  async (opened) => {
    const { page, approver } = opened.person
    const approvalId = await opened.request()
    const removed = await opened.administration.administer('DELETE', `approvers/${approver}`)
    assert.equal(removed.status, 200, removed.text)
    await opened.person.open(approvalId)
    await heading(page, 'There is no such request, or it is not for you.')
    await page.getByText('You are no longer an approver of this agent.').waitFor()
  },
)

inBrowser(
  'a passkey that this request does not take is named before and after the attempt',
  referencePhone,
  async (opened) => {
    const { page } = opened.person
    await opened.person.open(await opened.request({ policy: { passkey: 'device_bound' } }))
    await page.getByText('Only one in hardware that does not copy it').waitFor()
    await answerByWordsButton(page)
    await readyToApprove(page)
    await approve(page)
    await page.getByText('If you have one, press Approve again and use it.').waitFor()
    await checkPage(page, 'landing-hardware')
  },
)

import { passCheckByKeys, pressIn } from '../../../packages/arena/src/browser/stealth.ts'
import { plugInKey } from '../../../packages/server/test/fixtures/people/browser-key.ts'
import { stepUpMessages } from '../../../packages/server/src/evidence/devices/step-up-page.ts'
import type { launch } from '../../../packages/web/test/browser.ts'
import { answerTextQuestions, tabTo } from '../../../packages/web/test/worker-browser.ts'
import type { Deployment } from './deployment.ts'
import { openNetwork } from './network.ts'

export type Browser = Awaited<ReturnType<typeof launch>>
type Page = Awaited<ReturnType<Browser['newPage']>>

const userAgent =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36'
/** A busy machine makes a person late for a question: whoever fails tries again, as people do. */
const attemptsMax = 3
/** How long the service may take to score a check. */
const attentionMsMax = 30_000

/** Passkeys as most people have them: in the phone or the computer, and synced. */
export const addSyncedPasskeys = async (page: Page): Promise<void> => {
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('WebAuthn.enable')
  await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
      defaultBackupEligibility: true,
      defaultBackupState: true,
    },
  })
}

const pressButton = async (page: Page, name: string): Promise<void> => {
  await page.getByRole('button', { name }).focus()
  await page.keyboard.press('Enter')
}

/** Opens the enrolment, agrees, makes a passkey, keeps the codes and answers the questions. */
const enrol = async (page: Page, enrolUrl: string): Promise<void> => {
  await page.goto(enrolUrl)
  await tabTo(page, 'input[name=agree]')
  await page.keyboard.press('Space')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.locator('#step-codes:visible').waitFor()
  await tabTo(page, '#step-codes button')
  await page.keyboard.press('Enter')
  for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
    await page.locator('#step-check:visible pohf-check').waitFor()
    await passCheckByKeys(page, pressIn(page))
    const isDone = await page
      .locator('#step-done:visible')
      .waitFor({ timeout: attentionMsMax })
      .then(
        () => true,
        () => false,
      )
    if (isDone) return
  }
  throw new Error(`the enrolment did not end: ${await page.textContent('.result')}`)
}

/** Takes a unit, does it and hands it in; false where the recording did not show a person. */
const workOnce = async (page: Page, origin: string, answer: string): Promise<boolean> => {
  await page.goto(`${origin}/work`)
  await pressButton(page, 'Take this task')
  await pressButton(page, 'Begin without a pointer')
  await page.locator('.answer').waitFor()
  await answerTextQuestions(page)
  await page.locator('#f-judgement').focus()
  await page.keyboard.type(answer)
  await tabTo(page, '[name=f-sure]')
  await page.keyboard.press('Space')
  await page.keyboard.press('ArrowRight')
  await pressButton(page, 'Hand in')
  await page.locator('h1.said').waitFor()
  return (await page.innerText('h1.said')).startsWith('Handed in')
}

/** One person with a browser of their own, behind this address. They use the keyboard alone. */
export const openPerson = async (browser: Browser, address: string, deployment: Deployment) => {
  const { origin, model } = deployment
  const network = await openNetwork(address)
  const context = await browser.newContext({
    proxy: network.proxy,
    viewport: { width: 1_280, height: 900 },
    locale: 'en-GB',
    userAgent,
  })
  await context.addInitScript('Object.defineProperty(Navigator.prototype, "webdriver", { get: () => false })')
  const page = await context.newPage()
  await addSyncedPasskeys(page)
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(error.message))
  return {
    faults,
    page,
    enrol: (enrolUrl: string) => enrol(page, enrolUrl),
    /** Fills in the form of the site, passes its check and sends it. */
    sendForm: async (site: string): Promise<void> => {
      await page.goto(site)
      await page.locator('textarea').focus()
      await page.keyboard.type('A comment.')
      await passCheckByKeys(page, pressIn(page))
      await pressButton(page, 'Send')
      await page.getByRole('heading', { name: 'Thank you' }).waitFor()
    },
    work: async (answer: string): Promise<void> => {
      for (let attempt = 1; attempt <= attemptsMax; attempt += 1)
        if (await workOnce(page, origin, answer)) return
      throw new Error(`the work was not verified: ${await page.innerText('main')}`)
    },
    requestPayout: async (account: string): Promise<void> => {
      await page.goto(`${origin}/work/earnings`)
      await page.locator('#account-no-live').focus()
      await page.keyboard.type(account)
      await page.keyboard.press('Enter')
      await page.locator('.note.ok').waitFor()
    },
    /** A security key of a model that the metadata of this deployment lists. */
    plugInKey: () => plugInKey(page, origin, model),
    /** Answers on the step-up page that a refusal names. */
    stepUp: async (url: string): Promise<void> => {
      await page.goto(url)
      await tabTo(page, 'button')
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: stepUpMessages.en.doneTitle }).waitFor()
    },
    close: async () => {
      await context.close()
      network.close()
    },
  }
}
export type KindsPerson = Awaited<ReturnType<typeof openPerson>>

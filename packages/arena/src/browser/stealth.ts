// A headless Chromium that hides what it is: another user agent, navigator.webdriver false, an authenticator in software,
// and the check by its words, with keys alone.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Browser, BrowserContext, Page } from 'playwright-core'

const userAgent =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36'

/** A new profile of the browser with one page. */
export const openStealthPage = async (browser: Browser): Promise<{ context: BrowserContext; page: Page }> => {
  const context = await browser.newContext({ viewport: { width: 1_366, height: 768 }, userAgent })
  await context.addInitScript('Object.defineProperty(Navigator.prototype, "webdriver", { get: () => false })')
  return { context, page: await context.newPage() }
}

const authenticator = {
  protocol: 'ctap2',
  transport: 'internal',
  hasResidentKey: true,
  hasUserVerification: true,
  isUserVerified: true,
  automaticPresenceSimulation: true,
} as const
/** An authenticator of the browser: it makes and keeps passkeys without a person. */
export const addVirtualAuthenticator = async (page: Page): Promise<void> => {
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('WebAuthn.enable')
  await devtools.send('WebAuthn.addVirtualAuthenticator', { options: authenticator })
}

/** Presses a key, by its name in X. */
type Press = (name: string) => Promise<void>

/** Looks until there is something to see; fails after the time. */
const lookUntil = async (what: string, look: () => Promise<boolean>, msMax: number): Promise<void> => {
  const deadline = performance.now() + msMax
  while (!(await look())) {
    if (performance.now() > deadline) throw new Error(`${what}: not within ${msMax} ms`)
    await sleep(20)
  }
}

/** Presses Tab until the condition holds. */
const tabUntil = (page: Page, press: Press, isThere: string): Promise<void> =>
  lookUntil(
    'Tab comes there',
    async () => {
      if (await page.evaluate<boolean>(isThere)) return true
      await press('Tab')
      return false
    },
    30_000,
  )

type SeenQuestion = {
  readonly state: string
  readonly runs: boolean
  readonly title: string
  readonly choices: readonly string[]
}
const questionScript = `(() => {
  const box = document.querySelector('pohf-check')?.shadowRoot.querySelector('.w')
  return box && { state: box.dataset.state, runs: box.querySelector('.bar.runs') !== null, title: box.querySelector('#title').textContent, choices: [...box.querySelectorAll('.choice')].map((one) => one.lastChild.textContent) }
})()`
const unfinished = new Set(['opening', 'choose', 'waiting'])

/**
 * Goes through the check by its words, with keys alone, to its verdict. Gives how many answers were put in. `readingMs` is
 * how long a sentence is looked at before its answer.
 */
export const passCheckByKeys = async (
  page: Page,
  press: Press,
  readingMs: (sentence: string) => number = () => 500,
): Promise<number> => {
  const inCheck = "document.querySelector('pohf-check').shadowRoot"
  await page.locator('pohf-check .other').waitFor()
  await tabUntil(page, press, `${inCheck}.activeElement?.classList.contains('other') === true`)
  await press('Return')
  let [last, answered] = ['', 0]
  const answerNext = async () => {
    const seen = await page.evaluate<SeenQuestion | null>(questionScript)
    if (seen === null || !unfinished.has(seen.state)) return true
    if (!seen.runs || seen.title === last) return false
    last = seen.title
    await page.waitForTimeout(readingMs(seen.title))
    await press(String(seen.choices.findIndex((word) => seen.title.includes(word)) + 1))
    answered += 1
    return false
  }
  await lookUntil('the check ends', answerNext, 90_000)
  return answered
}

/** The keys of the browser itself, under the names of X. */
export const pressIn =
  (page: Page): Press =>
  (name) =>
    page.keyboard.press(name === 'Return' ? 'Enter' : name)

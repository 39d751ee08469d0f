import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { violationsOf } from './browser.ts'

export type View = {
  readonly width: number
  readonly height: number
  readonly dark?: boolean
  readonly locale?: string
  /** Pixels of the screen for one of the page. */
  readonly scale?: number
  readonly touch?: boolean
}
export const phone: View = { width: 375, height: 812 }
export const desktop: View = { width: 1280, height: 900 }

/** The browser of one person. `navigator.webdriver` is false, as in a person's browser, unless `driven` is set. */
export const openContext = async (
  browser: Browser,
  view: View,
  driven = false,
): Promise<{ context: BrowserContext; page: Page; faults: string[] }> => {
  const context = await browser.newContext({
    viewport: { width: view.width, height: view.height },
    deviceScaleFactor: view.scale ?? 1,
    hasTouch: view.touch === true,
    colorScheme: view.dark === true ? 'dark' : 'light',
    locale: view.locale ?? 'en-GB',
    reducedMotion: 'reduce',
    ...(driven
      ? {}
      : {
          userAgent:
            'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36',
        }),
  })
  if (!driven)
    await context.addInitScript(
      'Object.defineProperty(Navigator.prototype, "webdriver", { get: () => false })',
    )
  const page = await context.newPage()
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(error.message))
  page.on('console', (message) => {
    const text = message.text()
    if (message.type() === 'error' && !/status of 4\d\d|ERR_EMPTY_RESPONSE/.test(text)) faults.push(text)
  })
  return { context, page, faults }
}

const picture = `<svg xmlns="http://www.w3.org/2000/svg" width="640" height="420"><rect width="640" height="420" fill="#c9d3cf"/><path d="M120 300q30-180 120-190 30 70 130 90 120 20 150 70v40H120z" fill="#5c4a39"/><path d="M115 305h410v34H115z" fill="#2b2b2b"/></svg>`
/**
 * Pictures in place of those that the service would fetch from the buyer, whose address is nowhere; returns what the page
 * requested. `work-images.long.test.ts` has a real buyer.
 */
export const servePictures = async (page: Page): Promise<string[]> => {
  const requested: string[] = []
  await page.route('https://pictures.example/**', async (route) => {
    requested.push(route.request().url())
    await route.abort()
  })
  await page.route('**/api/work/assignments/*/images/*', async (route) => {
    requested.push(new URL(route.request().url()).pathname.split('/').slice(-2).join('/'))
    await route.fulfill({ contentType: 'image/svg+xml', body: picture })
  })
  return requested
}

/** Where set, screenshots of every state are saved there. */
const picturesFolder = process.env['POHF_PICTURES']

/** Finds nothing by axe, nothing wider than the window, and no target below 44 px. */
export const checkPage = async (page: Page, name: string, full = true): Promise<void> => {
  if (picturesFolder) {
    mkdirSync(picturesFolder, { recursive: true })
    await page.screenshot({ path: `${picturesFolder}/${name}.png`, fullPage: full })
  }
  assert.deepEqual(await violationsOf(page), [], name)
  const isWide = await page.evaluate<boolean>(
    'document.documentElement.scrollWidth > document.documentElement.clientWidth',
  )
  assert.equal(isWide, false, `${name} scrolls sideways`)
  const small = await page.evaluate<string[]>(`
    [...document.querySelectorAll('button, a, summary, .option, textarea, input:not([type=radio], [type=checkbox])')]
      .map((one) => [one, one.getBoundingClientRect()])
      .filter(([, box]) => box.width > 0 && (box.height < 43.9 || box.width < 29))
      .map(([one]) => one.outerHTML.slice(0, 100))`)
  assert.deepEqual(small, [], `${name}: targets below 44 px`)
}

type Question = {
  /** A question waits for an answer; whether the dialog lies over the page at all. */
  readonly open: boolean
  readonly over: boolean
  readonly title: string
  readonly choices: readonly string[]
}
const readQuestion = (page: Page): Promise<Question> =>
  page.evaluate<Question>(`(() => {
    const dialog = document.querySelector('pohf-questions')?.shadowRoot.querySelector('dialog')
    const open = dialog?.open === true && dialog.querySelector('[data-state=choose] .bar.runs') !== null
    return { open, over: dialog?.open === true, title: dialog?.querySelector('#title')?.textContent ?? '', choices: [...(dialog?.querySelectorAll('.choice') ?? [])].map((one) => one.lastChild.textContent) }
  })()`)

/** Answers the questions in words by keyboard, from the text of the dialog. */
export const answerTextQuestions = async (
  page: Page,
  onQuestion: () => Promise<void> = async () => undefined,
  press: (key: string) => Promise<void> = (key) => page.keyboard.press(key),
): Promise<void> => {
  let last = ''
  const deadline = performance.now() + 90_000
  while (performance.now() < deadline) {
    const left = await page.locator('.bar-foot .dots i:not(.full, .missed)').count()
    const { open, over, title, choices } = await readQuestion(page)
    if (left === 0 && !over) return
    if (open && title !== last) {
      last = title
      await onQuestion()
      await sleep(500)
      const choice = choices.findIndex((word) => title.includes(word))
      await press(String(choice + 1))
    }
    await sleep(60)
  }
  throw new Error('the questions do not end')
}

/** Presses Tab until an element that matches has the focus. */
export const tabTo = async (page: Page, selector: string): Promise<void> => {
  for (let steps = 0; steps < 60; steps += 1) {
    if (await page.evaluate<boolean>(`document.activeElement?.matches(${JSON.stringify(selector)}) === true`))
      return
    await page.keyboard.press('Tab')
  }
  throw new Error(`Tab does not come to ${selector}`)
}

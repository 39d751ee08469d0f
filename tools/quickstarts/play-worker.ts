import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  addVirtualAuthenticator,
  passCheckByKeys,
  pressIn,
} from '../../packages/arena/src/browser/stealth.ts'
import { findChromium, launch } from '../../packages/web/test/browser.ts'
import { answerTextQuestions, desktop, openContext } from '../../packages/web/test/worker-browser.ts'

type Page = Awaited<ReturnType<typeof openContext>>['page']

/** Opens the invitation, agrees, makes a passkey and passes the attention check, by keys. */
const enrol = async (page: Page, enrolUrl: string): Promise<void> => {
  await page.goto(enrolUrl)
  await page.locator('input[name=agree]').focus()
  await page.keyboard.press('Space')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.locator('#step-codes:visible').waitFor()
  await page.locator('#step-codes button').focus()
  await page.keyboard.press('Enter')
  await page.locator('#step-check:visible pohf-check').waitFor()
  await passCheckByKeys(page, pressIn(page))
  await page.locator('#step-done:visible').waitFor()
}

/** Fills in every field of the answer, whatever the task asks for. */
const answer = async (page: Page): Promise<void> => {
  for (const field of await page.locator('.answer textarea, .answer input[type=text]').all())
    await field.pressSequentially('No: a soup is cooked, and tea is brewed.')
  const fields = await page.locator('.answer input[type=radio]').all()
  const names = new Set(await Promise.all(fields.map((field) => field.getAttribute('name'))))
  for (const name of names) {
    await page.locator(`.answer input[name="${name}"]`).first().focus()
    await page.keyboard.press('Space')
  }
}

/** Takes the first task, does it and hands it in. */
const work = async (page: Page): Promise<void> => {
  await page.getByRole('button', { name: 'Take this task' }).first().focus()
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Begin without a pointer' }).focus()
  await page.keyboard.press('Enter')
  await page.locator('.answer').waitFor()
  await answerTextQuestions(page)
  await answer(page)
  await page.getByRole('button', { name: 'Hand in' }).focus()
  await page.keyboard.press('Enter')
  await page.locator('h1', { hasText: 'Handed in. Your check passed.' }).waitFor()
}

/**
 * Does what the page for workers asks a person to do, in a headless browser, from the invitation in `worker.json` to a unit
 * that is handed in. Returns the seconds; undefined where there is no browser.
 */
export const playWorker = async (folder: string): Promise<number | undefined> => {
  const chromium = findChromium()
  if ('missing' in chromium) return undefined
  const { enrolUrl } = JSON.parse(readFileSync(join(folder, 'worker.json'), 'utf8')) as { enrolUrl: string }
  const browser = await launch(chromium.path)
  try {
    const { page } = await openContext(browser, desktop)
    await addVirtualAuthenticator(page)
    const startedAt = performance.now()
    await enrol(page, enrolUrl)
    await page.goto(new URL('/work', enrolUrl).href)
    await work(page).catch(async (error: unknown) => {
      const shown = await page.locator('main').innerText()
      throw new Error(`the page of the worker shows:\n${shown}`, { cause: error })
    })
    return (performance.now() - startedAt) / 1_000
  } finally {
    await browser.close()
  }
}

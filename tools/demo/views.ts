import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { launch } from '../../packages/web/test/browser.ts'

export type Browser = Awaited<ReturnType<typeof launch>>
export type Page = Awaited<ReturnType<Browser['newPage']>>

export const views = [
  { width: 1280, colorScheme: 'light' },
  { width: 1280, colorScheme: 'dark' },
  { width: 390, colorScheme: 'light' },
  { width: 390, colorScheme: 'dark' },
] as const

const quietMs = 500

/** Keeps the errors that the page logs. A refused call is one for the browser; the page shows it and goes on. */
export const watchErrors = (page: Page): string[] => {
  const errors: string[] = []
  page.on('pageerror', (error) => errors.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error' && !/status of 4\d\d/.test(message.text())) errors.push(message.text())
  })
  return errors
}

/** Waits until the page has a title and no skeleton, and asked for nothing for half a second. */
export const waitForContent = async (page: Page): Promise<void> => {
  let askedAt = performance.now()
  const onRequest = () => {
    askedAt = performance.now()
  }
  page.on('request', onRequest)
  page.on('requestfinished', onRequest)
  await page.locator('h1').first().waitFor()
  await page.locator('.bone').first().waitFor({ state: 'detached' })
  while (performance.now() - askedAt < quietMs) await setTimeout(50)
  page.off('request', onRequest)
  page.off('requestfinished', onRequest)
}

/** Takes a picture in every view, and returns what is wrong: sideways scroll and errors. */
export const capture = async (
  { page, errors }: { readonly page: Page; readonly errors: string[] },
  name: string,
  folder: string,
): Promise<{ readonly files: readonly string[]; readonly faults: readonly string[] }> => {
  await waitForContent(page)
  const files: string[] = []
  const faults: string[] = []
  for (const { width, colorScheme } of views) {
    await page.setViewportSize({ width, height: 900 })
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    const file = `${name}-${width}-${colorScheme}.png`
    await page.screenshot({ path: join(folder, file), fullPage: true })
    files.push(file)
    const scrollWidth = await page.evaluate<number>('document.documentElement.scrollWidth')
    if (scrollWidth > width) faults.push(`${file}: ${scrollWidth} px wide, scrolls sideways`)
  }
  faults.push(...errors.splice(0).map((error) => `${name}: ${error}`))
  return { files, faults }
}

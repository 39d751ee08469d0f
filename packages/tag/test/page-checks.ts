import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { violationsOf } from '../../web/test/browser.ts'

/** Where set, screenshots of every state are saved there. */
const picturesFolder = process.env['POHF_PICTURES']

/** Finds nothing by axe, nothing wider than the window, and no target below 44 px. */
export const checkPage = async (page: Page, name: string): Promise<void> => {
  if (picturesFolder) {
    mkdirSync(picturesFolder, { recursive: true })
    await page.screenshot({ path: `${picturesFolder}/${name}.png`, fullPage: true })
  }
  // Not through a script element: the page's policy would forbid it.
  assert.deepEqual(await violationsOf(page), [], name)
  const wide = await page.evaluate<string[]>(`
    document.documentElement.scrollWidth <= document.documentElement.clientWidth ? [] :
      [...document.querySelectorAll('body *')].filter((one) => one.getBoundingClientRect().right > innerWidth).map((one) => one.outerHTML.slice(0, 120)).slice(0, 3)`)
  assert.deepEqual(wide, [], `${name} scrolls sideways`)
  const small = await page.evaluate<string[]>(`
    [...document.querySelectorAll('pohf-check, pohf-task')].flatMap((check) => [...check.shadowRoot.querySelectorAll('button:not(.trap), summary, a')])
      .filter((button) => { const box = button.getBoundingClientRect(); return box.width > 0 && (box.width < 43.9 || box.height < 43.9) })
      .map((button) => button.textContent)`)
  assert.deepEqual(small, [], `${name}: targets below 44 px`)
}

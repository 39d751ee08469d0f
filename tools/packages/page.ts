import { readFileSync } from 'node:fs'
import { launchChromium } from '../../packages/cli/src/site/tag/browser.ts'

const address = 'https://site.example/'

/** Loads a bundled script in Chromium, with no network, and says what is wrong. */
export const pageFaults = async (script: string): Promise<string[]> => {
  const browser = await launchChromium()
  try {
    const page = await browser.newPage()
    const printed: string[] = []
    page.on('console', (message) => printed.push(message.text()))
    page.on('pageerror', (error) => printed.push(error.message))
    await page.route('**/*', (route) =>
      route.request().url() === address
        ? route.fulfill({ contentType: 'text/html', body: '<!doctype html><pohf-check></pohf-check>' })
        : route.fulfill({ status: 404 }),
    )
    await page.goto(address)
    await page.addScriptTag({ type: 'module', content: readFileSync(script, 'utf8') })
    const hasBox = await page
      .locator('pohf-check .w')
      .first()
      .isVisible({ timeout: 5_000 })
      .catch(() => false)
    return [
      ...(printed[0]?.startsWith('function function function')
        ? []
        : [`the page printed ${printed.join('; ')}`]),
      ...(hasBox ? [] : ['the check is not visible']),
    ]
  } finally {
    await browser.close()
  }
}

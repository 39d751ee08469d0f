import { existsSync } from 'node:fs'
import axeCore from 'axe-core'
import { chromium, type Browser, type Page } from 'playwright-core'

const places = [
  process.env['CHROMIUM_PATH'],
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
]

/** Where a Chromium is, or why the browser tests are left out. */
export const findChromium = (): { path: string } | { missing: string } => {
  const path = places.find((place) => place !== undefined && existsSync(place))
  return path === undefined
    ? { missing: 'no Chromium here: run node tools/ci/chromium.ts as root, or set CHROMIUM_PATH' }
    : { path }
}

/** How long a page may take for anything: a machine that runs other tests is slow, and a page that hangs is still found. */
const timeoutMs = 120_000

/** A headless browser without background traffic; on request with scroll bars, as on a desktop. */
export const launch = async (path: string, hasScrollBars = false): Promise<Browser> => {
  const browser = await chromium.launch({
    executablePath: path,
    ...(hasScrollBars ? { ignoreDefaultArgs: ['--hide-scrollbars'] } : {}),
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--no-first-run',
    ],
  })
  const newContext = browser.newContext.bind(browser)
  browser.newContext = async (options) => {
    const context = await newContext(options)
    context.setDefaultTimeout(timeoutMs)
    return context
  }
  return browser
}

/** The violations that axe finds in the page, each with its first element. */
export const violationsOf = async (page: Page): Promise<string[]> => {
  await page.evaluate(axeCore.source)
  const found = await page.evaluate<{ id: string; help: string; nodes: { html: string }[] }[]>(
    '(async () => (await axe.run()).violations)()',
  )
  return found.map(({ id, help, nodes }) => `${id}: ${help} ${nodes[0]?.html ?? ''}`)
}

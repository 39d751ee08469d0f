import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Result } from 'axe-core'
import { chromium, type Browser, type Page } from 'playwright-core'
import { firstView, isEveryView, views, type View } from './views.ts'

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

/** Chromium without its windows, which Debian packages apart: the same pages take about half the CPU. */
const headlessShell = '/usr/bin/chromium-headless-shell'

type LaunchOptions = {
  /** Scroll bars that take room, as on a desktop. */
  readonly hasScrollBars?: boolean
  /** The browser that people have, with its windows. */
  readonly isWhole?: boolean
}

/** A headless browser without background traffic: the headless shell where it is installed, or the Chromium at `path`. */
export const launch = async (
  path: string,
  { hasScrollBars = false, isWhole = isEveryView }: LaunchOptions = {},
): Promise<Browser> => {
  const hasShell = process.env['CHROMIUM_PATH'] === undefined && existsSync(headlessShell)
  const browser = await chromium.launch({
    executablePath: hasShell && !isWhole ? headlessShell : path,
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

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** The violations that axe finds in the page, each with its first element. */
export const violationsOf = async (page: Page): Promise<string[]> => {
  // Once for each document: it takes 0.2 s.
  if (await page.evaluate<boolean>('typeof axe === "undefined"')) await page.evaluate(axeSource)
  const found = await page.evaluate<Result[]>(
    '(async () => (await axe.run({ resultTypes: ["violations"] })).violations)()',
  )
  return found.map(({ id, help, nodes }) => `${id}: ${help} ${nodes[0]?.html ?? ''}`)
}

const savePicture = async (page: Page, name: string, { width, colorScheme }: View): Promise<void> => {
  const folder = process.env['POHF_SCREENSHOTS']
  if (folder === undefined) return
  mkdirSync(folder, { recursive: true })
  // A drawer scrolls by itself: the window is made as tall as its content.
  const tall = await page.evaluate<number>(
    'document.querySelector("dialog[open]")?.scrollHeight ?? document.documentElement.scrollHeight',
  )
  await page.setViewportSize({ width, height: Math.min(6_000, Math.max(900, tall)) })
  await page.screenshot({ path: `${folder}/${name}-${width}-${colorScheme}.png` })
}

const setView = async (page: Page, { width, colorScheme }: View): Promise<void> => {
  await page.setViewportSize({ width, height: 900 })
  await page.emulateMedia({ colorScheme })
}

let checkedPages = 0

/**
 * Looks at the page in every view: nothing is wider than the page, and axe finds nothing. Axe takes 0.4 s, so the suite runs it in
 * one view of each look, in turn; `npm run battery -- views` in all of them. It takes screenshots on request, and goes back to the
 * first view.
 */
export const lookInEveryView = async (page: Page, name: string): Promise<void> => {
  const axeView = views[checkedPages++ % views.length]
  for (const view of views) {
    const { width, colorScheme } = view
    const where = `${name}, ${width} px, ${colorScheme}`
    await setView(page, view)
    await savePicture(page, name, view)
    if (isEveryView || view === axeView) assert.deepEqual(await violationsOf(page), [], where)
    assert.ok(
      (await page.evaluate<number>(
        'Math.max(document.documentElement.scrollWidth, document.querySelector("dialog[open]")?.scrollWidth ?? 0)',
      )) <= width,
      `${where}: scrolls sideways`,
    )
  }
  await setView(page, firstView)
}

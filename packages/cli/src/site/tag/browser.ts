import { existsSync } from 'node:fs'
import type { Browser } from 'playwright-core'
import { messageOf, UsageError } from '../../command/errors.ts'

const places = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/usr/bin/google-chrome-stable',
  '/snap/bin/chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
]

const findChromium = (): string => {
  const named = process.env['CHROMIUM_PATH']
  const path = named === undefined ? places.find((place) => existsSync(place)) : named
  if (path !== undefined && existsSync(path)) return path
  throw new UsageError(
    path === undefined ? 'No Chromium was found.' : `CHROMIUM_PATH names ${path}, which does not exist.`,
    'Install Chromium or Chrome, or set CHROMIUM_PATH to its program.',
  )
}

/** Chromium has no sandbox for root; then a fault of Chromium is a fault of this account. */
export const hasSandbox = process.getuid?.() !== 0

/** A browser with a new profile, which is deleted when it closes. */
export const launchChromium = async (): Promise<Browser> => {
  const executablePath = findChromium()
  // Loaded on demand, and not a dependency of an installation: only this command drives a browser.
  const { chromium } = await import('playwright-core').catch((error: unknown) => {
    throw new UsageError(
      'This command needs playwright-core, which is not installed.',
      'Run npm install --no-save playwright-core.',
      error,
    )
  })
  try {
    return await chromium.launch({
      executablePath,
      chromiumSandbox: hasSandbox,
      timeout: 30_000,
      args: [
        '--disable-gpu',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
        '--no-first-run',
      ],
    })
  } catch (error) {
    const [reason = ''] = messageOf(error).split('\n')
    throw new UsageError(
      `${executablePath} does not start: ${reason}`,
      'Start it by hand, or set CHROMIUM_PATH to another one.',
      error,
    )
  }
}

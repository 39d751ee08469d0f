// Every page with the demo data, in Chromium, in two widths and two colour schemes. npx node tools/demo/screenshots.ts [FOLDER]
// With --pictures only the pictures of the README, into docs/pictures.
import { spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { demoFolder, readDemo, type DemoAccess } from '../../packages/server/dev/demo.ts'
import { readConfig } from '../../packages/server/src/platform/ops/config.ts'
import { findChromium, launch } from '../../packages/web/test/browser.ts'
import { signIn } from '../../packages/web/test/browser-test.ts'
import { takePictures } from './pictures.ts'
import { capture, watchErrors, type Browser, type Page } from './views.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { pictures: { type: 'boolean', default: false } },
})
const folder = values.pictures ? 'docs/pictures' : (positionals[0] ?? 'screenshots')

/** Starts `npm run dev -- --demo`, and stops it. */
const startDemo = async (): Promise<() => Promise<void>> => {
  const main = fileURLToPath(new URL('../../packages/cli/src/main.ts', import.meta.url))
  const child = spawn(process.execPath, [main, 'dev', '--demo'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  await new Promise<void>((resolve, reject) => {
    let printed = ''
    child.stdout.on('data', (part: Buffer) => {
      process.stderr.write(part)
      printed += part.toString()
      if (printed.includes('Ctrl-C stops everything.')) resolve()
    })
    void ended.then(() => reject(new Error('npm run dev -- --demo ended; see its output above')))
  })
  return async () => {
    child.kill('SIGTERM')
    await ended
  }
}

const openPage = async (browser: Browser, cookie?: string) => {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 900 },
    reducedMotion: 'reduce',
  })
  const [name = '', value = ''] = cookie?.split('=') ?? []
  if (cookie !== undefined)
    await context.addCookies([
      { name, value, domain: 'localhost', path: '/', secure: true, httpOnly: true, sameSite: 'Strict' },
    ])
  const page = await context.newPage()
  return { page, errors: watchErrors(page), close: () => context.close() }
}
type OpenPage = Awaited<ReturnType<typeof openPage>>
type Take = (opened: OpenPage, name: string) => Promise<void>

const publicPages = (url: string, { enrolUrl }: DemoAccess): readonly (readonly [string, string])[] => [
  ['home', `${url}/`],
  ['pricing', `${url}/pricing`],
  ['vhh', `${url}/vhh`],
  ['status', `${url}/status`],
  ['verify', `${url}/verify`],
  ['buy', `${url}/buy`],
  ['errors', `${url}/docs/errors`],
  ['error', `${url}/docs/errors/session_rejected`],
  ['console-sign-in', `${url}/console`],
  ['work-sign-in', `${url}/work`],
  ['work-sign-in-de', `${url}/work?lang=de`],
  ['me-sign-in', `${url}/me`],
  ['enrol', enrolUrl],
  ['enrol-de', `${enrolUrl}?lang=de`],
]

const workerPages = (url: string, { results }: DemoAccess): readonly (readonly [string, string])[] => [
  ['work', `${url}/work`],
  ['work-de', `${url}/work?lang=de`],
  ['work-earnings', `${url}/work/earnings`],
  ['work-earnings-de', `${url}/work/earnings?lang=de`],
  ...Object.entries(results).map(([name, id]) => [`work-${name}`, `${url}/work/${id}`] as const),
  ['work-appealed-de', `${url}/work/${results.appealed}?lang=de`],
]
const memberPages = (url: string, { recordingId }: DemoAccess): readonly (readonly [string, string])[] => [
  ['me', `${url}/me`],
  ['me-de', `${url}/me?lang=de`],
  ['me-recording', `${url}/me/recording?id=${recordingId}`],
]

const takePages = async (
  browser: Browser,
  take: Take,
  pages: readonly (readonly [string, string])[],
  cookie?: string,
): Promise<void> => {
  const opened = await openPage(browser, cookie)
  for (const [name, address] of pages) {
    await opened.page.goto(address)
    await take(opened, name)
  }
  await opened.close()
}

/** The first entry of a list, opened by its link. */
const takeDetail = async (opened: OpenPage, take: Take, name: string): Promise<void> => {
  const link = opened.page.locator('main tbody a, main .card a[href^="#/orders/"]').first()
  if ((await link.count()) === 0) return
  await opened.page.setViewportSize({ width: 1280, height: 900 })
  await link.click()
  await take(opened, name)
}

/** Every page of a console by its menu, and the first entry of each list. */
const takeConsole = async (
  browser: Browser,
  take: Take,
  { prefix, address, key }: { readonly prefix: string; readonly address: string; readonly key: string },
): Promise<void> => {
  const opened = await openPage(browser)
  const { page } = opened
  await page.goto(address)
  await signIn(page, key)
  const paths = await hashesOf(page)
  if (paths.length === 0) throw new Error(`the menu of ${address} has no entry`)
  for (const path of paths) {
    const name = `${prefix}-${path.slice(2).replaceAll('/', '-')}`
    await page.evaluate(`location.hash = ${JSON.stringify(path)}`)
    await take(opened, name)
    await takeDetail(opened, take, `${name}-detail`)
  }
  await opened.close()
}
const hashesOf = (page: Page): Promise<string[]> =>
  page.$$eval('nav a[href^="#/"]', (links) => links.map((link) => link.getAttribute('href') ?? ''))

const readAddresses = () => {
  const config = readConfig({ ...process.env, DATABASE_URL: 'postgres://placeholder/demo' })
  return { config, access: readDemo(demoFolder(config.DATA_DIR)) }
}

const takeAll = async (browser: Browser, take: Take): Promise<void> => {
  const { config, access } = readAddresses()
  // Passkeys and the cookies of people belong to localhost.
  const url = `http://localhost:${config.PORT}`
  const operatorUrl = `http://${config.OPERATOR_HOST}:${config.OPERATOR_PORT}/operator`
  await takePages(browser, take, publicPages(url, access))
  await takePages(browser, take, workerPages(url, access), access.workerCookie)
  await takePages(browser, take, memberPages(url, access), access.memberCookie)
  await takeConsole(browser, take, { prefix: 'console', address: `${url}/console`, key: access.live.apiKey })
  await takeConsole(browser, take, { prefix: 'test', address: `${url}/console`, key: access.test.apiKey })
  await takeConsole(browser, take, { prefix: 'operator', address: operatorUrl, key: access.operatorKeys[0] })
}

const chromium = findChromium()
if ('missing' in chromium) throw new Error(chromium.missing)
mkdirSync(folder, { recursive: true })
const stop = await startDemo()
const browser = await launch(chromium.path)
const faults: string[] = []
let count = 0
try {
  if (values.pictures) count = await takePictures(browser, readAddresses().access, folder)
  else
    await takeAll(browser, async (opened, name) => {
      const taken = await capture(opened, name, folder)
      for (const file of taken.files) console.log(`${folder}/${file}`)
      count += taken.files.length
      faults.push(...taken.faults)
    })
} finally {
  await browser.close()
  await stop()
}
for (const fault of faults) console.error(`✗ ${fault}`)
console.log(`${faults.length === 0 ? '✓' : '✗'} ${count} screenshots in ${folder}, ${faults.length} faults`)
if (faults.length > 0) process.exitCode = 1

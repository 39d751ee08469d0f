import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { startServer } from '../../../packages/server/test/fixtures/processes/server.ts'
import { findChromium, launch } from '../../../packages/web/test/browser.ts'
import { closingAfter } from '../../driver/closing.ts'
import { programOf, starting, step } from '../../driver/program.ts'
import { tableOfRecords } from '../../driver/report.ts'
import { median, rounded } from '../../driver/rounds.ts'

const paths = ['/', '/console', '/verify', '/work', '/me'] as const
const goalMs = 1_000
/** A middling phone on a slow 4G connection, as page audits simulate it: 150 ms for a round trip, 1.6 Mbit/s. */
const line = { latencyMs: 150, bytesPerSecond: 200_000, cpuSlowdown: 4 }

type Browser = Awaited<ReturnType<typeof launch>>
type Paint = { readonly paintMs: number; readonly largestMs: number; readonly bytes: number }

const readPaint = `new Promise((resolve) => {
  const largest = []
  new PerformanceObserver((list) => largest.push(...list.getEntries())).observe({
    type: 'largest-contentful-paint', buffered: true })
  const read = () => {
    const paint = performance.getEntriesByName('first-contentful-paint')[0]
    if (!paint) return setTimeout(read, 50)
    resolve({
      paintMs: paint.startTime,
      largestMs: largest.at(-1)?.startTime ?? paint.startTime,
      bytes: performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation'))
        .reduce((sum, { transferSize }) => sum + transferSize, 0),
    })
  }
  setTimeout(read, 500)
})`

/** Opens a page with an empty cache. */
const openPage = async (browser: Browser, url: string): Promise<Paint> => {
  const context = await browser.newContext({ viewport: { width: 390, height: 844 } })
  try {
    const page = await context.newPage()
    const devtools = await context.newCDPSession(page)
    await devtools.send('Network.enable')
    await devtools.send('Network.emulateNetworkConditions', {
      offline: false,
      latency: line.latencyMs,
      downloadThroughput: line.bytesPerSecond,
      uploadThroughput: line.bytesPerSecond,
    })
    await devtools.send('Emulation.setCPUThrottlingRate', { rate: line.cpuSlowdown })
    await page.goto(url, { waitUntil: 'networkidle' })
    return await page.evaluate<Paint>(readPaint)
  } finally {
    await context.close()
  }
}

const figuresOf = (path: string, runs: readonly Paint[]) => ({
  path,
  paintMs: rounded(median(runs.map(({ paintMs }) => paintMs)), 0),
  slowestMs: rounded(Math.max(...runs.map(({ paintMs }) => paintMs)), 0),
  largestMs: rounded(median(runs.map(({ largestMs }) => largestMs)), 0),
  kilobytes: rounded(median(runs.map(({ bytes }) => bytes)) / 1_000),
})

export const paint = programOf({
  command: 'bench -- paint',
  title: 'First paint of the pages',
  about: `Chromium with an empty cache, ${line.latencyMs} ms for a round trip, ${(line.bytesPerSecond * 8) / 1e6} Mbit/s, the processor slowed down ${line.cpuSlowdown} times, 390 px wide; the service runs on the same machine. Nobody is signed in. Milliseconds. The goal is a first paint within ${goalMs / 1_000} s.`,
  options: { runs: 10 },
  smoke: { runs: 1 },
  minutes: ({ runs }) => 15 + runs,
  missing: () => {
    const chromium = findChromium()
    return 'missing' in chromium ? chromium.missing : undefined
  },
  run: ({ runs }) =>
    closingAfter(async (defer) => {
      const chromium = findChromium()
      if ('missing' in chromium) throw new Error(chromium.missing)
      step('building the pages')
      const build = fileURLToPath(new URL('../../../packages/web/build.ts', import.meta.url))
      execFileSync(process.execPath, [build], { env: { ...process.env, NODE_ENV: 'production' } })
      starting('a server and Chromium')
      const server = await startServer()
      defer(server.stop)
      const browser = await launch(chromium.path, { isWhole: true })
      defer(() => browser.close())
      const taken = new Map<string, Paint[]>(paths.map((path) => [path, []]))
      // The first call of each page is not counted: it compiles the server's own code.
      for (let run = 0; run <= runs; run++)
        for (const [path, paints] of taken) {
          step(`run ${run}: ${path}`)
          const one = await openPage(browser, `${server.baseUrl}${path}`)
          if (run > 0) paints.push(one)
        }
      const pages = [...taken].map(([path, paints]) => figuresOf(path, paints))
      return {
        figures: { pages, slowestMs: Math.max(...pages.map(({ slowestMs }) => slowestMs)), goalMs },
        tables: [tableOfRecords(pages)],
        holds: 'every page showed something',
      }
    }),
})

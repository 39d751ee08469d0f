// A person played at the level of the operating system: an X server without a screen, an ordinary Chromium with a
// window and no automation flag, and a pointer moved by XTEST. The page sees trusted events and navigator.webdriver
// false. The debugging port serves only to read where things are and what came out; nothing is put in through it.
import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process'
import { existsSync, mkdtempSync, openSync, readSync, closeSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { chromium, type Page } from 'playwright-core'
import type { BotOutcome } from '../bots/bot.ts'
import { limitDuration, generatorOf } from '../generators/index.ts'
import type { Generator, Point, StrokeLibrary } from '../generators/types.ts'
import { createRandom, gaussian, type Random, uniform } from '../random.ts'
import type { GreyImage } from '../vision/png.ts'
import { answerQuestions, type PointerControl, passCheck, type Rectangle } from './check.ts'

type Screen = { readonly width: number; readonly height: number }
const desktopScreen: Screen = { width: 1_366, height: 768 }
const startMsMax = 60_000
/** One attempt; a busy browser is asked again. */
const connectMsMax = 20_000
const chromiumPath = process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium'

/** The programs that are missing on this machine to play a person. */
export const missingForPerson = (): string[] =>
  ['/usr/bin/Xvfb', '/usr/bin/xdotool', chromiumPath].filter((file) => !existsSync(file))

/** Processes that run in groups of their own would outlive us: whatever is left at our end is ended too. */
const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) signalGroup(child, 'SIGKILL')
})

const signalGroup = (child: ChildProcess, name: 'SIGTERM' | 'SIGKILL'): void => {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, name)
  } catch {
    // It went away by itself meanwhile.
  }
}

/** Starts a program in a group of its own. */
const startProcess = (file: string, parameters: readonly string[], options: SpawnOptions): ChildProcess => {
  const child = spawn(file, parameters, { ...options, detached: true })
  running.add(child)
  child.once('exit', () => running.delete(child))
  return child
}

/** Ends a process that we started, with its children, and waits until it is gone. */
const stopProcess = async (child: ChildProcess): Promise<void> => {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  signalGroup(child, 'SIGTERM')
  const isGone = await Promise.race([gone.then(() => true), sleep(5_000, false, { ref: false })])
  if (!isGone) signalGroup(child, 'SIGKILL')
  await gone
}

const freePort = async (): Promise<number> => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise<void>((resolve) => server.close(() => resolve()))
  return typeof address === 'object' && address ? address.port : 0
}

/** Starts an X server on a display of its own choice; its picture lies in a file. */
const startScreen = async (
  folder: string,
  screen: Screen,
): Promise<{ server: ChildProcess; display: string; picture: string }> => {
  const server = startProcess(
    '/usr/bin/Xvfb',
    [
      '-displayfd',
      '3',
      '-nolisten',
      'tcp',
      '-noreset',
      '-fbdir',
      folder,
      '-screen',
      '0',
      `${screen.width}x${screen.height}x24`,
    ],
    { stdio: ['ignore', 'ignore', 'ignore', 'pipe'] },
  )
  const pipe = server.stdio[3]
  const told = new Promise<string>((resolve, reject) => {
    let text = ''
    pipe?.on('data', (part: Buffer) => {
      text += part.toString('latin1')
      if (text.includes('\n')) resolve(text.trim())
    })
    server.once('exit', (exitCode) =>
      reject(new Error(`Xvfb exited with code ${exitCode} before it named a display`)),
    )
    setTimeout(() => reject(new Error(`Xvfb named no display within ${startMsMax} ms`)), startMsMax).unref()
  })
  try {
    return { server, display: `:${await told}`, picture: join(folder, 'Xvfb_screen0') }
  } catch (error) {
    await stopProcess(server)
    throw error
  }
}

/** Reads a part of the X server's picture, which is in the format of xwd with four bytes a pixel. */
const readPicture = (file: string, part: Rectangle): GreyImage => {
  const handle = openSync(file, 'r')
  try {
    const header = Buffer.alloc(100)
    readSync(handle, header, 0, 100, 0)
    const [headerSize, width, height] = [
      header.readUInt32BE(0),
      header.readUInt32BE(16),
      header.readUInt32BE(20),
    ]
    const [bytesPerLine, colours] = [header.readUInt32BE(48), header.readUInt32BE(76)]
    const isBigEnd = header.readUInt32BE(28) === 1
    const left = Math.max(0, Math.round(part.x))
    const top = Math.max(0, Math.round(part.y))
    const right = Math.min(width, Math.round(part.x + part.width))
    const bottom = Math.min(height, Math.round(part.y + part.height))
    const grey = new Uint8Array(Math.max(0, (right - left) * (bottom - top)))
    const line = Buffer.alloc(4 * Math.max(0, right - left))
    for (let y = top; y < bottom; y += 1) {
      readSync(handle, line, 0, line.length, headerSize + 12 * colours + y * bytesPerLine + 4 * left)
      for (let x = 0; x < right - left; x += 1) {
        const pixel = isBigEnd ? line.readUInt32BE(4 * x) : line.readUInt32LE(4 * x)
        const [red, green, blue] = [(pixel >> 16) & 255, (pixel >> 8) & 255, pixel & 255]
        grey[(y - top) * (right - left) + x] = Math.round(0.299 * red + 0.587 * green + 0.114 * blue)
      }
    }
    return { width: right - left, height: bottom - top, grey }
  } finally {
    closeSync(handle)
  }
}

type PointerOptions = {
  readonly screen: Screen
  readonly random: Random
  readonly generate: Generator
  readonly sendInput: (line: string) => void
}

/** A question counts for 2.5 s; looking, reacting and pressing need their part of it on a busy machine too. */
const strokeMsMax = 900
/** Plays strokes through xdotool, which keeps the time between points: a busy Node would make the hand jerk. */
const createPointer = ({ screen, random, generate, sendInput }: PointerOptions): PointerControl => {
  let at: Point = { x: screen.width / 2, y: screen.height / 2 }
  const onScreen = ({ x, y }: Point): Point => ({
    x: Math.min(screen.width - 1, Math.max(0, Math.round(x))),
    y: Math.min(screen.height - 1, Math.max(0, Math.round(y))),
  })
  return {
    reach: async (to) => {
      const startedAt = performance.now()
      const lines: string[] = []
      let before = 0
      for (const point of generate(random, at, to)) {
        if (point.t > before) lines.push(`sleep ${((point.t - before) / 1_000).toFixed(4)}`)
        before = Math.max(before, point.t)
        at = onScreen(point)
        lines.push(`mousemove ${at.x} ${at.y}`)
      }
      sendInput(lines.join('\n'))
      await sleep(Math.max(1, startedAt + before - performance.now()))
    },
    press: async () => {
      const [waits, holds] = [uniform(random, 0.04, 0.11), uniform(random, 0.055, 0.11)]
      sendInput(`sleep ${waits.toFixed(3)}\nmousedown 1\nsleep ${holds.toFixed(3)}\nmouseup 1`)
      await sleep((waits + holds) * 1_000)
    },
  }
}

export type PersonOptions = {
  readonly url: string
  /** Strokes to blend; without them the best synthetic family moves the hand. */
  readonly library?: StrokeLibrary | undefined
  readonly seed?: number | undefined
  /** The size of the screen; without it a desktop's. */
  readonly screen?: Screen | undefined
  /** A folder for the browser's profile that stays: the same browser at another time. Without it a new one. */
  readonly profile?: string | undefined
  readonly signal?: AbortSignal | undefined
}

export type Person = {
  /** For reading only: the person acts through the operating system. */
  readonly page: Page
  /** Walks to the middle of an element and presses, having turned the wheel until it is in sight. */
  readonly press: (selector: string) => Promise<void>
  /** Presses into a field and types. */
  readonly type: (selector: string, text: string) => Promise<void>
  /** Presses a key, by its name in X. */
  readonly key: (name: string) => Promise<void>
  /** Goes through the check on this page to its end. */
  readonly passCheck: () => Promise<BotOutcome>
  /** Answers questions that come over the page, until `isDone`. Gives how many answers were put in. */
  readonly answerQuestions: (isDone: () => Promise<boolean>) => Promise<number>
  readonly close: () => Promise<void>
}

const connect = async (port: number, { url, signal }: PersonOptions) => {
  const deadline = performance.now() + startMsMax
  while (performance.now() < deadline) {
    if (signal?.aborted) break
    const asking = { signal: AbortSignal.timeout(5_000) }
    const isUp = await fetch(`http://127.0.0.1:${port}/json/version`, asking).then(
      (response) => response.ok,
      () => false,
    )
    if (isUp) {
      const browser = await chromium
        .connectOverCDP(`http://127.0.0.1:${port}`, { timeout: connectMsMax })
        .catch(() => undefined)
      const page = browser
        ?.contexts()[0]
        ?.pages()
        .find((one) => one.url().startsWith(url))
      if (browser && page) return { browser, page }
      await browser?.close()
    }
    await sleep(200)
  }
  throw new Error(`Chromium did not open ${url} in time`)
}

/** Whether the middle of an element is in sight and nothing lies over it; else which way to turn the wheel. */
const visibilityScript = `(element) => {
  const { x, y, width, height } = element.getBoundingClientRect()
  const [middleX, middleY] = [x + width / 2, y + height / 2]
  const hit = document.elementFromPoint(middleX, middleY)
  return { box: { x, y, width, height }, seen: hit !== null && (element.contains(hit) || hit.contains(element)), below: middleY > innerHeight / 2 }
}`
type ElementVisibility = { readonly box: Rectangle; readonly seen: boolean; readonly below: boolean }

const scrollIntoView = async (
  page: Page,
  sendInput: (line: string) => void,
  selector: string,
): Promise<Rectangle> => {
  await page.locator(selector).first().waitFor({ timeout: startMsMax })
  const look = `(${visibilityScript})(document.querySelector(${JSON.stringify(selector)}))`
  let lastY: number | undefined
  for (let attempt = 0; attempt < 80; attempt += 1) {
    const { box, seen, below } = await page.evaluate<ElementVisibility>(look)
    // While the page still scrolls, a press would miss the element.
    if (seen && box.y === lastY) return box
    lastY = box.y
    if (!seen) sendInput(`click ${below ? 5 : 4}`)
    // A wheel's step is drawn out over some frames.
    await sleep(seen ? 60 : 250)
  }
  throw new Error(`element ${selector} is not visible and at rest after 80 attempts`)
}

/** No window of Chromium is narrower. */
const windowWidthMin = 500
/** On a phone's screen the page ends where the screen does, though the window goes on beyond it. */
const limitPageWidth = async (page: Page, { width, height }: Screen): Promise<void> => {
  const devtools = await page.context().newCDPSession(page)
  const metrics = { width, height, deviceScaleFactor: 1, mobile: false }
  await devtools.send('Emulation.setDeviceMetricsOverride', metrics)
}

const startChromium = (
  { url, profile }: PersonOptions,
  environment: NodeJS.ProcessEnv,
  { folder, screen, port }: { folder: string; screen: Screen; port: number },
): ChildProcess =>
  startProcess(
    chromiumPath,
    [
      '--no-sandbox',
      '--no-first-run',
      '--no-default-browser-check',
      '--disable-gpu',
      '--kiosk',
      '--disable-background-networking',
      '--disable-sync',
      '--disable-features=Translate',
      '--window-position=0,0',
      `--window-size=${screen.width},${screen.height}`,
      `--user-data-dir=${profile ?? join(folder, 'profile')}`,
      `--remote-debugging-port=${port}`,
      url,
    ],
    { env: environment, stdio: 'ignore' },
  )

type OpenPage = {
  readonly page: Page
  readonly screen: Screen
  /** The file that holds the X server's picture. */
  readonly picture: string
  readonly sendInput: (line: string) => void
}

/** The actions of a person before an open page. */
const makePerson = (
  options: PersonOptions,
  { page, screen, picture, sendInput }: OpenPage,
): Omit<Person, 'close'> => {
  const random = createRandom(options.seed ?? 1)
  const library = options.library ?? []
  const family = library.length > 0 ? 'stroke_morph' : 'sigma_lognormal'
  const generate = limitDuration(generatorOf(family, library), strokeMsMax)
  const pointer = createPointer({ screen, random, generate, sendInput })
  const press = async (selector: string) => {
    const box = await scrollIntoView(page, sendInput, selector)
    await pointer.reach({ x: box.x + box.width / 2, y: box.y + box.height / 2 })
    await pointer.press()
  }
  const player = {
    page,
    pointer,
    captureArea: async (part: Rectangle) => readPicture(picture, part),
    random,
    signal: options.signal ?? AbortSignal.timeout(180_000),
    reactionMs: () => 220 * Math.exp(gaussian(random) * 0.2),
  }
  return {
    page,
    press,
    type: async (selector, text) => {
      await press(selector)
      for (const letter of text) {
        sendInput(`type --delay 0 -- ${JSON.stringify(letter)}`)
        await sleep(uniform(random, 70, 190))
      }
    },
    key: async (name) => {
      sendInput(`key ${name}`)
      await sleep(uniform(random, 70, 190))
    },
    passCheck: () => passCheck(player),
    answerQuestions: (isDone) => answerQuestions(player, isDone),
  }
}

/** Starts a screen, a browser and a person before it. Everything ends with `close`, also after a failure here. */
export const playPerson = async (options: PersonOptions): Promise<Person> => {
  const missing = missingForPerson()
  if (missing.length > 0)
    throw new Error(`not installed: ${missing.join(', ')}; run tools/ci/debian-packages.sh`)
  const folder = mkdtempSync(join(tmpdir(), 'pohf-person-'))
  const screen = options.screen ?? desktopScreen
  const started: ChildProcess[] = []
  const closers: (() => Promise<unknown>)[] = []
  const close = async () => {
    for (const closer of closers.toReversed()) await closer().catch(() => undefined)
    for (const child of started.toReversed()) await stopProcess(child)
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
  }
  try {
    const { server, display, picture } = await startScreen(folder, screen)
    started.push(server)
    // Chromium leaves temporary files behind: they go with our folder at the end.
    const environment = { ...process.env, DISPLAY: display, TMPDIR: folder }
    const port = await freePort()
    started.push(startChromium(options, environment, { folder, screen, port }))
    const input = startProcess('/usr/bin/xdotool', ['-'], {
      env: environment,
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    started.push(input)
    const { browser, page } = await connect(port, options)
    closers.push(() => browser.close())
    const sendInput = (line: string) => void input.stdin?.write(`${line}\n`)
    await page.waitForLoadState()
    if (screen.width < windowWidthMin) await limitPageWidth(page, screen)
    // Without a window manager nothing gives the window the keyboard focus.
    sendInput('search --sync --onlyvisible --class chromium windowfocus')
    return { ...makePerson(options, { page, screen, picture, sendInput }), close }
  } catch (error) {
    await close()
    throw error
  }
}

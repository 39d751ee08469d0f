// Bots that drive a real Chromium through its debugging protocol, one for each way to move.
import { setTimeout as sleep } from 'node:timers/promises'
import { type Browser, chromium, type Page } from 'playwright-core'
import {
  type CaptureArea,
  type PointerControl,
  passCheck,
  readOutcome,
  watchOutcome,
} from '../browser/check.ts'
import { servePage } from '../browser/page.ts'
import { playPerson } from '../browser/person.ts'
import { openStealthPage, passCheckByKeys, pressIn } from '../browser/stealth.ts'
import { type Family, generatorOf } from '../generators/index.ts'
import type { Generator, Point } from '../generators/types.ts'
import { gaussian, type Random, uniform } from '../random.ts'
import { decodePng } from '../vision/png.ts'
import type { Bot } from './bot.ts'

/** A way to move and press in a page. */
type PointerDriver = (
  page: Page,
  tools: { readonly random: Random; readonly generate: Generator },
) => PointerControl

const start: Point = { x: 400, y: 300 }

/** Plays the points of a generator through the debugging protocol, each at its time. */
const generatedMotion: PointerDriver = (page, { random, generate }) => {
  let at = start
  return {
    reach: async (to) => {
      const startedAt = performance.now()
      for (const { t, x, y } of generate(random, at, to)) {
        const waitMs = startedAt + t - performance.now()
        if (waitMs > 1) await sleep(waitMs)
        at = { x, y }
        await page.mouse.move(x, y)
      }
    },
    press: async () => {
      await sleep(uniform(random, 30, 110))
      await page.mouse.down()
      await sleep(uniform(random, 50, 110))
      await page.mouse.up()
    },
  }
}

/** The library's own steps: as many moves as asked for, as fast as they go. */
const steppedMotion: PointerDriver = (page, { random }) => ({
  reach: (to) => page.mouse.move(to.x, to.y, { steps: Math.round(uniform(random, 15, 60)) }),
  press: async () => {
    await page.mouse.down()
    await page.mouse.up()
  },
})

/** No way there at all: the pointer is where it clicks. What agents that read pages do. */
const jumpMotion: PointerDriver = (page, { random }) => {
  let at = start
  return {
    reach: async (to) => {
      await sleep(uniform(random, 100, 500))
      at = to
    },
    press: () => page.mouse.click(at.x, at.y),
  }
}

const dispatch = `async ([from, to, press]) => {
  const under = ({ x, y }) => {
    let element = document.elementFromPoint(x, y) ?? document.body
    while (element.shadowRoot?.elementFromPoint(x, y) && element.shadowRoot.elementFromPoint(x, y) !== element)
      element = element.shadowRoot.elementFromPoint(x, y)
    return element
  }
  const tell = (type, at, pressed) => under(at).dispatchEvent(new PointerEvent(type, {
    clientX: at.x, clientY: at.y, bubbles: true, composed: true, pointerType: 'mouse', buttons: pressed ? 1 : 0, detail: 1 }))
  if (press) return ['pointerdown', 'pointerup', 'click'].forEach((type) => tell(type, to, type === 'pointerdown'))
  for (let step = 1; step <= 25; step += 1) {
    const s = step / 25, eased = s * s * (3 - 2 * s)
    tell('pointermove', { x: from.x + (to.x - from.x) * eased, y: from.y + (to.y - from.y) * eased }, false)
    await new Promise((resolve) => requestAnimationFrame(resolve))
  }
}`

/** A script in the page that makes its own events. The browser marks them as not trusted. */
const scriptedMotion: PointerDriver = (page) => {
  let at = start
  const tell = (to: Point, press: boolean) =>
    page.evaluate(`(${dispatch})(${JSON.stringify([at, to, press])})`)
  return {
    reach: async (to) => {
      await tell(to, false)
      at = to
    },
    press: async () => void (await tell(at, true)),
  }
}

/** One browser serves all sessions; it ends with the process that started it. */
let launched: Promise<Browser> | undefined
export const launchBrowser = (): Promise<Browser> =>
  (launched ??= chromium.launch({
    executablePath: process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium',
    args: ['--no-sandbox'],
  }))

/** Closes the browser that the bots share, if there is one. */
export const closeBrowser = async (): Promise<void> => {
  const browser = await launched
  launched = undefined
  await browser?.close()
}

type BrowserBotOptions = {
  readonly driver: PointerDriver
  readonly family: Family
  readonly isHuman: boolean
}

const createBrowserBot =
  ({ driver, family, isHuman }: BrowserBotOptions): Bot =>
  async ({ target, pageUrl, library, random, signal }) => {
    const own = pageUrl === undefined ? await servePage(target) : undefined
    const context = await (await launchBrowser()).newContext({ viewport: { width: 1_366, height: 768 } })
    try {
      const page = await context.newPage()
      await page.goto(own?.url ?? pageUrl ?? '')
      const captureArea: CaptureArea = async (clip) =>
        decodePng(await page.screenshot({ clip, scale: 'css' }))
      return await passCheck({
        page,
        pointer: driver(page, { random, generate: generatorOf(family, library) }),
        captureArea,
        random,
        signal,
        reactionMs: () => (isHuman ? 280 * Math.exp(gaussian(random) * 0.25) : uniform(random, 20, 120)),
      })
    } finally {
      await context.close()
      own?.close()
    }
  }

const createGeneratedMotionBot = (family: Family): Bot =>
  createBrowserBot({ driver: generatedMotion, family, isHuman: true })

/** A person played through the operating system. */
const osInput: Bot = async ({ target, pageUrl, library, random, signal }) => {
  const own = pageUrl === undefined ? await servePage(target) : undefined
  const seed = Math.floor(random() * 2 ** 32)
  try {
    const person = await playPerson({ url: own?.url ?? pageUrl ?? '', library, seed, signal })
    try {
      return await person.passCheck()
    } finally {
      await person.close()
    }
  } finally {
    own?.close()
  }
}

/** The check by keys and words in a headless browser that hides that it is driven. */
const stealthBrowser: Bot = async ({ target, pageUrl }) => {
  const own = pageUrl === undefined ? await servePage(target) : undefined
  const { context, page } = await openStealthPage(await launchBrowser())
  try {
    await page.goto(own?.url ?? pageUrl ?? '')
    await watchOutcome(page)
    const answered = await passCheckByKeys(page, pressIn(page))
    const { sessionId, status } = await readOutcome(page)
    return { sessionId, status, probes: answered, answered }
  } finally {
    await context.close()
    own?.close()
  }
}

/** By the name of the family, the strongest first. Those that replay need a library. */
export const browserBots: readonly (readonly [string, Bot])[] = [
  ['os_input', osInput],
  ['stealth_browser', stealthBrowser],
  ['browser_stroke_replay', createGeneratedMotionBot('stroke_replay')],
  ['browser_sigma_lognormal', createGeneratedMotionBot('sigma_lognormal')],
  ['browser_bezier_minjerk', createGeneratedMotionBot('bezier_minjerk')],
  ['browser_ghost_cursor', createGeneratedMotionBot('ghost_cursor')],
  ['browser_windmouse', createGeneratedMotionBot('windmouse')],
  ['browser_pw_steps', createBrowserBot({ driver: steppedMotion, family: 'pw_steps', isHuman: false })],
  ['browser_teleport_click', createBrowserBot({ driver: jumpMotion, family: 'pw_steps', isHuman: false })],
  [
    'browser_dispatch_event',
    createBrowserBot({ driver: scriptedMotion, family: 'js_smoothstep', isHuman: false }),
  ],
]

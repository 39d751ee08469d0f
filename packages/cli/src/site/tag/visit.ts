import { setTimeout as sleep } from 'node:timers/promises'
import type { CDPSession, ConsoleMessage, Page, Request, Response } from 'playwright-core'
import { callFromPage, readFrame, scriptPathOf, type Frame } from './page.ts'

export type Limits = {
  /** For the page to load. */
  readonly loadMs: number
  /** For the check to appear after that. */
  readonly waitMs: number
  /** For an answer of a frame: one whose own scripts run without end gives none. */
  readonly answerMs: number
}

/** How a script arrived. */
export type LoadedScript = {
  readonly url: string
  readonly status: number | null
  readonly mediaType: string
  readonly isFromServiceWorker: boolean
  /** Null where nothing arrived, or too much. */
  readonly body: Buffer | null
  /** The browser's reason, such as csp or net::ERR_CONNECTION_REFUSED. */
  readonly failure: string | null
}

/** One load of the page. */
export type Visit = {
  readonly status: number | null
  /** Why there is no page to read. */
  readonly failure: string | null
  readonly redirects: number
  readonly headers: Readonly<Record<string, string>>
  readonly hasLoaded: boolean
  readonly frames: readonly Frame[]
  readonly scripts: readonly LoadedScript[]
  readonly errors: readonly string[]
  readonly isFetchReplaced: boolean
}

/** The answer to a call that a frame made; without one, `blockedBy` with the browser's reason. */
export type PageCall = { readonly status: number; readonly text: string } | { readonly blockedBy: string }

const pageBytesMax = 20_000_000
const scriptBytesMax = 1_000_000
const errorsMax = 5
const scriptsMax = 20
const framesMax = 20
/** For an answer of the browser itself. */
const browserMs = 5_000

/** The result, or undefined when it fails or takes longer. */
const within = <T>(promise: Promise<T>, ms: number): Promise<T | undefined> =>
  Promise.race([promise.catch(() => undefined), sleep(ms, undefined, { ref: false })])

const firstUrlOf = (request: Request): string => {
  let first = request
  for (let before = first.redirectedFrom(); before; before = first.redirectedFrom()) first = before
  return first.url()
}

const readScript = async (response: Response): Promise<LoadedScript> => {
  const body = response.ok() ? await within(response.body(), browserMs) : undefined
  return {
    url: firstUrlOf(response.request()),
    status: response.status(),
    mediaType: response.headers()['content-type'] ?? '',
    isFromServiceWorker: response.fromServiceWorker(),
    body: body === undefined || body.length > scriptBytesMax ? null : body,
    failure: null,
  }
}

const isRedirect = (response: Response): boolean => response.status() >= 300 && response.status() < 400

const isAboutUs = (text: string): boolean => /pohf|\/(check|tag|visit)\.js\b/i.test(text)

/** Collects what the browser reports about our scripts while a page loads. */
const watchPage = (page: Page) => {
  const loading = new Map<string, Promise<LoadedScript>>()
  const failures = new Map<string, string>()
  const errors: string[] = []
  page.on('response', (response) => {
    const url = firstUrlOf(response.request())
    const isOurs = scriptPathOf(url) !== undefined && response.request().resourceType() === 'script'
    if (isOurs && !isRedirect(response) && loading.size < scriptsMax) loading.set(url, readScript(response))
  })
  page.on('requestfailed', (request) => {
    if (failures.size < 100) failures.set(firstUrlOf(request), request.failure()?.errorText ?? 'failed')
  })
  const note = (text: string) => {
    // The browser's own reports about policies have findings of their own.
    const isReported = /Content Security Policy|Mixed Content/.test(text)
    if (errors.length < errorsMax && !isReported) errors.push(text.slice(0, 300))
  }
  page.on('console', (message: ConsoleMessage) => {
    if (message.type() !== 'error') return
    const text = message.text().slice(0, 2_000)
    if (isAboutUs(text) || scriptPathOf(message.location().url) !== undefined) note(text)
  })
  page.on('pageerror', (error) => {
    const text = `${error.message.slice(0, 300)} ${(error.stack ?? '').slice(0, 2_000)}`
    if (isAboutUs(text)) note(error.message)
  })
  const readScripts = async (): Promise<LoadedScript[]> => {
    const scripts = await Promise.all(loading.values())
    const missing = [...failures].filter(
      ([url]) => scriptPathOf(url) !== undefined && !scripts.some((script) => script.url === url),
    )
    const none = { status: null, mediaType: '', isFromServiceWorker: false, body: null }
    return [
      ...scripts.map((script) => ({ ...script, failure: failures.get(script.url) ?? null })),
      ...missing.map(([url, failure]) => ({ url, ...none, failure })),
    ]
  }
  return { readScripts, failures, errors }
}

type FrameTree = { readonly frame: { readonly id: string }; readonly childFrames?: readonly FrameTree[] }
const frameIdsOf = ({ frame, childFrames = [] }: FrameTree): string[] => [
  frame.id,
  ...childFrames.flatMap(frameIdsOf),
]

/** A frame and a way to run code in it, in a world of its own. */
type FrameWorld = { readonly evaluate: (code: string) => Promise<unknown> }

const openWorld = async (session: CDPSession, frameId: string): Promise<FrameWorld> => {
  const { executionContextId } = await session.send('Page.createIsolatedWorld', {
    frameId,
    worldName: 'pohf',
  })
  const evaluate = async (expression: string): Promise<unknown> => {
    const { result } = await session.send('Runtime.evaluate', {
      expression,
      contextId: executionContextId,
      returnByValue: true,
      awaitPromise: true,
    })
    return typeof result.value === 'string' ? JSON.parse(result.value) : null
  }
  return { evaluate }
}

/** Frames of other sites have a session of their own; the others are in the session of the page. */
const listWorlds = async (page: Page, session: CDPSession): Promise<FrameWorld[]> => {
  const inner = await Promise.all(
    page
      .frames()
      .slice(1, framesMax)
      .map((frame) => within(page.context().newCDPSession(frame), browserMs)),
  )
  const worlds: FrameWorld[] = []
  for (const one of [session, ...inner.filter((found) => found !== undefined)]) {
    const { frameTree } = await one.send('Page.getFrameTree')
    for (const id of frameIdsOf(frameTree).slice(0, framesMax)) worlds.push(await openWorld(one, id))
  }
  return worlds
}

type FoundFrame = { readonly frame: Frame; readonly world: FrameWorld }

const readFrames = async (page: Page, session: CDPSession, answerMs: number): Promise<FoundFrame[]> => {
  const worlds = (await within(listWorlds(page, session), answerMs)) ?? []
  const found = await Promise.all(
    worlds.map(async (world) => {
      const frame = (await within(world.evaluate(readFrame), answerMs)) as Frame | null | undefined
      return frame ? [{ frame, world }] : []
    }),
  )
  return found.flat()
}

/** Whether the check is there, or the page has the script of visits alone, which needs no element. */
const hasWhatItLoads = ({ controls, scripts }: Frame): boolean =>
  controls.some((control) => control.isDefined) ||
  (scripts.length > 0 && scripts.every(({ src }) => scriptPathOf(src) === '/visit.js'))

/** Reads until the check is there, at most for the time to wait. */
const waitForCheck = async (
  page: Page,
  session: CDPSession,
  { waitMs, answerMs }: Limits,
): Promise<FoundFrame[]> => {
  const deadline = performance.now() + waitMs
  for (;;) {
    const frames = await readFrames(page, session, answerMs)
    const isThere = frames.some(({ frame }) => hasWhatItLoads(frame))
    if (isThere || performance.now() >= deadline) return frames
    await sleep(250)
  }
}

/** By the browser's own description of the function: a script cannot change that. */
const readFetch = async (session: CDPSession): Promise<boolean> => {
  const answer = await within(
    session.send('Runtime.evaluate', { expression: 'fetch', timeout: 1_000 }),
    browserMs,
  )
  const text = answer?.result.description ?? ''
  return text !== '' && !(text.length < 100 && text.includes('[native code]'))
}

const countRedirects = (response: Response | null): number => {
  let count = 0
  for (let request = response?.request().redirectedFrom(); request; request = request.redirectedFrom())
    count += 1
  return count
}

/** Resolves when the page has sent too much. */
const watchBytes = async (session: CDPSession): Promise<{ readonly tooLarge: Promise<'too large'> }> => {
  let bytes = 0
  const tooLarge = new Promise<'too large'>((resolve) => {
    session.on('Network.dataReceived', ({ dataLength }) => {
      bytes += dataLength
      if (bytes > pageBytesMax) resolve('too large')
    })
  })
  // What the browser keeps for us to read: our scripts.
  await session.send('Network.enable', { maxTotalBufferSize: 20_000_000, maxResourceBufferSize: 2_000_000 })
  return { tooLarge }
}

/** The browser reports a call that a policy blocks as an issue and not as a failed request. */
const watchPolicies = async (session: CDPSession, failures: Map<string, string>): Promise<void> => {
  session.on('Audits.issueAdded', ({ issue }) => {
    const { blockedURL, isReportOnly } = issue.details.contentSecurityPolicyIssueDetails ?? {}
    if (blockedURL !== undefined && isReportOnly === false && failures.size < 100)
      failures.set(blockedURL, 'csp')
  })
  await session.send('Audits.enable')
}

const reasonOf = (error: unknown): string => {
  const text = error instanceof Error ? error.message : String(error)
  return /net::\w+/.exec(text)?.[0] ?? (/Timeout/.test(text) ? 'timeout' : (text.split('\n')[0] ?? ''))
}

type LoadResult = {
  readonly response: Response | null
  readonly failure: string | null
  readonly hasLoaded: boolean
}

const loadPage = async (page: Page, url: string, loadMs: number): Promise<LoadResult> => {
  const deadline = performance.now() + loadMs
  try {
    const response = await page.goto(url, { waitUntil: 'domcontentloaded', timeout: loadMs })
    const remainingMs = Math.max(1, deadline - performance.now())
    const hasLoaded = await page.waitForLoadState('load', { timeout: remainingMs }).then(
      () => true,
      () => false,
    )
    return { response, failure: null, hasLoaded }
  } catch (error) {
    return { response: null, failure: reasonOf(error), hasLoaded: false }
  }
}

/** Loads the address in this page and reads it. Calls in the page are possible until it is loaded again. */
export const visitPage = async (
  page: Page,
  url: string,
  limits: Limits & { readonly viewport: { readonly width: number; readonly height: number } },
) => {
  await page.setViewportSize(limits.viewport)
  const session = await page.context().newCDPSession(page)
  const watch = watchPage(page)
  await watchPolicies(session, watch.failures)
  const { tooLarge } = await watchBytes(session)
  const none = { response: null, hasLoaded: false }
  const { response, failure, hasLoaded } = await Promise.race([
    loadPage(page, url, limits.loadMs),
    tooLarge.then((reason) => ({ ...none, failure: reason })),
  ])
  const found = failure === null ? await waitForCheck(page, session, limits) : []
  const visit: Visit = {
    status: response?.status() ?? null,
    failure: failure ?? (found.length === 0 ? 'unreadable' : null),
    redirects: countRedirects(response),
    headers: response?.headers() ?? {},
    hasLoaded,
    frames: found.map(({ frame }) => frame),
    scripts: await watch.readScripts(),
    errors: [...watch.errors],
    isFetchReplaced: found.length > 0 && (await readFetch(session)),
  }
  return {
    visit,
    call: async (frame: Frame, target: string, body?: string): Promise<PageCall> => {
      const world = found.find((one) => one.frame === frame)?.world
      watch.failures.delete(target)
      const answer = world && (await within(world.evaluate(callFromPage(target, body)), 10_000))
      return (answer ?? { blockedBy: watch.failures.get(target) ?? 'no answer' }) as PageCall
    },
  }
}
export type OpenVisit = Awaited<ReturnType<typeof visitPage>>

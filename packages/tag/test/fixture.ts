import { createServer, request as ask, type IncomingMessage, type ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BrowserContext, Page } from 'playwright-core'
import { readChunk, type ProbeTruth, type TelemetryChunk } from '@pohf/protocol/telemetry'
import { tagPages } from '../../server/src/discovery/tag.ts'
import { inTransaction } from '../../server/src/platform/db/db.ts'
import { readRecords } from '../../server/src/sessions/index.ts'
import { expectedAnswerOf } from '../../server/src/sessions/recording/probes.ts'
import type { RecordingState } from '../../server/src/sessions/recording/state.ts'
import { builtPages } from '../../server/test/fixtures/processes/built-pages.ts'
import { startHarness } from '../../server/test/fixtures/harness.ts'

export const listen = async (answer: (request: IncomingMessage, response: ServerResponse) => void) => {
  // As long as the API: its answers pass through with its own limit, and Node closes idle connections after 5 s. A call that met
  // such a close on a busy machine got ECONNRESET.
  const server = createServer({ keepAliveTimeout: 72_000 }, answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`, close }
}
const bodyOf = async (request: IncomingMessage): Promise<string> => {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  return Buffer.concat(parts).toString('utf8')
}

const pageOf = (script: string, body: string) =>
  `<!doctype html><html lang="en"><head><title>A shop</title><meta name="color-scheme" content="light dark"><meta name="viewport" content="width=device-width, initial-scale=1">${script}</head><body><main><h1>A shop</h1>${body}</main></body></html>`

type Harness = Awaited<ReturnType<typeof startHarness>>

type Answer = Readonly<Record<string, unknown>>

const makeNetwork = () => ({
  /** Origins whose calls do not arrive, and whose answers are lost on the way back. */
  cut: new Set<string>(),
  mute: new Set<string>(),
  /** Origins whose calls are held back, each until its promise resolves. */
  held: new Map<string, Promise<void>>(),
  /** Answers that differ from the service's own, for an origin and the end of a path. */
  changed: new Map<string, (answer: Answer) => Answer>(),
  requests: [] as { path: string; origin: string; body: string }[],
  /** When an answer last went to an origin, by `performance.now`. */
  answeredAt: new Map<string, number>(),
})

const passChanged = async (
  answer: IncomingMessage,
  response: ServerResponse,
  change: (answer: Answer) => Answer,
): Promise<void> => {
  const text = JSON.stringify(change(JSON.parse(await bodyOf(answer)) as Answer))
  const { 'content-length': _, ...headers } = answer.headers
  response.writeHead(answer.statusCode ?? 502, headers).end(text)
}

/** The built scripts, and the API behind a connection that tests can cut. */
const openService = async (harness: Harness, folder: string, network: ReturnType<typeof makeNetwork>) => {
  await harness.app.api.listen({ host: '127.0.0.1', port: 0 })
  const [api] = harness.app.api.addresses()
  const port = typeof api === 'object' ? api.port : 0
  const scripts = tagPages(folder)
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { url = '', method, headers } = request
    const script = scripts.find((page) => page.path === url)
    if (script) {
      const {
        text,
        mediaType,
        headers: own,
      } = await script.handler({ params: {}, query: {}, header: () => undefined })
      return void response.writeHead(200, { 'content-type': mediaType, ...own }).end(text)
    }
    const body = await bodyOf(request)
    const origin = headers.origin ?? ''
    network.requests.push({ path: `${method} ${url}`, origin, body })
    await network.held.get(origin)
    if (network.cut.has(origin)) return void request.socket.destroy()
    const onward = ask({ host: '127.0.0.1', port, path: url, method, headers }, (answer) => {
      if (network.mute.has(origin)) return void response.destroy()
      network.answeredAt.set(origin, performance.now())
      const change = network.changed.get(`${origin} ${url.slice(url.lastIndexOf('/'))}`)
      if (change) return void passChanged(answer, response, change)
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    onward.on('error', () => response.destroy())
    onward.end(body)
  }
  return listen((request, response) => void serve(request, response))
}

type SiteScript = 'check' | 'tag' | 'task' | 'visit' | null

/**
 * A publisher's site on another origin, with a content policy that allows the service's scripts and calls and nothing
 * else: no style, no image, nothing inline.
 */
const openSite = async (serviceUrl: string, content: string, script: SiteScript, attributes = '') => {
  const policy = `default-src 'none'; script-src ${serviceUrl}; connect-src ${serviceUrl}; form-action 'self'; base-uri 'none'`
  const sent: { path: string; body: string }[] = []
  const tag = script ? `<script async ${attributes} src="${serviceUrl}/${script}.js"></script>` : ''
  const site = await listen((request, response) => {
    void bodyOf(request).then((body) => {
      if (request.url !== '/favicon.ico') sent.push({ path: `${request.method} ${request.url}`, body })
      response
        .writeHead(200, { 'content-type': 'text/html', 'content-security-policy': policy })
        .end(request.method === 'POST' ? pageOf('', '<p id="thanks">Thank you</p>') : pageOf(tag, content))
    })
  })
  return { ...site, sent }
}

/** The right answer to the question that is open in this session. Only the database knows it. */
const readTruth = async (harness: Harness, sessionId: string): Promise<ProbeTruth | undefined> => {
  const { rows } = await harness.owner.query<{ state: RecordingState }>(
    'select state from session_recorders where session_id = $1',
    [sessionId],
  )
  const open = rows[0]?.state.schedule.open
  return open ? expectedAnswerOf(open.probe) : undefined
}

/** The chunks that a session recorded. */
const readChunks = async (
  harness: Harness,
  agentId: `agt_${string}`,
  sessionId: string,
): Promise<TelemetryChunk[]> => {
  const opened = await inTransaction(harness.ctx, agentId, (tx) =>
    readRecords(tx, harness.ctx, { agentId, mode: 'test', sessionId }),
  )
  return (opened?.records ?? []).map(({ chunk }, index) => {
    const read = readChunk(chunk)
    if (!read) throw new Error(`record ${index} of session ${sessionId} holds no chunk of v1`)
    return read
  })
}

/** The real server on its own database, behind a connection that tests can cut, and sites that embed the check. */
export const startFixture = async () => {
  const folder = await builtPages('tag')
  const harness = await startHarness()
  const network = makeNetwork()
  const service = await openService(harness, folder, network)
  const answered = { checks: 0, atFirstAttempt: 0 }
  return {
    answered,
    harness,
    service,
    network,
    open: (content: string, script: SiteScript, attributes?: string) =>
      openSite(service.url, content, script, attributes),
    truthOfSession: (sessionId: string) => readTruth(harness, sessionId),
    chunksOf: (agentId: `agt_${string}`, sessionId: string) => readChunks(harness, agentId, sessionId),
    close: () => {
      service.close()
      // A slow machine repeats some checks; where each needs a second attempt, the first one has a fault.
      if (answered.checks >= 3 && answered.atFirstAttempt === 0)
        throw new Error(`none of ${answered.checks} checks ended as wanted at its first attempt`)
    },
  }
}
export type Fixture = Awaited<ReturnType<typeof startFixture>>

/** Which session a page opened last. */
const sessions = new WeakMap<Page, string>()
export const trackSession = (page: Page): void =>
  void page.on('response', (response) => {
    if (!response.url().endsWith('/api/sessions') || !response.ok()) return
    void response.json().then(
      ({ sessionId }: { sessionId: string }) => sessions.set(page, sessionId),
      () => undefined,
    )
  })
export const sessionOf = (page: Page): string => {
  const sessionId = sessions.get(page)
  if (!sessionId) throw new Error('this page has opened no session')
  return sessionId
}

/** The options and the script of a person's browser, which does not say that a program drives it. */
export const personsBrowser = {
  userAgent:
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36',
} as const
export const actAsPerson = async (context: BrowserContext): Promise<void> =>
  void (await context.addInitScript(
    'Object.defineProperty(Navigator.prototype, "webdriver", { get: () => false })',
  ))

export const inState = (page: Page, state: string) => page.locator(`pohf-check [data-state=${state}]`)
export const checkText = (page: Page) => page.locator('pohf-check .w').innerText()
/** What has the focus within the check. */
export const focusedText = (page: Page) =>
  page.evaluate<string>("document.querySelector('pohf-check').shadowRoot.activeElement?.textContent ?? ''")

type CheckSnapshot = {
  readonly state: string
  readonly text: string
  /** The time of a question runs. */
  readonly runs: boolean
  readonly box: {
    readonly x: number
    readonly y: number
    readonly width: number
    readonly height: number
  } | null
}
/** Reads the check in one call: a question is open for a short time only. */
const readCheck = (page: Page): Promise<CheckSnapshot> =>
  page.evaluate<CheckSnapshot>(`(() => {
    const check = document.querySelector('pohf-check, pohf-task').shadowRoot.querySelector('.w')
    const canvas = check.querySelector('canvas')
    const { x, y, width, height } = canvas ? canvas.getBoundingClientRect() : {}
    return { state: check.dataset.state, text: check.innerText, runs: check.querySelector('.bar.runs') !== null, box: canvas && { x, y, width, height } }
  })()`)

export type AnswerOptions = {
  /** Milliseconds before each answer. */
  readonly reactionMs?: number
  readonly by?: 'mouse' | 'touch'
  /** The number of wrong answers at the beginning. */
  readonly wrong?: number
  /** Called after each accepted answer; true ends it. */
  readonly stop?: (answered: number) => boolean | Promise<boolean>
}

/** Pictures are 320 by 200, whatever their size on the screen. */
const pointAt = async (
  page: Page,
  box: NonNullable<CheckSnapshot['box']>,
  place: { x: number; y: number },
  by: AnswerOptions['by'],
): Promise<void> => {
  const [x, y] = [box.x + (place.x * box.width) / 320, box.y + (place.y * box.height) / 200]
  if (by === 'touch') return page.touchscreen.tap(x, y)
  await page.mouse.move(x, y, { steps: 5 })
  await page.mouse.down()
  // Two presses shorter than 5 ms are no person's.
  await sleep(20)
  await page.mouse.up()
}

const asking = new Set(['opening', 'point', 'choose', 'waiting'])

/**
 * Answers questions as a person would, until the check has ended or is stuck. Returns how many answers were put in: a busy
 * machine may be too slow for one, and then the service asks another.
 */
export const answerAll = async (
  page: Page,
  fixture: Fixture,
  manner: AnswerOptions = {},
): Promise<number> => {
  const tried = new Set<string>()
  let answered = 0
  const deadline = performance.now() + 60_000
  while (performance.now() < deadline) {
    const { state, runs, box } = await readCheck(page)
    if (!asking.has(state)) return answered
    const sessionId = sessions.get(page)
    const truth = runs && sessionId ? await fixture.truthOfSession(sessionId) : undefined
    if (!truth || tried.has(truth.id)) {
      await sleep(30)
      continue
    }
    tried.add(truth.id)
    await sleep(manner.reactionMs ?? 300)
    const isWrong = answered < (manner.wrong ?? 0)
    if (truth.kind === 'choose')
      await page.keyboard.press(String(((truth.choice + (isWrong ? 1 : 0)) % 4) + 1))
    else if (box) await pointAt(page, box, { x: (truth.x + (isWrong ? 90 : 0)) % 320, y: truth.y }, manner.by)
    answered += 1
    if (await manner.stop?.(answered)) return answered
  }
  throw new Error('the check did not end within a minute')
}

/** How many attempts a busy machine may need for a whole check. */
const attemptsMax = 5
/**
 * Whether a slow machine can have ended an attempt: too few answers arrived in time, or none, or the recording has a gap.
 * Other reasons are faults.
 */
const isTooSlow = ({ state, text }: CheckSnapshot): boolean =>
  state === 'stuck' ||
  (state === 'retry' && /Too few questions|Zu wenige Fragen|was interrupted|wurde unterbrochen/.test(text))

/**
 * Answers until the check is in this state. After an attempt that was too slow it tries again, as a person would; every other
 * end is an error. Returns how many answers the last attempt took.
 */
export const answerUntil = async (
  page: Page,
  fixture: Fixture,
  wanted: 'passed' | 'retry' | 'task',
  manner: Omit<AnswerOptions, 'stop'> = {},
): Promise<number> => {
  let ends = ''
  for (let attempt = 1; attempt <= attemptsMax; attempt++) {
    const answered = await answerAll(page, fixture, manner)
    const snapshot = await readCheck(page)
    if (snapshot.state === wanted) {
      fixture.answered.checks += 1
      if (attempt === 1) fixture.answered.atFirstAttempt += 1
      if (ends !== '')
        process.stdout.write(`${wanted} at attempt ${attempt} on a slow machine, after${ends}\n`)
      return answered
    }
    ends += `\n${snapshot.state}: ${snapshot.text}`
    // A check that lost its connection continues by itself when the connection is back.
    if (asking.has(snapshot.state)) continue
    if (!isTooSlow(snapshot)) break
    // In one step, because a check that continues meanwhile no longer has the button.
    await page.evaluate(
      "document.querySelector('pohf-check, pohf-task').shadowRoot.querySelector('.again')?.click()",
    )
  }
  throw new Error(`the check is not ${wanted}; its attempts ended as${ends}`)
}

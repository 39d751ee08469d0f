import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import type { TelemetryChunk, TelemetryEvent } from '@pohf/protocol/telemetry'
import { findChromium, launch } from '../../web/test/browser.ts'
import { actAsPerson, personsBrowser, startFixture, trackSession } from './fixture.ts'

const chromium = findChromium()
export const skip = 'missing' in chromium ? chromium.missing : false
export const fixture = 'path' in chromium ? await startFixture() : undefined
/** The whole browser: in the headless shell a tab that is left stays visible. */
export const browser = 'path' in chromium ? await launch(chromium.path, { isWhole: true }) : undefined
after(async () => {
  await browser?.close()
  fixture?.close()
})

export type VisitContext = {
  readonly page: Page
  readonly context: BrowserContext
  readonly site: Awaited<ReturnType<NonNullable<typeof fixture>['open']>>
  readonly fixture: NonNullable<typeof fixture>
  readonly agentId: `agt_${string}`
  readonly apiKey: string
}
type VisitOptions = {
  readonly script?: 'check' | 'tag' | 'visit'
  readonly scriptAttributes?: string
  readonly attributes?: string
  readonly view?: BrowserContextOptions
  readonly before?: string
  readonly page?: string
}

const listenForEvents = (page: Page) =>
  page.evaluate<void>(
    "window.told = []; for (const type of ['pohf-done', 'pohf-failed', 'pohf-expired']) addEventListener(type, ({ detail }) => told.push([type, detail.verdict ?? detail.code ?? '']))",
  )
/** What the page was told of the check, in order. */
export const toldEvents = (page: Page) => page.evaluate<string[][]>('told')

/** Long enough for the ten seconds of silence, on a busy machine. */
const stepMsMax = 30_000

/** Visits are collected here and run two at a time. */
const visits: { readonly name: string; readonly run: () => Promise<void> }[] = []

/** A visit to a publisher's page in a browser of its own. */
export const visit = (
  name: string,
  options: VisitOptions,
  body: (visited: VisitContext) => Promise<void>,
): void =>
  void visits.push({
    name,
    run: async () => {
      assert.ok(browser && fixture)
      const { agentId, apiKey } = await fixture.harness.register('test')
      const form = `<form method="post" action="/send"><label>Name <input name="who"></label><pohf-check site="${agentId}" ${options.attributes ?? ''}></pohf-check><button id="send">Send</button></form>`
      const site = await fixture.open(
        options.page ?? form,
        options.script ?? 'check',
        options.scriptAttributes,
      )
      const context = await browser.newContext({
        viewport: { width: 1280, height: 800 },
        ...personsBrowser,
        ...options.view,
      })
      context.setDefaultTimeout(stepMsMax)
      const page = await context.newPage()
      const faults: string[] = []
      page.on('pageerror', (error) => faults.push(error.message))
      page.on('console', (message) => {
        if (message.type() === 'error' && !/ERR_|favicon|status of 40/.test(message.text()))
          faults.push(message.text())
      })
      trackSession(page)
      await actAsPerson(context)
      try {
        if (options.before) await page.addInitScript(options.before)
        await page.goto(site.url)
        await page.waitForFunction('window.pohf')
        await listenForEvents(page)
        await body({ page, context, site, fixture, agentId, apiKey })
        assert.deepEqual(faults, [], 'no fault, and nothing that the policy forbids')
      } finally {
        await context.close()
        site.close()
      }
    },
  })

export const startCheck = (page: Page): Promise<void> => page.click('pohf-check .go')
export const eventsOf = (chunks: readonly TelemetryChunk[]): TelemetryEvent[] =>
  chunks.flatMap(({ events }) => [...events])
export const answersOf = (chunks: readonly TelemetryChunk[]) =>
  eventsOf(chunks).filter((event) => event.type === 'point' || event.type === 'choose')
export const readSession = async ({ fixture, apiKey }: VisitContext, sessionId: string) =>
  (await fixture.harness.call('GET', `/api/agents/sessions/${sessionId}`, { key: apiKey })).json

/** Counts, by the browser's own account, what our script listens to on the window and the document. */
export const listenerCounter = async (
  context: BrowserContext,
  page: Page,
): Promise<() => Promise<number>> => {
  const devtools = await context.newCDPSession(page)
  const own = new Set<string>()
  devtools.on('Debugger.scriptParsed', ({ url, scriptId }) => {
    if (url.endsWith('/check.js')) own.add(scriptId)
  })
  await devtools.send('Debugger.enable')
  assert.equal(own.size, 1)
  return async () => {
    let count = 0
    for (const expression of ['window', 'document', 'document.documentElement', 'document.body']) {
      const { result } = await devtools.send('Runtime.evaluate', { expression })
      const { listeners } = await devtools.send('DOMDebugger.getEventListeners', {
        objectId: result.objectId ?? '',
      })
      count += listeners.filter(({ scriptId }) => own.has(scriptId)).length
    }
    return count
  }
}

/** Runs the visits of this file, two at a time. */
export const runVisits = (): void =>
  void describe('a visit', { concurrency: 2 }, () => {
    for (const { name, run } of visits) void test(name, { skip }, run)
  })

// The same recording evaluated in Chromium and in Node must have the same bits.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { stripTypeScriptTypes } from 'node:module'
import type { AddressInfo } from 'node:net'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { findChromium, launch } from '../../web/test/browser.ts'
import { currentModel } from '../src/current-model.ts'
import { evaluateMotion, scoreSession, type MotionPoint } from '../src/index.ts'
import { inputModel } from '../src/input-model.ts'
import { keyboardPerson, mousePerson, newVisitorContext, recordOf, touchPerson } from './recordings.ts'
import { straightRecording, wobblyRecording } from './traces.ts'

const sources = resolve(import.meta.dirname, '../src')

const protocol = resolve(import.meta.dirname, '../../protocol/src/sessions')
const readable = (path: string): string => stripTypeScriptTypes(readFileSync(path, 'utf8'))
const html = `<!doctype html><title>scorer</title>
<script type="importmap">{"imports":{"@pohf/protocol/telemetry":"/protocol/telemetry.ts","@pohf/protocol/probes":"/protocol/probes.ts"}}</script>`

/** Serves the sources of the package as a browser can read them, and nothing else. */
const serve = () =>
  createServer((request, response) => {
    const path = new URL(request.url ?? '/', 'http://localhost').pathname
    if (path === '/') {
      response.setHeader('content-type', 'text/html').end(html)
    } else if (/^\/protocol\/(?:telemetry|probes)\.ts$/.test(path)) {
      response
        .setHeader('content-type', 'text/javascript')
        .end(readable(resolve(protocol, path.slice('/protocol/'.length))))
    } else if (/^\/[a-z-]+\.ts$/.test(path)) {
      response.setHeader('content-type', 'text/javascript').end(readable(resolve(sources, `.${path}`)))
    } else if (/^\/models\/[a-z0-9.-]+\.json$/.test(path)) {
      response.setHeader('content-type', 'application/json').end(readFileSync(resolve(sources, `.${path}`)))
    } else {
      response.writeHead(404).end()
    }
  })

const chromium = findChromium()

void test(
  'a recording has the same evaluation and score, bit for bit, in Chromium and in Node',
  { skip: 'missing' in chromium ? chromium.missing : false },
  async (context) => {
    assert.ok('path' in chromium)
    const server = serve()
    await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
    context.after(() => server.close())
    const browser = await launch(chromium.path)
    context.after(() => browser.close())
    const page = await browser.newPage()
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
    const recordings: MotionPoint[][] = [
      straightRecording(12),
      ...Array.from({ length: 20 }, (_, seed) => wobblyRecording(seed + 1, 3 + seed)),
    ]
    const there = await page.evaluate<string>(`(async () => {
      const { evaluateMotion } = await import('/index.ts')
      const { currentModel } = await import('/current-model.ts')
      return JSON.stringify(${JSON.stringify(recordings)}.map((points) => evaluateMotion(points, currentModel)))
    })()`)
    const sessions = [mousePerson(), keyboardPerson(), touchPerson({ answers: [true, false, true] })].map(
      recordOf,
    )
    const scoredThere = await page.evaluate<string>(`(async () => {
      const { scoreSession } = await import('/index.ts')
      const { inputModel } = await import('/input-model.ts')
      const context = ${JSON.stringify(newVisitorContext)}
      return JSON.stringify(${JSON.stringify(sessions)}.map((records) => scoreSession(records, context, inputModel)))
    })()`)
    assert.equal(
      scoredThere,
      JSON.stringify(sessions.map((records) => scoreSession(records, newVisitorContext, inputModel))),
    )
    // JSON writes the shortest text that names a double, so equal text is equal bits.
    assert.equal(there, JSON.stringify(recordings.map((points) => evaluateMotion(points, currentModel))))
    assert.ok(there.includes('"p":0.'), 'no recording was long enough')
  },
)

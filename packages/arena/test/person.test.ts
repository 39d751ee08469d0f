import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { missingForPerson, playPerson } from '../src/index.ts'

const page = `<!doctype html><title>Page</title><input id="name"><button id="go" style="position:absolute;left:900px;top:500px">Go</button>
<script>window.seen = []; for (const type of ['pointermove', 'pointerdown', 'click', 'keydown'])
  addEventListener(type, (event) => seen.push([type, event.isTrusted]), true)
window.way = 0; addEventListener('pointermove', (event) => {
  for (const { clientX, clientY } of event.getCoalescedEvents())
    if (!document.elementFromPoint(clientX, clientY)?.matches('#name, #go')) way += 1
}, true)</script>`

const missing = missingForPerson()

test(
  'a person is seen as one: trusted events, a way there, no sign of automation',
  { skip: missing.length > 0 ? `not installed: ${missing.join(', ')}` : false },
  async () => {
    const server = createServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end(page)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = server.address()
    const port = typeof address === 'object' && address ? address.port : 0
    const person = await playPerson({ url: `http://127.0.0.1:${port}/`, seed: 5 })
    try {
      await person.type('#name', 'Ada')
      await person.press('#go')
      await person.page.waitForFunction(`seen.filter(([type]) => type === 'click').length === 2`)
      const seen = await person.page.evaluate<[string, boolean][]>('seen')
      assert.equal(await person.page.evaluate('navigator.webdriver'), false)
      assert.equal(await person.page.inputValue('#name'), 'Ada')
      assert.ok(seen.every(([, isTrusted]) => isTrusted))
      // A jump is seen nowhere but where it ends. How many places a way has depends on how often a busy browser looks.
      const way = await person.page.evaluate<number>('way')
      assert.ok(way >= 5, `${way} places beside the two elements`)
    } finally {
      await person.close()
      server.close()
    }
  },
)

const startedHere = (): string[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/status`, 'utf8').includes(`\nPPid:\t${process.pid}\n`)
      } catch {
        // It ended while we looked.
        return false
      }
    })

test(
  'a page that does not open leaves nothing behind, no process and no file',
  { skip: missing.length > 0 },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'pohf-nothing-'))
    const before = process.env['TMPDIR']
    process.env['TMPDIR'] = folder
    try {
      await assert.rejects(playPerson({ url: 'http://127.0.0.1:9/', signal: AbortSignal.timeout(5_000) }))
      assert.deepEqual(readdirSync(folder), [])
      assert.deepEqual(startedHere(), [])
    } finally {
      if (before === undefined) delete process.env['TMPDIR']
      else process.env['TMPDIR'] = before
      rmSync(folder, { recursive: true, force: true })
    }
  },
)

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { hostname } from 'node:os'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { findChromium } from '../../web/test/browser.ts'
import { inspectPage, type Report } from '../src/site/tag/check.ts'
import {
  elementFaults,
  goodPage,
  plantScripts,
  scriptFaults,
  start,
  type PlantedFault,
  type TestSetup,
} from './tag-faults.ts'
import { openSite } from './tag-site.ts'
import { landingPage, visitFaults } from './tag-visit-faults.ts'

const chromium = findChromium()
const skip = 'missing' in chromium ? chromium.missing : false

const world = skip === false ? await start() : undefined
after(async () => {
  await world?.browser.close()
  world?.site.close()
  world?.close()
})
const prepare = (): TestSetup => {
  assert.ok(world)
  return world
}

const limits = { loadMs: 20_000, waitMs: 0, answerMs: 10_000 }

const inspectPlanted = (w: TestSetup, url: string, key?: string): Promise<Report> =>
  inspectPage(w.browser, url, limits, { url: w.service.url, ...(key === undefined ? {} : { key }) })

const levelsOf = ({ findings }: Report, level: string): string[] =>
  findings.filter((finding) => finding.level === level).map(({ check, message }) => `${check}: ${message}`)

const pohf = async (...parameters: readonly string[]) => {
  const main = fileURLToPath(new URL('../src/main.ts', import.meta.url))
  const child = spawn(process.execPath, [main, 'tag', 'check', ...parameters], {
    env: { ...process.env, POHF_KEY: undefined, POHF_API_KEY: undefined },
  })
  let printedAt = performance.now()
  child.stdout.on('data', () => (printedAt = performance.now()))
  const [out, err, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve) => child.once('exit', resolve)),
  ])
  return { out, err, code, idleMs: performance.now() - printedAt }
}

let goodReport: Promise<Report> | undefined
test('a good page has no problem; with the key of the site no session is opened', { skip }, async () => {
  const w = prepare()
  const url = w.site.plant('/good', goodPage(w))
  const countOpened = () => w.network.requests.filter(({ path }) => path === 'POST /api/sessions').length
  const withKey = await inspectPlanted(w, url, w.agent.apiKey)
  assert.deepEqual(levelsOf(withKey, 'problem'), [])
  assert.deepEqual(levelsOf(withKey, 'warning'), [
    'mode: The site is in test mode: its credentials prove nothing.',
  ])
  assert.equal(countOpened(), 0)
  goodReport = inspectPlanted(w, url)
  const without = await goodReport
  assert.deepEqual([...levelsOf(without, 'problem'), ...levelsOf(without, 'warning')], [])
  assert.match(levelsOf(without, 'ok').join('\n'), /A session was opened to find out, and left/)
  assert.equal(countOpened(), 1)
  assert.deepEqual(
    w.network.requests.filter(({ path }) => /telemetry|finish/.test(path)),
    [],
  )
  assert.deepEqual(
    w.site.methods.filter((method) => method.startsWith('POST')),
    [],
  )
})

const marks: Readonly<Record<string, string>> = { ok: '✓', warning: '!', problem: '✗' }
const linesOf = ({ findings }: Report): string =>
  findings.map(({ level, check, message }) => `${marks[level]} ${check}: ${message}`).join('\n')

/** A page takes 0.5 s of CPU, so the suite plants every fourth fault; `npm run battery -- planted` plants all. */
const isEveryFault = process.env['POHF_EVERY_FAULT'] === '1'

for (const [name, faults] of [
  ['the script', scriptFaults],
  ['the element', elementFaults],
  ['the visit', visitFaults],
] as const)
  test(`planted faults of ${name} are found, and the good page has none of them`, { skip }, async () => {
    const w = prepare()
    plantScripts(w)
    const good = linesOf(await (goodReport ??= inspectPlanted(w, w.site.plant('/good', goodPage(w)))))
    const expectFindings = async ([title, page, expected]: PlantedFault, index: number): Promise<void> => {
      const report = await inspectPlanted(w, w.site.plant(`/${name.slice(4)}-${index}`, page(w)))
      const lines = linesOf(report)
      for (const one of expected) {
        assert.match(lines, one, title)
        if (!one.source.startsWith('✓')) assert.doesNotMatch(good, one)
        if (one.source.startsWith('✗')) assert.equal(report.ok, false, title)
      }
      for (const { level, hint } of report.findings) assert.equal(hint === null, level === 'ok')
    }
    const waiting = [...faults.entries()].filter(([index]) => isEveryFault || index % 4 === 0)
    const work = async () => {
      for (let next = waiting.shift(); next; next = waiting.shift()) await expectFindings(next[1], next[0])
    }
    await Promise.all([work(), work()])
  })

test('a landing page needs no check, and none is waited for', { skip }, async () => {
  const w = prepare()
  const counted = () => w.network.requests.filter(({ path }) => path === 'POST /api/track/event').length
  const before = counted()
  const startedAt = performance.now()
  // Longer than two loads take on any machine.
  const waitMs = 60_000
  const report = await inspectPage(
    w.browser,
    w.site.plant('/landing', landingPage(w, 'data-consent="required"')),
    { ...limits, waitMs },
    { url: w.service.url },
  )
  assert.ok(performance.now() - startedAt < waitMs)
  assert.deepEqual([...levelsOf(report, 'problem'), ...levelsOf(report, 'warning')], [])
  const texts = levelsOf(report, 'ok').join('\n')
  assert.match(texts, /visit: The service takes beacons of this page/)
  assert.match(texts, /consent: Visits are reported after pohf\.consent\(true\)/)
  assert.match(texts, /bytes: The script is the one that the service delivers now/)
  assert.equal(counted() - before, 1, 'one empty list of beacons')
})

test(
  'a wrong key, another service and a page without the script are named on every page',
  { skip },
  async () => {
    const w = prepare()
    const landing = w.site.plant('/landing-key', landingPage(w))
    const wrongKey = levelsOf(await inspectPlanted(w, landing, 'svc_test_wrong'), 'warning')
    assert.equal(wrongKey.length, 1)
    assert.match(wrongKey[0] ?? '', /^key: The key could not be used at .+malformed_api_key/)
    assert.deepEqual(levelsOf(await inspectPlanted(w, landing, w.agent.apiKey), 'warning'), [])
    // The same service by another name: the key works there, and the page calls the other.
    const other = w.service.url.replace('127.0.0.1', 'localhost')
    const report = await inspectPage(w.browser, landing, limits, { url: other, key: w.agent.apiKey })
    assert.deepEqual(levelsOf(report, 'warning'), [
      `key: The page uses the service ${w.service.url}, and the key was tried at ${other}.`,
    ])
    const none = await inspectPlanted(w, w.site.plant('/none', {}))
    assert.ok(none.findings.some(({ hint }) => hint?.includes(`src="${w.service.url}/check.js"`)))
    assert.ok(
      !none.findings.some(({ check }) => check === 'frames'),
      'a page without a check cannot be abused in a frame',
    )
  },
)

test('a script or an element that appears later is found within the time of --wait', { skip }, async () => {
  const w = prepare()
  const { head = '', body = '' } = goodPage(w)
  const late = `document.body.insertAdjacentHTML('beforeend', ${JSON.stringify(body)})`
  const url = w.site.plant('/late', { head, body: `<script>setTimeout(() => { ${late} }, 600)</script>` })
  const remote = { url: w.service.url, key: 'svc_test_wrong' }
  const report = await inspectPage(w.browser, url, { ...limits, waitMs: 8_000 }, remote)
  assert.deepEqual(levelsOf(report, 'problem'), [])
  assert.match(levelsOf(report, 'warning').join(), /key: The key could not be used/)
})

test(
  'a page that was moved from another product by its guide has no problem and no warning',
  { skip },
  async () => {
    const w = prepare()
    const moved = async (path: string, markup: string) =>
      inspectPlanted(
        w,
        w.site.plant(`/moved${path}`, {
          head: `<script async src="${w.service.url}${path}"></script>`,
          body: `<form>${markup.replace('SITE', w.agent.agentId)}</form>`,
        }),
      )
    const pages = [
      ['/recaptcha/api.js', '<div class="g-recaptcha" data-sitekey="SITE" data-action="sign-up"></div>'],
      ['/recaptcha/api.js', '<button class="g-recaptcha" data-sitekey="SITE">Send</button>'],
      ['/turnstile/v0/api.js', '<div class="cf-turnstile" data-sitekey="SITE" data-action="sign-up"></div>'],
    ] as const
    for (const [path, markup] of pages) {
      const report = await moved(path, markup)
      assert.deepEqual([...levelsOf(report, 'problem'), ...levelsOf(report, 'warning')], [], markup)
      const texts = levelsOf(report, 'ok').join('\n')
      assert.ok(texts.includes(`script: The page loads ${w.service.url}${path}`))
      const field = `${/class="(.*?)"/.exec(markup)?.[1]}-response`
      assert.ok(texts.includes(`form: The check is in a form, and its field is "${field}"`), texts)
      assert.match(texts, /site: The service knows the site/)
    }
  },
)

test(
  'a key of another agent is noticed, and no key is sent to a service that only the page names',
  { skip },
  async () => {
    const w = prepare()
    const url = w.site.plant('/other-key', goodPage(w))
    const other = await inspectPlanted(w, url, w.closed.apiKey)
    assert.match(linesOf(other), /^! key: The key belongs to agt_\w+, another agent/m)

    const stranger = await openSite()
    after(() => stranger.close())
    const seen: (string | undefined)[] = []
    stranger.plant('/check.js', {
      answer: ({ headers }, response) => {
        seen.push(headers.authorization)
        response.writeHead(200, { 'content-type': 'text/javascript' }).end(w.check)
      },
    })
    const page = goodPage(w, { script: `<script async src="${stranger.url}/check.js"></script>` })
    await inspectPlanted(w, w.site.plant('/stranger', page), w.agent.apiKey)
    assert.ok(seen.length > 0)
    assert.deepEqual([...new Set(seen)], [undefined])
    assert.ok(!stranger.methods.includes('GET /api/agents/me'))
  },
)

test('a page on another name than this machine needs HTTPS', { skip }, async (t) => {
  const w = prepare()
  const open = await openSite('0.0.0.0')
  after(() => open.close())
  open.plant('/', goodPage(w))
  const url = `http://${hostname()}:${open.port}/`
  const answers = await fetch(url, { signal: AbortSignal.timeout(2_000) }).catch(() => undefined)
  if (!answers) return t.skip(`${hostname()} does not lead to this machine`)
  const report = await inspectPlanted(w, url)
  assert.match(levelsOf(report, 'problem').join(), /https: The page is served without HTTPS/)
})

test(
  'hostile pages end within the limits and leave no control character in the report',
  { skip },
  async () => {
    const w = prepare()
    const { head = '', body = '' } = goodPage(w)
    const noise = String.raw`\u001b]0;owned\u0007\u001b[2J\u009b31m\u202e`
    const controls = w.site.plant('/controls', {
      head: `<script>document.title = "${noise}"; console.error("pohf ${noise}"); history.replaceState(null, '', '#' + "${noise}")</script>${head}`,
      body: `<script>alert(1); window.open('/good'); print()</script><form><script>document.write('<pohf-check site="${noise}" name="${noise}"></pohf-check>')</script></form>`,
    })
    const report = await inspectPlanted(w, controls)
    assert.match(levelsOf(report, 'problem').join(), /console: .*pohf \\u\{1b\}/)
    assert.doesNotMatch(JSON.stringify(report.findings), /[\p{Cc}\p{Cf}]|\\u00/u)

    const redirects = w.site.plant('/redirects', {
      answer: (_, response) => response.writeHead(302, { location: `/redirects?${Math.random()}` }).end(),
    })
    assert.match(levelsOf(await inspectPlanted(w, redirects), 'problem').join(), /ERR_TOO_MANY_REDIRECTS/)

    const restless = w.site.plant('/restless', {
      head: `<script>location.href = '/restless?' + Math.random()</script>`,
    })
    const startedAt = performance.now()
    const moving = await inspectPage(
      w.browser,
      restless,
      { ...limits, loadMs: 1_500, answerMs: 1_000 },
      { url: w.service.url },
    )
    assert.equal(moving.ok, false)

    const loop = w.site.plant('/loop', { head, body: `${body}<script>for (;;) {}</script>` })
    const short = { loadMs: 1_500, waitMs: 0, answerMs: 1_000 }
    const stopped = await inspectPage(w.browser, loop, short, { url: w.service.url })
    assert.match(levelsOf(stopped, 'problem').join(), /page: The page did not load: timeout/)
    const later = w.site.plant('/loop-2', {
      head,
      body: `${body}<script>onload = () => { for (;;) {} }</script>`,
    })
    const unreadable = await inspectPage(w.browser, later, short, { url: w.service.url })
    assert.equal(unreadable.ok, false)
    assert.ok(performance.now() - startedAt < 60_000)
  },
)

test('a page of 100 MB is not loaded to its end, and a download is not a page', { skip }, async () => {
  const w = prepare()
  let sent = 0
  const large = w.site.plant('/large', {
    answer: (_, response) => {
      response.writeHead(200, { 'content-type': 'text/html' })
      response.write('<!--')
      const part = Buffer.alloc(1_000_000, 'x')
      const send = (): void => {
        while (sent < 100_000_000 && !response.destroyed) {
          sent += part.length
          if (!response.write(part)) return void response.once('drain', send)
        }
        response.end()
      }
      send()
    },
  })
  assert.match(
    levelsOf(await inspectPlanted(w, large), 'problem').join(),
    /page: The page sends more than 20 MB/,
  )
  assert.ok(sent < 100_000_000, `${sent} bytes were sent`)
  const file = w.site.plant('/file', {
    answer: (_, response) =>
      response
        .writeHead(200, { 'content-disposition': 'attachment', 'content-type': 'application/zip' })
        .end('PK'),
  })
  assert.match(levelsOf(await inspectPlanted(w, file), 'problem').join(), /page: The page did not load/)
})

test(
  'pohf tag check ends with exit code 0, 1 or 2, and prints a hint for each problem',
  { skip },
  async () => {
    const w = prepare()
    const good = w.site.plant('/good', goodPage(w))
    const bad = w.site.plant('/bad', goodPage(w, { element: '' }))
    const service = ['--url', w.service.url, '--wait', '0']
    const [passed, failed, wrongWait, noPage] = await Promise.all([
      pohf(good, ...service, '--json'),
      pohf(bad, ...service),
      pohf(good, '--wait', '31'),
      pohf('file:///etc/passwd'),
    ])
    assert.equal(passed.code, 0, passed.out + passed.err)
    assert.ok(passed.idleMs < 3_000, `it ended ${passed.idleMs} ms after its answer`)
    const report = JSON.parse(passed.out) as Report
    assert.equal(report.ok, true)
    assert.ok(report.findings.length > 10)
    assert.equal(failed.code, 1, failed.out + failed.err)
    assert.match(failed.out, /^✗ element +The page has no <pohf-check>\.\n +Add <pohf-check/m)
    assert.match(failed.out, /\nProblems: 1\. Warnings: \d\.\n$/)
    assert.equal(wrongWait.code, 2)
    assert.match(wrongWait.err, /--wait must be a number of seconds from 0 to 30/)
    assert.equal(noPage.code, 2)
    assert.match(noPage.err, /Give the address of a page/)
  },
)

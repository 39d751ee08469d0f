import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { forgingClasses, freeSealsPerMonth, packNames, packs } from '@pohf/protocol'
import { startHarness, type TestResponse } from '../../test/fixtures/harness.ts'
import { leastStatements } from '../../test/fixtures/plans/statements.ts'
import { moveProcessTime } from '../../test/fixtures/time/process-time.ts'
import { readForgingFile } from '../credentials/forging/prices.ts'
import { home } from '../discovery/index.ts'
import { rootRows } from './roots.ts'

const baseUrl = 'https://pohf.example'
const harness = await startHarness({ BASE_URL: baseUrl, DEMO_SITE: 'platform' })
const browserAccept = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8'
const browse = (path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<TestResponse> =>
  harness.call(method, path, { headers: { accept: browserAccept, ...headers } })

test('a program gets from / what it always got, whatever it accepts; a browser gets the landing page', async () => {
  const { text } = await home.handler({ params: {}, query: {}, header: () => undefined })
  for (const accept of [
    undefined,
    '*/*',
    'application/json',
    'application/json, text/html',
    'text/html;q=0, */*',
    'text/plain',
  ]) {
    const answer = await harness.call('GET', '/', accept === undefined ? {} : { headers: { accept } })
    assert.equal(answer.text, text, accept ?? 'nothing')
    assert.equal(answer.headers['link'], '</.well-known/api-catalog>; rel="api-catalog"')
  }
  const page = await browse('/')
  assert.equal(page.status, 200)
  assert.match(page.text, /id="doors"/)
  assert.match(page.headers['vary'] ?? '', /accept\b/)
  assert.equal(page.headers['link'], '</.well-known/api-catalog>; rel="api-catalog"')
})

/** The hash of what stands between the tags of the style, as a browser computes it. */
const styleHash = (text: string): string =>
  createHash('sha256')
    .update(/<style>([\s\S]*?)<\/style>/.exec(text)?.[1] ?? '')
    .digest('base64')

test('the policy allows the style of the page by its hash, own files, and nothing else inline', async () => {
  for (const path of ['/', '/pricing', '/status', '/no-such-page']) {
    const { text, headers } = await browse(path)
    const policy = headers['content-security-policy'] ?? ''
    assert.match(policy, /^default-src 'none'; /)
    assert.ok(policy.includes(`style-src 'sha256-${styleHash(text)}'`), path)
    assert.doesNotMatch(policy, /unsafe|\*|https?:/)
    assert.doesNotMatch(text, /\sstyle="|\son\w+="|<script(?![^>]* src="\/)/, path)
    assert.equal(text.match(/<style>/g)?.length, 1)
    const loaded = [...text.matchAll(/(?:src|<link rel="(?:alternate )?icon" href)="([^"]+)"/g)]
    for (const [, address = ''] of loaded) assert.match(address, /^\/[^/]/, 'only own files')
  }
})

test('the landing page with its scripts and styles is at most 60 KB gzipped', async (t) => {
  const page = await browse('/')
  const scripts = [...page.text.matchAll(/<script[^>]* src="([^"]+)"/g)].map(([, path = '']) => path)
  assert.deepEqual(scripts, ['/assets/landing.js', '/check.js'])
  // The script of the check has a bound and a test of its own; where it is not built, the bound counts.
  const built = new URL('../../../tag/dist/check.js', import.meta.url)
  const checkBytes = existsSync(built) ? gzipSync(readFileSync(built)).length : 14_000
  const others = await Promise.all(
    ['/assets/landing.js', '/assets/seal.js', '/favicon.svg'].map((path) => harness.call('GET', path)),
  )
  const bytes = [page, ...others].reduce((sum, { text }) => sum + gzipSync(text).length, checkBytes)
  t.diagnostic(`${bytes} bytes gzipped`)
  assert.ok(bytes <= 60_000, `${bytes} bytes`)
})

test('the table of roots shows what the price table says, and a table of an operator with fewer roots is shown too', async () => {
  const { text } = await browse('/')
  const table = readForgingFile('')
  assert.ok(text.includes(`An estimate of ${table.date}`))
  assert.equal(text.match(/<th scope="row">/g)?.length, rootRows(table).length)
  const [first] = table.entries.filter(({ kind }) => kind === 'view')
  assert.ok(first)
  const wordsOf = (actsB: typeof first.actsB) =>
    rootRows({ ...table, entries: [{ ...first, actsB }] }).map(({ acts }) => acts)
  assert.deepEqual(
    forgingClasses.map((name) => wordsOf({ usd: 1, class: name })),
    [['under $1'], ['$1 to 10'], ['$10 to 100'], ['$100 to 1,000'], ['$1,000 or more']],
  )
  assert.deepEqual(wordsOf('named'), ['no market price'])
})

test('the prices are those of the packs that the server sells, and every button leads somewhere', async () => {
  const { text } = await browse('/pricing')
  for (const name of packNames) {
    assert.ok(text.includes(`$${packs[name].priceUsd.toLocaleString('en')}`), name)
    assert.ok(text.includes(`${packs[name].credits.toLocaleString('en')} credits`), name)
  }
  assert.ok(text.includes(freeSealsPerMonth.toLocaleString('en')))
  assert.match(text, /No card provider/, 'this server has none')
})

test('every link of the pages leads to an answer', async () => {
  const pages = await Promise.all(['/', '/pricing', '/status', '/no-such-page'].map((path) => browse(path)))
  const links = new Set(
    pages
      .flatMap(({ text }) => [...text.matchAll(/<a[^>]* href="([^"]+)"/g)].map(([, href = '']) => href))
      .map((href) => new URL(href, baseUrl))
      .map((url) => (assert.equal(url.origin, baseUrl), url.pathname)),
  )
  assert.ok(links.size >= 12, `saw only ${links.size} links`)
  for (const path of links) {
    const { status } = await browse(path)
    // Pages of the web package answer 503 where they are not built.
    assert.ok(status < 400 || status === 503, `${path} answers ${status}`)
  }
  const ids = new Set([...(pages[0]?.text ?? '').matchAll(/ id="([^"]+)"/g)].map(([, id]) => id))
  for (const [, id] of (pages[0]?.text ?? '').matchAll(/href="\/?#([\w-]+)"/g)) assert.ok(ids.has(id), id)
})

test('a browser gets a page with the request id for 404, 405, 429, 500 and 503; a program gets JSON', async () => {
  const missing = await browse('/no-such-page', { 'x-request-id': 'req_abcdefghijklmnop' })
  assert.equal(missing.status, 404)
  assert.match(missing.headers['content-type'] ?? '', /^text\/html/)
  assert.match(missing.text, /There is no such page\.[\s\S]*req_abcdefghijklmnop/)
  assert.equal(missing.headers['x-request-id'], 'req_abcdefghijklmnop')
  assert.equal((await harness.call('GET', '/no-such-page')).json.error, 'not_found')
  const wrongMethod = await browse('/api/agents/register')
  assert.equal(wrongMethod.status, 405)
  assert.equal(wrongMethod.headers['allow'], 'POST')
  assert.match(wrongMethod.text, /This address is for programs\./)
  const undecodable = await browse('/%E0%A4%A')
  assert.deepEqual([undecodable.status, /<h1>/.test(undecodable.text)], [404, true])
  const json = await harness.call('GET', '/api/agents/register', { headers: { accept: 'application/json' } })
  assert.equal(json.json.error, 'method_not_allowed')
})

test('other refusals stay JSON, since they are about a call', async () => {
  const refused = await browse('/api/agents/me')
  assert.deepEqual([refused.status, refused.json.error], [401, 'missing_api_key'])
})

test('an error page is in German where the browser prefers it, with the same status', async () => {
  const { status, text } = await browse('/no-such-page', { 'accept-language': 'de-AT,de;q=0.9,en;q=0.5' })
  assert.equal(status, 404)
  assert.match(text, /<html lang="de">[\s\S]*Diese Seite gibt es nicht\./)
})

test('limits, faults and a starting service are pages too', async () => {
  const limited = await startHarness({ BASE_URL: baseUrl, ADDRESS_LIMITS: 'on' })
  const ask = () => limited.call('GET', '/api/tasks/next', { headers: { accept: browserAccept } })
  for (let call = 0; call < 60; call++) await ask()
  const over = await ask()
  assert.equal(over.status, 429)
  assert.match(over.text, /Too many requests\./)
  assert.ok(Number(over.headers['retry-after']) > 0)
  await limited.owner.query('alter table workflows rename to workflows_away')
  const broken = await limited.call('GET', '/api/workflows/available', { headers: { accept: browserAccept } })
  assert.equal(broken.status, 500)
  assert.match(broken.text, /Something broke on our side\./)
  assert.doesNotMatch(broken.text, /workflows_away|relation/)
  limited.app.hold()
  const starting = await limited.call('GET', '/', { headers: { accept: browserAccept } })
  assert.equal(starting.status, 503)
  assert.match(starting.text, /not available at the moment/)
  limited.app.open()
})

test('icons, the social card and robots.txt are served, and the card is at most 100 KB', async () => {
  const icon = await harness.call('GET', '/favicon.svg')
  assert.match(icon.headers['content-type'] ?? '', /^image\/svg\+xml/)
  assert.match((await harness.call('GET', '/robots.txt')).text, /^Disallow: \/api\/$/m)
  const app = harness.app.api
  const card = await app.inject('/assets/card.png')
  assert.equal(card.headers['content-type'], 'image/png')
  assert.equal(card.rawPayload.subarray(1, 4).toString(), 'PNG')
  assert.ok(card.rawPayload.length > 10_000 && card.rawPayload.length <= 102_400)
  const [width, height] = [card.rawPayload.readUInt32BE(16), card.rawPayload.readUInt32BE(20)]
  assert.deepEqual([width, height], [1_200, 630])
  const ico = await app.inject('/favicon.ico')
  assert.deepEqual([...ico.rawPayload.subarray(0, 6)], [0, 0, 1, 0, 1, 0])
  const { text } = await browse('/')
  assert.ok(text.includes(`<meta property="og:image" content="${baseUrl}/assets/card.png"`))
})

test('a flood of visits costs no statement', async (t) => {
  await browse('/status')
  const pass = moveProcessTime(t)
  const flood = async () => {
    for (let visit = 0; visit < 10; visit++) {
      // Longer than a passed check counts, so that each visit would read the parts again.
      pass(1_300)
      for (const path of ['/', '/pricing', '/status', '/no-such-page']) {
        await browse(path)
        await harness.call('GET', path)
      }
    }
  }
  assert.equal(await leastStatements(harness, flood), 0)
})

test('without DEMO_SITE the page says how to try the check, and loads no script of it', async () => {
  const plain = await startHarness({ BASE_URL: baseUrl })
  const { text } = await plain.call('GET', '/', { headers: { accept: browserAccept } })
  assert.match(text, /npm run dev[\s\S]*DEMO_SITE=platform/)
  assert.doesNotMatch(text, /<script[^>]*check\.js|<pohf-check /)
})

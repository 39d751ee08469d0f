import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { startHarness } from '../../test/fixtures/harness.ts'
import { webPages, operatorPages, templateOf } from './web-pages.ts'
import { html, pageHeaders } from '../platform/http/html.ts'
import { pages } from './pages.ts'

const folder = mkdtempSync(join(tmpdir(), 'pohf-console-'))
after(() => rmSync(folder, { recursive: true, force: true }))
test('before the console is built its page says how to build it', async () => {
  const [page] = webPages('https://proof.example', folder)
  const answer = await page?.handler({ params: {}, query: {}, header: () => undefined })
  assert.equal(answer?.status, 503)
  assert.match(answer?.text ?? '', /npm run build/)
})

test('the built page is told its issuer, escaped, and keeps the strict policy; its files are kept for ever', async () => {
  mkdirSync(join(folder, 'assets'), { recursive: true })
  writeFileSync(join(folder, 'verify.html'), '<meta name="pohf-issuer" content="{{issuer}}">')
  writeFileSync(join(folder, 'console.html'), '<title>Console</title>')
  writeFileSync(join(folder, 'recording.html'), '<title>Recording</title>')
  mkdirSync(join(folder, 'operator/assets'), { recursive: true })
  writeFileSync(join(folder, 'operator/operator.html'), '<title>Operators</title>')
  writeFileSync(join(folder, 'operator/assets/operator-def456.js'), 'export {}')
  writeFileSync(join(folder, 'recording.html'), '<title>Recording</title>')
  writeFileSync(join(folder, 'assets/verify-abc123.js'), 'export {}')
  writeFileSync(join(folder, 'assets/verify-abc123.js.map'), '{}')
  const built = webPages('https://proof.example/"><script>', folder)
  assert.deepEqual(
    built.map((page) => page.path),
    ['/verify', '/console', '/me/recording', '/assets/verify-abc123.js'],
  )
  const page = await built[0]?.handler({ params: {}, query: {}, header: () => undefined })
  assert.ok(!page?.text.includes('<script>'))
  assert.match(page?.headers?.['content-security-policy'] ?? '', /default-src 'none'.*script-src 'self'/)
  assert.equal(page?.headers?.['cache-control'], 'no-cache')
  const script = await built[3]?.handler({ params: {}, query: {}, header: () => undefined })
  assert.equal(script?.mediaType, 'text/javascript; charset=utf-8')
  assert.match(script?.headers?.['cache-control'] ?? '', /immutable/)
})

test('operators’ pages are pages of their listener: not one file of them is among the public ones', async () => {
  const built = operatorPages('https://proof.example', folder)
  assert.deepEqual(
    built.map((page) => page.path),
    ['/', '/operator', '/operator/assets/operator-def456.js'],
  )
  const page = await built[1]?.handler({ params: {}, query: {}, header: () => undefined })
  assert.match(page?.headers?.['content-security-policy'] ?? '', /default-src 'none'.*script-src 'self'/)
  assert.match(page?.headers?.['content-security-policy'] ?? '', /frame-ancestors 'none'/)
  const open = webPages('https://proof.example', folder).map((one) => one.path)
  assert.deepEqual(
    open.filter((path) => path.includes('operator')),
    [],
  )
  const harness = await startHarness()
  for (const path of ['/operator', '/operator/', '/operator/assets/operator-def456.js'])
    assert.equal((await harness.call('GET', path)).status, 404)
  assert.notEqual((await harness.callOperator('GET', '/operator')).status, 404)
})

test('the stylesheet needs no build', async () => {
  const harness = await startHarness()
  const sheet = await pages(harness.ctx, { chains: [], card: false, countPurchasable: async () => 0 })
    .find((page) => page.path === '/assets/pohf.css')
    ?.handler({ params: {}, query: {}, header: () => undefined })
  assert.match(sheet?.text ?? '', /--seal:/)
})

test('a template takes values by name, escaped unless they are HTML, and says so where it is not built', () => {
  writeFileSync(join(folder, 'work.html'), '<html lang="{{lang}}">{{languages}}{{unknown}}')
  const page = templateOf('work.html', folder)(
    { lang: '"><script>', languages: html`<b>de</b>` },
    pageHeaders,
  )
  assert.equal(page.text, '<html lang="&quot;&gt;&lt;script&gt;"><b>de</b>')
  assert.match(page.headers?.['content-security-policy'] ?? '', /img-src 'self' data:;/)
  assert.equal(templateOf('work.html', join(folder, 'none'))({}, {}).status, 503)
})

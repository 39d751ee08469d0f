import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createApproverTest, heading, referencePhone } from './approver-browser.ts'

const { inBrowser, skip, fixture } = await createApproverTest()

type Manifest = {
  readonly id: string
  readonly name: string
  readonly start_url: string
  readonly scope: string
  readonly display: string
  readonly lang: string
  readonly background_color: string
  readonly theme_color: string
  readonly icons: readonly { readonly src: string; readonly sizes: string; readonly purpose: string }[]
}

/** More than this is no icon but a picture. */
const iconBytesMax = 24_576
/** Width and height, from the header of a PNG. */
const pixelsOf = (png: Buffer): string => `${png.readUInt32BE(16)}x${png.readUInt32BE(20)}`

inBrowser(
  'Chromium can install the page, and finds no fault in its manifest',
  referencePhone,
  async (opened) => {
    const { page, devtools } = opened.person
    await opened.request()
    await page.goto(`${opened.fixture.url}/approve`)
    await heading(page, 'One request waits for you.')
    const found = await devtools.send('Page.getAppManifest')
    assert.equal(found.url, `${opened.fixture.url}/approve.webmanifest?lang=en`)
    assert.deepEqual(found.errors, [])
    const manifest = JSON.parse(found.data ?? '') as Manifest
    assert.equal(manifest.name, 'PoHF Approvals')
    const { installabilityErrors } = await devtools.send('Page.getInstallabilityErrors')
    // A context of a test is a private window, which installs nothing.
    assert.deepEqual(
      installabilityErrors.filter(({ errorId }) => errorId !== 'in-incognito'),
      [],
    )
    // The bar of the system has the colour of the page, in both schemes.
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      const [named, shown] = await page.evaluate<[string, string]>(`(() => {
      const one = [...document.querySelectorAll('meta[name=theme-color]')].find(({ media }) => matchMedia(media).matches)
      const rgb = one.content.match(/[0-9a-f]{2}/g).map((part) => parseInt(part, 16)).join(', ')
      return ['rgb(' + rgb + ')', getComputedStyle(document.body).backgroundColor]
    })()`)
      assert.equal(named, shown, colorScheme)
    }
  },
)

inBrowser(
  'nothing of an approval is kept: no worker, no cache, each opening reads it anew',
  referencePhone,
  async (opened) => {
    const { page } = opened.person
    const approvalId = await opened.request()
    await opened.person.open(approvalId)
    await heading(page, 'Pay an invoice?')
    const kept = await page.evaluate(`(async () => {
    const refused = await navigator.serviceWorker.register('/assets/passkey.js').then(() => 'registered', ({ name }) => name)
    const workers = await navigator.serviceWorker.getRegistrations()
    return [refused, workers.length, (await caches.keys()).length, (await indexedDB.databases()).length]
  })()`)
    assert.deepEqual(kept, ['SecurityError', 0, 0, 0])
    opened.person.faults.length = 0
    const again = page.waitForResponse((answer) =>
      answer.url().endsWith(`/api/approve/approvals/${approvalId}`),
    )
    await page.reload()
    const answer = await again
    assert.equal(answer.fromServiceWorker(), false)
    assert.match((await answer.headerValue('cache-control')) ?? '', /no-store/)
    // Without a connection there is no old approval to decide on.
    opened.fixture.line.cut = /\/api\/approve\//
    await page.reload()
    await page.getByText('The service did not answer.').waitFor()
    assert.equal(await page.locator('.yes').count(), 0)
  },
)

test(
  'the manifest and its icons are small, of their types, and in the language of the page',
  { skip },
  async () => {
    assert.ok(fixture)
    const { url } = fixture
    for (const [language, name] of [
      ['en', 'PoHF Approvals'],
      ['de', 'PoHF Freigaben'],
    ] as const) {
      const page = await fetch(`${url}/approve`, { headers: { 'accept-language': language } })
      const policy = page.headers.get('content-security-policy') ?? ''
      assert.match(policy, /manifest-src 'self'; worker-src 'none'/)
      const [, path = ''] = /<link rel="manifest" href="([^"]+)"/.exec(await page.text()) ?? []
      const answer = await fetch(`${url}${path}`)
      assert.equal(answer.headers.get('content-type'), 'application/manifest+json; charset=utf-8')
      const text = await answer.text()
      assert.ok(text.length <= 1_500, `${text.length} bytes`)
      const manifest = JSON.parse(text) as Manifest
      assert.deepEqual(
        [manifest.name, manifest.lang, manifest.id, manifest.scope, manifest.start_url, manifest.display],
        [name, language, '/approve', '/approve', `/approve?lang=${language}`, 'standalone'],
      )
      assert.deepEqual(
        manifest.icons.map(({ purpose }) => purpose),
        ['any', 'any', 'maskable'],
      )
      for (const { src, sizes } of manifest.icons) {
        const icon = await fetch(`${url}${src}`)
        assert.equal(icon.headers.get('content-type'), 'image/png')
        const bytes = Buffer.from(await icon.arrayBuffer())
        assert.equal(pixelsOf(bytes), sizes)
        assert.ok(bytes.length <= iconBytesMax, `${src}: ${bytes.length} bytes`)
      }
    }
  },
)

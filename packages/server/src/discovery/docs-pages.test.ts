import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { errorCatalogue, errorCodes } from '@pohf/protocol'
import { mountDocs } from '../../test/docs/docs-listener.ts'
import { builtPages } from '../../test/fixtures/processes/built-pages.ts'
import { html } from '../platform/http/html.ts'

const folder = mkdtempSync(join(tmpdir(), 'pohf-docs-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const get = (app: ReturnType<typeof mountDocs>, url: string, headers: Record<string, string> = {}) =>
  app.inject({ method: 'GET', url, headers })

test('before the documentation is built, /docs says how to build it and error codes have their pages', async () => {
  const app = mountDocs(folder)
  for (const path of ['/docs', '/docs/', '/docs/guides/verify']) {
    const { statusCode, body } = await get(app, path)
    assert.equal(statusCode, 503, path)
    assert.match(body, /npm run build/)
  }
  assert.equal((await get(app, '/docs/errors')).statusCode, 200)
  assert.match((await get(app, '/docs/errors/not_found')).body, /<h1><code>not_found<\/code><\/h1>/)
  assert.equal((await get(app, '/docs/errors/no_such_code')).statusCode, 404)
})

test('built pages and files are served by address, and nothing outside their folder is', async () => {
  mkdirSync(join(folder, 'site/assets'), { recursive: true })
  mkdirSync(join(folder, 'site/guides'))
  writeFileSync(join(folder, 'secret.html'), 'secret')
  writeFileSync(join(folder, 'site/index.html'), '<h1>All documents</h1>')
  writeFileSync(join(folder, 'site/guides/verify.html'), '<h1>Verify</h1>')
  writeFileSync(join(folder, 'site/guides/run.sh'), 'echo')
  writeFileSync(join(folder, 'site/assets/docs-abcdefgh.js'), 'export {}')
  const app = mountDocs(join(folder, 'site'))
  for (const [path, status, type] of [
    ['/docs', 200, 'text/html; charset=utf-8'],
    ['/docs/', 200, 'text/html; charset=utf-8'],
    ['/docs/guides/verify', 200, 'text/html; charset=utf-8'],
    ['/docs/guides/run.sh', 200, 'text/plain; charset=utf-8'],
    ['/docs/assets/docs-abcdefgh.js', 200, 'text/javascript; charset=utf-8'],
    ['/docs/guides/verify.html', 404, 'text/html; charset=utf-8'],
    ['/docs/../secret', 404, 'application/json; charset=utf-8'],
    ['/docs/%2e%2e%2fsecret', 404, 'text/html; charset=utf-8'],
    ['/docs/guides', 404, 'text/html; charset=utf-8'],
  ] as const) {
    const { statusCode, headers } = await get(app, path)
    assert.deepEqual([path, statusCode, headers['content-type']], [path, status, type])
  }
  const page = await get(app, '/docs/guides/verify')
  assert.match(String(page.headers['content-security-policy']), /^default-src 'none'.*script-src 'self'/)
  const etag = String(page.headers['etag'])
  assert.equal((await get(app, '/docs/guides/verify', { 'if-none-match': etag })).statusCode, 304)
  const script = await get(app, '/docs/assets/docs-abcdefgh.js')
  assert.match(String(script.headers['cache-control']), /immutable/)
})

test('every error code has its page with the text of the catalogue, built or not', async () => {
  const apps = [mountDocs(join(folder, 'none')), mountDocs(await builtPages('docs'))]
  assert.ok(errorCodes.length > 60)
  for (const app of apps)
    for (const code of errorCodes) {
      const { statusCode, body } = await get(app, `/docs/errors/${code}`)
      const { status, message, why, fix } = errorCatalogue[code]
      assert.equal(statusCode, 200, code)
      for (const text of [message, why, fix])
        assert.ok(withoutTags(body).includes(withoutTags(html`${text}`.text)), `${code}: ${text}`)
      assert.ok(body.includes(String(status)), code)
    }
  assert.equal((await get(apps[1] ?? mountDocs(folder), '/docs/errors/no_such_code')).statusCode, 404)
})

/** Words alone: a code in backticks is an element in one page and text in the other. */
const withoutTags = (text: string): string =>
  text
    .replaceAll(/<[^>]+>|`/g, '')
    .replaceAll(/&(?:#39|quot|lt|gt|amp);|['"<>&]/g, '')
    .replaceAll(/\s+/g, ' ')

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { specification } from '@pohf/protocol'
import { isDocsBuilt } from './docs-pages.ts'
import { startHarness } from '../../test/fixtures/harness.ts'

const harness = await startHarness({ BASE_URL: 'https://pohf.example' })

test('/llms.txt names the operations of the specification', async () => {
  const { status, text, headers } = await harness.call('GET', '/llms.txt')
  assert.equal(status, 200)
  assert.equal(headers['content-type'], 'text/plain; charset=utf-8')
  for (const row of specification) {
    const line = `- \`${row.method} https://pohf.example${row.path}\``
    assert.ok(text.includes(line), line)
  }
})

test('every address that /llms.txt and the API catalogue link to answers', async () => {
  const { text } = await harness.call('GET', '/llms.txt')
  const catalogue = await harness.call('GET', '/.well-known/api-catalog')
  const links = [
    ...[...text.matchAll(/\]\((https:[^)]+)\)/g)].map((match) => match[1] ?? ''),
    ...[...catalogue.text.matchAll(/"href":"([^"]+)"/g)].map((match) => match[1] ?? ''),
  ]
  assert.ok(links.length >= 7, `saw only ${links.length} links`)
  for (const link of links) {
    const { pathname } = new URL(link)
    const needsBuild = pathname === '/docs' || pathname.startsWith('/docs/reference')
    const status = needsBuild && !isDocsBuilt() ? 503 : 200
    assert.equal((await harness.call('GET', pathname)).status, status, link)
  }
})

test('the API catalogue is a linkset that leads to openapi.json, and the home page leads to it', async () => {
  const { json, headers } = await harness.call('GET', '/.well-known/api-catalog')
  assert.match(headers['content-type'] ?? '', /^application\/linkset\+json/)
  const api = json.linkset.find((entry: object) => 'service-desc' in entry)
  assert.equal(api['service-desc'][0].href, 'https://pohf.example/openapi.json')
  const home = await harness.call('GET', '/')
  assert.equal(home.headers['link'], '</.well-known/api-catalog>; rel="api-catalog"')
  assert.equal((await harness.call('HEAD', '/.well-known/api-catalog')).status, 200)
})

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import Fastify from 'fastify'
import { mountPage } from '../platform/http/http.ts'
import { tagPages } from './tag.ts'

const folder = mkdtempSync(join(tmpdir(), 'pohf-tag-'))
after(() => rmSync(folder, { recursive: true, force: true }))

test('before the scripts are built they say how to build them', async () => {
  const pages = tagPages(folder)
  assert.deepEqual(
    pages.map((page) => page.path),
    [
      '/tag.js',
      '/check.js',
      '/visit.js',
      '/task.js',
      '/recaptcha/api.js',
      '/1/api.js',
      '/turnstile/v0/api.js',
    ],
  )
  const answer = await pages[0]?.handler({ params: {}, query: {}, header: () => undefined })
  assert.equal(answer?.status, 503)
  assert.match(answer?.text ?? '', /npm run build/)
})

test('a built script is served to every origin, cached for five minutes, and then revalidated', async () => {
  writeFileSync(join(folder, 'tag.js'), 'first')
  writeFileSync(join(folder, 'check.js'), 'second')
  writeFileSync(join(folder, 'task.js'), 'fourth')
  writeFileSync(join(folder, 'compat.js'), 'third')
  writeFileSync(join(folder, 'visit.js'), 'fourth')
  const app = Fastify()
  for (const page of tagPages(folder)) mountPage(app, page)
  const first = await app.inject('/tag.js')
  assert.equal(first.body, 'first')
  assert.equal(first.headers['access-control-allow-origin'], '*')
  assert.match(String(first.headers['cache-control']), /max-age=300/)
  const etag = String(first.headers.etag)
  const ask = (value: string) => app.inject({ url: '/tag.js', headers: { 'if-none-match': value } })
  for (const known of [etag, `W/${etag}`, `"other", ${etag}`]) {
    const again = await ask(known)
    assert.equal(again.statusCode, 304)
    assert.equal(again.body, '')
    assert.equal(again.headers.etag, etag)
  }
  assert.equal((await ask('"other"')).statusCode, 200)
  assert.notEqual((await app.inject('/check.js')).headers.etag, etag)
  for (const path of ['/recaptcha/api.js?render=explicit', '/1/api.js', '/turnstile/v0/api.js?onload=f'])
    assert.equal((await app.inject(path)).body, 'third')
  await app.close()
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import Fastify from 'fastify'
import { mountPage } from './http.ts'
import { acceptedEncoding, staticPage } from './static-page.ts'

const text = 'const answer = 42 // ö\n'.repeat(100)

test('a static text is sent in the encoding that the client accepts, with one entity tag for all', async () => {
  const app = Fastify()
  mountPage(app, staticPage('/a.js', { mediaType: 'text/javascript', text, headers: { etag: '"one"' } }))
  const get = (encoding?: string) =>
    app.inject({ url: '/a.js', headers: encoding === undefined ? {} : { 'accept-encoding': encoding } })
  const plain = await get()
  assert.equal(plain.body, text)
  assert.equal(plain.headers['content-encoding'], undefined)
  assert.equal(plain.headers.vary, 'accept-encoding')
  assert.equal(plain.headers.etag, '"one"')
  for (const [encoding, decompress] of [
    ['gzip', gunzipSync],
    ['br', brotliDecompressSync],
  ] as const)
    for (const round of [1, 2]) {
      const sent = await get(`${encoding}, deflate`)
      assert.equal(sent.headers['content-encoding'], encoding, `round ${round}`)
      assert.equal(sent.headers['content-type'], 'text/javascript')
      assert.equal(sent.headers.vary, 'accept-encoding')
      assert.equal(sent.headers.etag, 'W/"one"')
      assert.equal(sent.headers['content-length'], String(sent.rawPayload.length))
      assert.ok(sent.rawPayload.length < text.length / 10)
      assert.equal(decompress(sent.rawPayload).toString(), text)
    }
  const known = await app.inject({
    url: '/a.js',
    headers: { 'accept-encoding': 'br', 'if-none-match': 'W/"one"' },
  })
  assert.equal(known.statusCode, 304)
  assert.equal(known.headers['content-encoding'], undefined)
  await app.close()
})

test('a short text and a text of one person are never compressed', async () => {
  const app = Fastify()
  mountPage(app, staticPage('/short.js', { mediaType: 'text/javascript', text: 'short' }))
  mountPage(app, { path: '/me', handler: async () => ({ mediaType: 'text/html', text }) })
  for (const url of ['/short.js', '/me']) {
    const sent = await app.inject({ url, headers: { 'accept-encoding': 'br, gzip' } })
    assert.equal(sent.headers['content-encoding'], undefined, url)
  }
  await app.close()
})

test('an encoding is used only if the client names it and does not refuse it', () => {
  assert.equal(acceptedEncoding('gzip, deflate, br, zstd'), 'br')
  assert.equal(acceptedEncoding('GZIP;q=0.5'), 'gzip')
  assert.equal(acceptedEncoding('br;q=0, gzip;q=1.0'), 'gzip')
  assert.equal(acceptedEncoding('br; q=0.000, gzip;q=0'), undefined)
  assert.equal(acceptedEncoding('br;q=0.01'), 'br')
  for (const none of [undefined, '', '*', 'identity', 'deflate', 'xbr'])
    assert.equal(acceptedEncoding(none), undefined)
})

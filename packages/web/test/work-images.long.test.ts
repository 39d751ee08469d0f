import assert from 'node:assert/strict'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { pngOf } from '../../server/test/fixtures/png.ts'
import { makeWorker } from '../../server/test/fixtures/people/worker.ts'
import { findChromium, launch } from './browser.ts'
import { desktop, openContext } from './worker-browser.ts'
import { startWorkerFixture } from './worker-fixture.ts'

const chromium = findChromium()
const skip = 'missing' in chromium ? chromium.missing : false
const fixture = skip === false ? await startWorkerFixture() : undefined
const browser = 'path' in chromium ? await launch(chromium.path) : undefined
after(() => browser?.close())

/** The buyer's own server, which wants to know who looks at its pictures. */
const startBuyer = async () => {
  const picture = pngOf(320, 200)
  const visitors: { readonly path: string; readonly headers: IncomingHttpHeaders }[] = []
  const server = createServer((request, response) => {
    visitors.push({ path: request.url ?? '', headers: request.headers })
    response.writeHead(200, { 'content-type': 'image/png', 'set-cookie': 'tracked=1' }).end(picture)
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { visitors, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

type Opened = Awaited<ReturnType<typeof openWorker>>

/** A worker in a browser; `outside` are the requests of the browser to any other origin. */
const openWorker = async () => {
  assert.ok(fixture && browser)
  const { harness, url } = fixture
  const [home, buyer] = [await harness.register('test'), await harness.register('test')]
  const worker = await makeWorker(harness, home)
  const { context, page } = await openContext(browser, desktop)
  const [name = '', value = ''] = worker.cookie.split('=')
  await context.addCookies([
    { name, value, domain: 'localhost', path: '/', secure: true, httpOnly: true, sameSite: 'Strict' },
  ])
  const outside: string[] = []
  context.on('request', (request) => {
    const { origin, protocol } = new URL(request.url())
    if (origin !== url && protocol !== 'data:') outside.push(request.url())
  })
  return { harness, url, buyer, worker, context, page, outside }
}

const order = async ({ harness, buyer }: Opened, taskType: string, item: object): Promise<string> => {
  const body = { taskType, quantity: 1, items: [item] }
  const placed = await harness.call('POST', '/api/agents/order', { key: buyer.apiKey, body })
  assert.equal(placed.status, 200, placed.text)
  const { orderId } = placed.json as { orderId: string }
  const funded = await harness.call('POST', '/api/agents/order/fund', {
    key: buyer.apiKey,
    body: { orderId },
  })
  assert.equal(funded.status, 200, funded.text)
  return orderId
}

const beginWork = async ({ page, url, worker }: Opened, workflowId: string): Promise<string> => {
  const { json, text } = await worker.claim(workflowId)
  assert.ok(json.assignmentId, text)
  await page.goto(`${url}/work/${json.assignmentId}`)
  await page.getByRole('button', { name: 'Begin without a pointer' }).click()
  await page.locator('.answer').waitFor()
  return json.assignmentId as string
}

test('a buyer sees the service fetch a picture, and never the worker who looks at it', { skip }, async () => {
  const opened = await openWorker()
  const { page, outside, harness, worker } = opened
  const buyer = await startBuyer()
  const orderId = await order(opened, 'wf_photo_label', { url: 'https://pictures.example/1.png' })
  // Orders take https alone, and a certificate for this machine does not exist.
  await harness.owner.query(
    'begin; set local session_replication_role = replica; ' +
      `update orders set items = '[{"url": "${buyer.url}/1.png"}]' where order_id = '${orderId}'; commit`,
  )
  const assignmentId = await beginWork(opened, 'wf_photo_label')
  await page.locator('img.picture').waitFor()
  const width = await page.evaluate<number>(
    "document.querySelector('img.picture').decode().then(() => document.querySelector('img.picture').naturalWidth)",
  )
  assert.equal(width, 320)
  assert.equal(
    await page.evaluate<string>("new URL(document.querySelector('img.picture').src).pathname"),
    `/api/work/assignments/${assignmentId}/images/url`,
  )
  assert.deepEqual(outside, [], 'the browser of the worker left the service')
  assert.deepEqual(
    buyer.visitors.map(({ path, headers }) => [path, Object.keys(headers).toSorted()]),
    [['/1.png', ['accept', 'connection', 'host']]],
  )
  const stranger = await makeWorker(harness, await harness.register('test'))
  const foreign = await stranger.get(`assignments/${assignmentId}/images/url`)
  assert.equal(foreign.status, 404)
  assert.equal(buyer.visitors.length, 1)
  const image = await worker.get(`assignments/${assignmentId}/images/url`)
  assert.equal(image.headers['content-type'], 'image/webp')
  assert.equal(image.headers['x-content-type-options'], 'nosniff')
  assert.match(image.headers['content-security-policy'] ?? '', /default-src 'none'/)
  await opened.context.close()
})

test('a picture that the service cannot fetch is not requested by the browser', { skip }, async () => {
  const opened = await openWorker()
  await order(opened, 'wf_photo_label', { url: 'https://pictures.example/1.png' })
  await beginWork(opened, 'wf_photo_label')
  await opened.page.getByText('The picture did not load.').waitFor()
  assert.deepEqual(opened.outside, [])
  await opened.context.close()
})

test('a link opens behind a page that warns, and sends no referrer', { skip }, async () => {
  const opened = await openWorker()
  const { page, outside, context, harness, worker } = opened
  const address = 'https://buyer.example/page?unit=7'
  const referrers: (string | null)[] = []
  await context.route('https://buyer.example/**', async (route) => {
    referrers.push(await route.request().headerValue('referer'))
    await route.fulfill({ contentType: 'text/html', body: '<h1>The buyer</h1>' })
  })
  await order(opened, 'wf_check_page', { page: address })
  const assignmentId = await beginWork(opened, 'wf_check_page')
  const stranger = await makeWorker(harness, await harness.register('test'))
  const opening = context.waitForEvent('page')
  await page.getByRole('link', { name: /buyer\.example/ }).click()
  const warning = await opening
  await warning.locator('h1', { hasText: 'You are leaving this service' }).waitFor()
  assert.deepEqual(outside, [])
  await warning.getByText('sees your network address').waitFor()
  const link = warning.getByRole('link', { name: 'Open it' })
  assert.equal(await link.getAttribute('href'), address)
  assert.match((await link.getAttribute('rel')) ?? '', /noreferrer/)
  assert.equal(await warning.evaluate<boolean>('window.opener === null'), true)
  await link.click()
  await warning.locator('h1', { hasText: 'The buyer' }).waitFor()
  assert.deepEqual([outside, referrers], [[address], [null]])
  // The page is for the person who has the unit, so that nobody else can use it to send people elsewhere.
  const path = `/work/${assignmentId}/link/page`
  for (const headers of [{}, { cookie: stranger.cookie }])
    assert.equal((await harness.call('GET', path, { headers })).status, 404)
  assert.equal((await harness.call('GET', path, { headers: { cookie: worker.cookie } })).status, 200)
  await context.close()
})

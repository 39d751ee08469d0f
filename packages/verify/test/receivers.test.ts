import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import {
  expressReceiver,
  fastifyReceiver,
  honoReceiver,
  requestReceiver,
  type ReceiverOptions,
  type WebhookEvent,
} from '../src/receivers.ts'

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
// The space and the letter are lost where a body is parsed and written again.
const body = '{"id":"evt_1", "type":"credential.issued","data":{"name":"Zo\\u00eb"}}'
const nowSeconds = () => Math.floor(Date.now() / 1_000)

const signed = (text: string, at = nowSeconds(), key = Buffer.alloc(32, 7)) => ({
  'content-type': 'application/json',
  'webhook-id': 'evt_1',
  'webhook-timestamp': String(at),
  'webhook-signature': `v1,${createHmac('sha256', key).update(`evt_1.${at}.${text}`).digest('base64')}`,
})

const received: WebhookEvent[] = []
const options: ReceiverOptions = {
  secret,
  onEvent: (event) => {
    if (event.type === 'planted.failure') throw new Error('the database is away')
    received.push(event)
  },
}

const open: Server[] = []
after(() => open.forEach((server) => server.close()))
const listen = async (listener: RequestListener): Promise<string> => {
  const server = createServer(listener)
  open.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`
}

/** A server that speaks `Request` and `Response` over HTTP, as Next and Deno do. */
const listenToRequests = (handle: (request: Request) => Response | Promise<Response>): Promise<string> =>
  listen((incoming, outgoing) => {
    void (async () => {
      const bytes = Buffer.concat(await incoming.toArray())
      const headers = Object.entries(incoming.headers).map(([name, value]): [string, string] => [
        name,
        String(value),
      ])
      const method = incoming.method ?? 'GET'
      const request = new Request(`http://127.0.0.1${incoming.url}`, {
        method,
        headers,
        ...(method === 'POST' ? { body: bytes } : {}),
      })
      const response = await Promise.resolve(handle(request)).catch(() => new Response(null, { status: 500 }))
      outgoing.writeHead(response.status, Object.fromEntries(response.headers))
      outgoing.end(Buffer.from(await response.arrayBuffer()))
    })()
  })

const fastifyApp = fastify()
await fastifyApp.register(fastifyReceiver, { path: '/webhooks', ...options })
fastifyApp.post('/parsed', async ({ body: parsed }) => typeof parsed)
await fastifyApp.listen({ port: 0, host: '127.0.0.1' })
after(() => fastifyApp.close())
const fastifyUrl = `http://127.0.0.1:${(fastifyApp.server.address() as AddressInfo).port}/webhooks`

const expressApp = () => {
  const app = express()
  // Without it Express prints the planted failure.
  app.set('env', 'test')
  return app
}

const receivers: Readonly<Record<string, string>> = {
  Express: await listen(expressApp().post('/webhooks', expressReceiver(options))),
  'Express with express.raw()': await listen(
    expressApp()
      .use(express.raw({ type: '*/*' }))
      .post('/webhooks', expressReceiver(options)),
  ),
  'Express with a parser that keeps rawBody': await listen(
    expressApp()
      .use(
        express.json({
          verify: (request, _response, bytes) => void Object.assign(request, { rawBody: bytes }),
        }),
      )
      .post('/webhooks', expressReceiver(options)),
  ),
  'node:http': await listen((request, response) => void expressReceiver(options)(request, response)),
  Fastify: fastifyUrl,
  Hono: await listenToRequests((request) =>
    new Hono()
      .onError((_error, context) => context.body(null, 500))
      .post('/webhooks', honoReceiver(options))
      .fetch(request),
  ),
  'a route from Request to Response': await listenToRequests(requestReceiver(options)),
}

const send = async (url: string, text: string, headers: Record<string, string>) => {
  const response = await fetch(url, { method: 'POST', body: text, headers })
  const answer = await response.text()
  return [response.status, answer === '' ? undefined : (JSON.parse(answer) as { reason?: string }).reason]
}

for (const [name, url] of Object.entries(receivers)) {
  test(`${name} takes a genuine delivery, byte for byte, and hands over the event`, async () => {
    received.length = 0
    assert.deepEqual(await send(url, body, signed(body)), [204, undefined])
    assert.deepEqual(received, [JSON.parse(body)])
  })

  test(`${name} refuses a forged, changed, old or unsigned delivery, and one that is too large`, async () => {
    received.length = 0
    const { 'webhook-signature': _, ...unsigned } = signed(body)
    const large = JSON.stringify({ type: 'x', filler: 'a'.repeat(70_000) })
    const answers = [
      await send(url, body, signed(body, nowSeconds(), Buffer.alloc(32, 8))),
      await send(url, body.replace('evt_1', 'evt_2'), signed(body)),
      await send(url, body, signed(body, nowSeconds() - 301)),
      await send(url, body, unsigned),
    ]
    assert.deepEqual(answers, [
      [400, 'wrong_secret'],
      [400, 'wrong_secret'],
      [400, 'stale_timestamp'],
      [400, 'missing_header'],
    ])
    assert.equal((await send(url, large, signed(large)))[0], 413)
    assert.deepEqual(received, [])
  })

  test(`${name} answers 500 where the event could not be handled, so that it is sent again`, async () => {
    const text = '{"id":"evt_1","type":"planted.failure","data":{}}'
    const response = await fetch(url, { method: 'POST', body: text, headers: signed(text) })
    assert.equal(response.status, 500)
  })
}

test('a body that Express parsed before is refused with the reason', async () => {
  const url = await listen(expressApp().use(express.json()).post('/webhooks', expressReceiver(options)))
  assert.deepEqual(await send(url, body, signed(body)), [400, 'parsed_body'])
})

test('other routes of Fastify keep their parser', async () => {
  const response = await fetch(fastifyUrl.replace('/webhooks', '/parsed'), {
    method: 'POST',
    body: '{}',
    headers: { 'content-type': 'application/json' },
  })
  assert.equal(await response.text(), 'object')
})

test('a receiver without a secret fails where it is made, and takes POST only', async () => {
  assert.throws(() => requestReceiver({ ...options, secret: '' }), TypeError)
  assert.throws(() => expressReceiver({ ...options, secret: 'abc' }), TypeError)
  const answer = await requestReceiver(options)(new Request('http://127.0.0.1/'))
  assert.equal(answer.status, 405)
})

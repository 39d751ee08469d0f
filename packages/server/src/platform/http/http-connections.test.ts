import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, request as send } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { after, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import Fastify from 'fastify'
import { addStallTimeout, timeouts } from './http-connections.ts'

const app = Fastify({ logger: false, ...timeouts })
addStallTimeout(app)
/** The timeout of each connection while its request is served. */
const served: (number | undefined)[] = []
const sockets: Socket[] = []
app.route({
  method: ['GET', 'POST'],
  url: '/',
  handler: async ({ raw }) => {
    served.push(raw.socket.timeout)
    sockets.push(raw.socket)
    return { done: true }
  },
})
await app.listen({ host: '127.0.0.1', port: 0 })
const agent = new Agent({ keepAlive: true, maxSockets: 1 })
after(async () => {
  agent.destroy()
  await app.close()
})

const call = async (method: string, body?: string): Promise<void> => {
  const { port } = app.server.address() as AddressInfo
  const headers = { 'content-type': 'application/json' }
  const request = send({ host: '127.0.0.1', port, method, path: '/', agent, headers })
  request.end(body)
  const [response] = await once(request, 'response')
  response.resume()
  await once(response, 'end')
}

test('only a body has to arrive within seconds: an answer has its minute, and a kept connection more', async () => {
  await call('GET')
  await call('POST', '{}')
  await call('GET')
  assert.deepEqual(served, [
    timeouts.connectionTimeout,
    timeouts.connectionTimeout,
    timeouts.connectionTimeout,
  ])
  assert.equal(new Set(sockets).size, 1, 'all calls used one connection')
  // Node sets it once the answer was sent, and puts a second on top.
  const kept = () => sockets[0]?.timeout ?? 0
  for (let tries = 0; tries < 500 && kept() < timeouts.keepAliveTimeout; tries += 1) await setTimeout(10)
  assert.ok(kept() >= timeouts.keepAliveTimeout, `${kept()} ms`)
})

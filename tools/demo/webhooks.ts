import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { makeWebhookJobRunner } from '../../packages/server/test/fixtures/webhooks.ts'
import { call, type Demo } from './service.ts'

/** A receiver on this machine that takes every delivery, except at the path of the broken one. */
const startReceiver = async () => {
  const server = createServer((request, response) => {
    request.resume()
    request.on('end', () => response.writeHead(request.url === '/broken' ? 500 : 204).end())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}

/** Two endpoints, one of which fails. `deliver` sends what is due. */
export const openWebhooks = async (demo: Demo) => {
  const receiver = await startReceiver()
  const subscribe = (path: string, events: readonly string[]) =>
    call(demo, 'POST', '/api/agents/webhooks', {
      key: demo.live.apiKey,
      body: { url: `${receiver.url}${path}`, events },
    })
  await subscribe('/orders', ['*'])
  await subscribe('/broken', ['credential.issued'])
  return { deliver: makeWebhookJobRunner(demo.harness), stop: receiver.stop }
}

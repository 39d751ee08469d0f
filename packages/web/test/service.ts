import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { freePort } from '../../server/dev/cluster.ts'
import { webPages, operatorPages } from '../../server/src/discovery/web-pages.ts'
import { builtPages } from '../../server/test/fixtures/processes/built-pages.ts'
import { startHarness, type Harness } from '../../server/test/fixtures/harness.ts'

type ReceivedRequest = { method: string; url: string; cookie: string | undefined; key: string | undefined }

/** One listener of the service with the built pages in front of it: pages from here, everything else from the real one. */
const startFrontend = async (
  listener: Harness['app']['api'],
  pages: ReturnType<typeof webPages>,
  behaviour: { readonly api: 'good' | 'down' | 'slow' },
  port = 0,
) => {
  const requests: ReceivedRequest[] = []
  const answer = async (request: IncomingMessage, response: ServerResponse, body: string): Promise<void> => {
    const path = request.url ?? ''
    const page = pages.find((candidate) => candidate.path === path)
    if (page) {
      const { mediaType, text, headers } = await page.handler({
        params: {},
        query: {},
        header: () => undefined,
      })
      return void response.writeHead(200, { 'content-type': mediaType, ...headers }).end(text)
    }
    if (path.startsWith('/api/') && behaviour.api === 'down') return void request.socket.destroy()
    while (behaviour.api === 'slow') await setTimeout(50)
    const answered = await listener.inject({
      method: request.method as 'GET',
      url: path,
      headers: request.headers as Record<string, string>,
      ...(body === '' ? {} : { payload: body }),
    })
    response.writeHead(answered.statusCode, answered.headers).end(answered.rawPayload)
  }
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => {
      const { method = '', url = '', headers } = request
      requests.push({ method, url, cookie: headers.cookie, key: headers.authorization })
      void answer(request, response, body)
    })
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests }
}

/** The whole service with the built pages in front of both of its listeners. */
export const startService = async (
  start: (environment: Record<string, string>) => Promise<Harness> = startHarness,
) => {
  const folder = await builtPages('web')
  // Passkeys of operators belong to an address, so its port is chosen before the service starts.
  const operatorPort = await freePort()
  const harness = await start({ OPERATOR_PORT: String(operatorPort) })
  const issuer = harness.ctx.config.BASE_URL
  const behaviour = { api: 'good' as 'good' | 'down' | 'slow' }
  const { url, requests } = await startFrontend(harness.app.api, webPages(issuer, folder), behaviour)
  const operator = await startFrontend(
    harness.app.operator,
    operatorPages(issuer, folder),
    behaviour,
    operatorPort,
  )
  return { url, requests, operator, harness, behaviour, folder }
}
export type Service = Awaited<ReturnType<typeof startService>>

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createProbe } from 'node:net'
import { after } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { webPages, templateOf } from '../../server/src/discovery/web-pages.ts'
import { tagPages } from '../../server/src/discovery/tag.ts'
import type { Page as Served } from '../../server/src/platform/http/call.ts'
import { pages as approvalPages } from '../../server/src/approvals/pages.ts'
import { pages as workPages } from '../../server/src/work/pages.ts'
import { builtPages } from '../../server/test/fixtures/processes/built-pages.ts'
import { startHarness } from '../../server/test/fixtures/harness.ts'

/** The address of the service is part of its settings, so its port is chosen before it starts. */
const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const probe = createProbe().listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' ? (address?.port ?? 0) : 0))
    })
  })

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  return Buffer.concat(parts).toString('utf8')
}

/**
 * The whole service at an address that passkeys are bound to, with pages built from the sources as they are now. The
 * line to the API can be cut, for one kind of call or for all, and made slow.
 */
export const startWorkerFixture = async (
  /** Settings of what must know the address first, as a card provider does. */
  settingsAt: (url: string) => Promise<Record<string, string>> = async () => ({}),
) => {
  const [pages, scripts] = [await builtPages('web'), await builtPages('tag')]
  const port = await freePort()
  const url = `http://localhost:${port}`
  const harness = await startHarness({ PORT: String(port), ...(await settingsAt(url)) })
  const line = {
    cut: undefined as RegExp | undefined,
    /** The latency of a call in each direction. */
    eachWayMs: 0,
  }
  const served: Served[] = [
    ...webPages(url, pages),
    ...tagPages(scripts),
    ...workPages(harness.ctx, templateOf('work.html', pages)),
    ...approvalPages(templateOf('approve.html', pages)),
  ]
  const pageAt = (path: string): Served | undefined =>
    served.find((page) => page.path === path) ??
    (/^\/work\/[^/]+$/.test(path) ? served.find((page) => page.path === '/work/:assignmentId') : undefined) ??
    (/^\/approve\/[^/]+$/.test(path)
      ? served.find((page) => page.path === '/approve/:approvalId')
      : undefined)

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname, searchParams } = new URL(request.url ?? '', url)
    const page = pageAt(pathname)
    if (page) {
      const { status, mediaType, text, headers } = await page.handler({
        params: {},
        query: Object.fromEntries(searchParams),
        header: (name) => request.headers[name] as string | undefined,
      })
      return void response.writeHead(status ?? 200, { 'content-type': mediaType, ...headers }).end(text)
    }
    const body = await bodyOf(request)
    if (line.cut?.test(pathname)) return void request.socket.destroy()
    await sleep(line.eachWayMs)
    const answered = await harness.app.api.inject({
      method: request.method as 'GET',
      url: request.url ?? '',
      headers: request.headers as Record<string, string>,
      ...(body === '' ? {} : { payload: body }),
    })
    await sleep(line.eachWayMs)
    response.writeHead(answered.statusCode, answered.headers).end(answered.rawPayload)
  }
  const server = createServer((request, response) => void answer(request, response))
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url, harness, line }
}

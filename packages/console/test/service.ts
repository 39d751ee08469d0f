import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { fileURLToPath } from 'node:url'
import { consolePages } from '../../server/src/discovery/console.ts'
import { startHarness } from '../../server/test/harness.ts'

/** The built pages in front of the whole service: pages from here, everything else from the real API. */
export const openService = async () => {
  const folder = mkdtempSync(join(tmpdir(), 'pohf-console-'))
  execFileSync(process.execPath, [fileURLToPath(new URL('../build.ts', import.meta.url)), folder])
  const harness = await startHarness()
  const asked: { method: string; url: string; cookie: string | undefined; key: string | undefined }[] = []
  const behaviour = { api: 'good' as 'good' | 'down' | 'slow' }
  const parts: { pages: ReturnType<typeof consolePages> } = { pages: [] }

  const answer = async (request: IncomingMessage, response: ServerResponse, body: string): Promise<void> => {
    const path = request.url ?? ''
    const page = parts.pages.find((candidate) => candidate.path === path)
    if (page) {
      const { mediaType, text, headers } = await page.handler({
        params: {},
        query: {},
        header: () => undefined,
      })
      return void response.writeHead(200, { 'content-type': mediaType, ...headers }).end(text)
    }
    if (path.startsWith('/api/') && behaviour.api === 'down') return void request.socket.destroy()
    if (behaviour.api === 'slow') await new Promise((resolve) => setTimeout(resolve, 1_500))
    const answered = await harness.app.api.inject({
      method: request.method as 'GET',
      url: path,
      headers: request.headers as Record<string, string>,
      ...(body === '' ? {} : { payload: body }),
    })
    response
      .writeHead(answered.statusCode, { 'content-type': String(answered.headers['content-type']) })
      .end(answered.body)
  }
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => {
      const { method = '', url = '', headers } = request
      asked.push({ method, url, cookie: headers.cookie, key: headers.authorization })
      void answer(request, response, body)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  parts.pages = consolePages(url, folder)
  after(() => {
    server.closeAllConnections()
    server.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return { url, harness, asked, behaviour }
}

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'

export type PlantedPage = {
  readonly head?: string
  readonly body?: string
  readonly html?: string
  readonly headers?: Record<string, string>
  readonly status?: number
  readonly answer?: (request: IncomingMessage, response: ServerResponse) => void
}

/** A site of a publisher: pages are planted at paths of their own. */
export const openSite = async (host = '127.0.0.1') => {
  const pages = new Map<string, PlantedPage>()
  const methods: string[] = []
  let loads = 0
  const server = createServer((request, response) => {
    const path = (request.url ?? '').split('?')[0] ?? ''
    methods.push(`${request.method} ${path}`)
    const page = pages.get(path)
    if (page?.answer) return page.answer(request, response)
    loads += 1
    const { head = '', body = '', headers = { 'x-frame-options': 'DENY' } } = page ?? {}
    const html =
      page?.html ??
      `<!doctype html><html lang="en"><head><title>A shop</title>${head}</head><body>${body}</body></html>`
    response
      .writeHead(page?.status ?? (page ? 200 : 404), { 'content-type': 'text/html', ...headers })
      .end(html.replaceAll('NONCE', `nonce-${loads}`))
  })
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  const address = server.address()
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    methods,
    plant: (path: string, page: PlantedPage): string => {
      pages.set(path, page)
      return `http://127.0.0.1:${port}${path}`
    },
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

import { createServer } from 'node:http'
import type { Target } from '../protocol/client.ts'

const escape = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')

const html = ({ baseUrl, site, kind, workflowId, challenge }: Target): string => {
  const given = { site, kind, 'workflow-id': workflowId, challenge, 'base-url': baseUrl }
  const attributes = Object.entries(given)
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name}="${escape(value)}"`]))
    .join(' ')
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Arena</title>
<script src="${escape(new URL('/check.js', baseUrl).href)}"></script>
<h1>Arena</h1><p>A page with the check and nothing else.</p><pohf-check ${attributes}></pohf-check></html>`
}

/** A page on this machine that embeds the check, as a customer's would. */
export const servePage = async (target: Target): Promise<{ url: string; close: () => void }> => {
  const server = createServer((request, response) => {
    const isPage = request.url === '/'
    response.writeHead(isPage ? 200 : 404, { 'content-type': 'text/html; charset=utf-8' })
    response.end(isPage ? html(target) : '')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { url: `http://127.0.0.1:${port}/`, close }
}

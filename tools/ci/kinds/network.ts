import { createServer, request as send, type IncomingMessage, type ServerResponse } from 'node:http'

const forward = (address: string, incoming: IncomingMessage, response: ServerResponse): void => {
  const headers = { ...incoming.headers, 'x-forwarded-for': address }
  const outgoing = send(incoming.url ?? '', { method: incoming.method, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.rawHeaders)
    answer.pipe(response)
  })
  outgoing.once('error', () => response.destroy())
  incoming.pipe(outgoing)
}

/** A network that a browser is behind: a proxy that tells the service this address, as the operator's own proxy would. */
export const openNetwork = async (address: string) => {
  const proxy = createServer((incoming, response) => forward(address, incoming, response))
  // Nothing here uses TLS. Chromium's own calls to its maker end here.
  proxy.on('connect', (_, socket) => socket.destroy())
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  const listening = proxy.address()
  const port = typeof listening === 'object' && listening ? listening.port : 0
  return {
    proxy: { server: `http://127.0.0.1:${port}`, bypass: '<-loopback>' },
    close: () => {
      proxy.closeAllConnections()
      proxy.close()
    },
  }
}

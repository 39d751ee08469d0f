// A process that plays receivers: answers 204 at once, except paths under /hole/, which never answer. It counts.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const arrivals: { path: string; id: string; at: number }[] = []
const server = createServer((request, response) => {
  request.resume()
  request.on('end', () => {
    const path = request.url ?? ''
    arrivals.push({ path, id: String(request.headers['webhook-id']), at: Date.now() })
    if (!path.startsWith('/hole/')) response.writeHead(204).end()
  })
})
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))
process.on('message', (message: 'count' | 'take') => {
  if (message === 'count') process.send?.({ count: arrivals.length })
  else process.send?.({ arrivals: arrivals.splice(0) })
})

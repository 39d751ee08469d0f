// A process that plays receivers: answers 204 at once, except paths under /hole/, which answer once and then never. It counts.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const answered = new Set<string>()
const arrivals: { path: string; id: string; at: number }[] = []
const server = createServer((request, response) => {
  request.resume()
  request.on('end', () => {
    const path = request.url ?? ''
    arrivals.push({ path, id: String(request.headers['webhook-id']), at: Date.now() })
    // Until its first 2xx an endpoint is limited by its host, and here all have the same host.
    if (!path.startsWith('/hole/') || !answered.has(path)) response.writeHead(204).end()
    answered.add(path)
  })
})
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))
process.on('message', (message: 'count' | 'take') => {
  if (message === 'count') process.send?.({ count: arrivals.length })
  else process.send?.({ arrivals: arrivals.splice(0) })
})

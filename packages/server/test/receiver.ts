import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after } from 'node:test'

export type Received = { readonly headers: IncomingHttpHeaders; readonly body: string }
type Respond = (response: ServerResponse, received: Received) => void

export const answer =
  (status: number, headers: Record<string, string> = {}): Respond =>
  (response) =>
    response.writeHead(status, headers).end()

/** A receiver of webhooks on loopback that keeps what it got; `respond` may be replaced at any time. */
export const startReceiver = async (respond: Respond = answer(204)) => {
  const receiver = {
    respond,
    received: [] as Received[],
    url: '',
    /** The most requests that were open at one time. */
    openMax: 0,
    eventIds: () => receiver.received.map((one) => String(one.headers['webhook-id'])),
  }
  let open = 0
  const server = createServer((request, response) => {
    open += 1
    receiver.openMax = Math.max(receiver.openMax, open)
    response.on('close', () => {
      open -= 1
    })
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const received = { headers: request.headers, body: Buffer.concat(chunks).toString('utf8') }
      receiver.received.push(received)
      receiver.respond(response, received)
    })
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  return receiver
}

import { createServer, request as sendRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

type Tokens = Readonly<Record<string, unknown>>

const readBody = async (stream: IncomingMessage): Promise<Buffer> => {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

/**
 * The line between the service and Keycloak. It hands on everything, and somebody on it can put other tokens in the place of
 * those that Keycloak answered. Keycloak takes its own name from the address at which it is called, so the issuer is at the line.
 */
export const startLine = async (target: string) => {
  const { hostname, port } = new URL(target)
  const line = {
    /** Changes the next answers of the token endpoint. */
    change: undefined as ((tokens: Tokens) => Tokens | Promise<Tokens>) | undefined,
    isCut: false,
  }
  const answer = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    if (line.isCut) return void incoming.socket.destroy()
    const body = await readBody(incoming)
    const answered = await new Promise<IncomingMessage>((resolve, reject) => {
      const { method, url, headers } = incoming
      sendRequest({ hostname, port, method, path: url, headers }, resolve).on('error', reject).end(body)
    })
    const text = await readBody(answered)
    const isToken = incoming.url?.endsWith('/token') === true && answered.statusCode === 200
    const { 'transfer-encoding': _chunks, 'content-length': _length, ...headers } = answered.headers
    const sent =
      isToken && line.change
        ? Buffer.from(JSON.stringify(await line.change(JSON.parse(text.toString('utf8')) as Tokens)))
        : text
    outgoing.writeHead(answered.statusCode ?? 502, { ...headers, 'content-length': sent.length }).end(sent)
  }
  const server = createServer((incoming, outgoing) => {
    answer(incoming, outgoing).catch(() => outgoing.destroy())
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** What tests change while it runs. */
    state: line,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

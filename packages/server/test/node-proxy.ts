import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * What becomes of a call: pass it on; drop it unheard; pass it on and lose the answer, at once or after it came; or
 * answer something else.
 */
export type Fate =
  | 'pass'
  | 'drop'
  | 'lose'
  | 'lose later'
  | { readonly error: { readonly code: number; readonly message: string } }
  | { readonly result: unknown }

type Rule = (method: string, body: string) => Fate | Promise<Fate>
const passAll: Rule = () => 'pass'

/** Stands between a server and the node of its chain, and does what nodes and networks do. */
export const startNodeProxy = async (nodeUrl: string) => {
  const counts = new Map<string, number>()
  let rule: Rule = passAll
  const forward = async (body: string): Promise<string> => {
    const response = await fetch(nodeUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    })
    return response.text()
  }
  const serve = async (body: string, response: ServerResponse): Promise<void> => {
    const { id, method } = JSON.parse(body) as { id: unknown; method: string }
    counts.set(method, (counts.get(method) ?? 0) + 1)
    const fate = await rule(method, body)
    const write = (text: string) => response.setHeader('content-type', 'application/json').end(text)
    if (typeof fate === 'object') write(JSON.stringify({ jsonrpc: '2.0', id, ...fate }))
    else if (fate === 'drop') response.destroy()
    else if (fate === 'lose') {
      void forward(body).catch(() => undefined)
      // After the node has it: nothing tells the caller so.
      setTimeout(() => response.destroy(), 20)
    } else if (fate === 'lose later') {
      await forward(body)
      response.destroy()
    } else write(await forward(body))
  }
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => void serve(body, response).catch(() => response.destroy()))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const stop = () =>
    new Promise<void>((resolve) => {
      server.closeAllConnections()
      server.close(() => resolve())
    })
  return {
    stop,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** What happens from now on, by the name of the method and the whole call. */
    rule: (next: Rule) => {
      rule = next
    },
    /** How often each method was asked since the last look. */
    takeCounts: (): Record<string, number> => {
      const seen = Object.fromEntries(counts)
      counts.clear()
      return seen
    },
  }
}

import { connect, type Socket } from 'node:net'

/** What a run of calls saw. Latencies in milliseconds, in no order. */
export type LoadResult = { readonly answered: number; readonly other: number; readonly latencies: number[] }

type Load = {
  readonly port: number
  readonly connections: number
  readonly seconds: number
  /** The next call: its whole text, ready to be sent. */
  readonly next: () => string
}

/** Where the answer that begins the text ends, or undefined while it is not whole. */
export const endOf = (text: string): number | undefined => {
  const head = text.indexOf('\r\n\r\n')
  if (head === -1) return undefined
  const length = /content-length: (\d+)/i.exec(text.slice(0, head))
  const end = head + 4 + Number(length?.[1] ?? 0)
  return text.length >= end ? end : undefined
}

/**
 * Calls as fast as answers come, one at a time on each connection. Written on bare sockets: a client library would
 * take more of the machine than the server that is measured.
 */
export const runHttpLoad = async ({ port, connections, seconds, next }: Load): Promise<LoadResult> => {
  const latencies: number[] = []
  let answered = 0
  let other = 0
  const until = performance.now() + seconds * 1_000
  const one = () =>
    new Promise<void>((resolve, reject) => {
      const socket: Socket = connect({ port, host: '127.0.0.1', noDelay: true })
      let text = ''
      let sentAt = 0
      const send = () => {
        if (performance.now() >= until) {
          socket.end()
          resolve()
          return
        }
        sentAt = performance.now()
        socket.write(next())
      }
      socket.setEncoding('latin1')
      socket.on('connect', send)
      socket.on('error', reject)
      socket.on('data', (chunk: string) => {
        text += chunk
        const end = endOf(text)
        if (end === undefined) return
        latencies.push(performance.now() - sentAt)
        if (text.startsWith('HTTP/1.1 200')) answered += 1
        else other += 1
        text = text.slice(end)
        send()
      })
    })
  await Promise.all(Array.from({ length: connections }, one))
  return { answered, other, latencies }
}

// The hostile client, a process of its own: calls one row on a number of connections, as fast as answers come or at a
// fixed rate, and counts the answers. Written on bare sockets, so that it takes little of the machine.
import { connect, type Socket } from 'node:net'
import { endOf } from '../../bench/http-load.ts'

/** What the parent orders: `requests` are sent in turn, and `perSecond` is missing where the answers set the rate. */
export type ClientOrder = {
  readonly port: number
  readonly requests: readonly string[]
  readonly connections: number
  readonly seconds: number
  readonly perSecond?: number
}
export type ClientReport = {
  readonly perSecond: number
  readonly statuses: Readonly<Record<string, number>>
  readonly cpuMs: number
}

const run = async (order: ClientOrder): Promise<ClientReport> => {
  const { port, requests, connections, seconds, perSecond } = order
  const statuses: Record<string, number> = {}
  const startedAt = performance.now()
  const cpuBefore = process.cpuUsage()
  const until = startedAt + seconds * 1_000
  let sent = 0
  /** When the next request is due: at once, or by the rate. */
  const dueAt = (): number => (perSecond === undefined ? 0 : startedAt + (sent / perSecond) * 1_000)

  const drive = () =>
    new Promise<void>((resolve) => {
      let socket: Socket
      let text = ''
      let timer: NodeJS.Timeout | undefined
      const stop = (): void => {
        clearTimeout(timer)
        socket.destroy()
        resolve()
      }
      const send = (): void => {
        const request = requests[sent % requests.length]
        const at = dueAt()
        sent += 1
        const write = (): void => {
          if (performance.now() >= until || request === undefined) stop()
          else socket.write(request)
        }
        const wait = at - performance.now()
        if (wait <= 1) write()
        else timer = setTimeout(write, Math.max(1, Math.min(wait, until - performance.now())))
      }
      const open = (): void => {
        text = ''
        socket = connect({ port, host: '127.0.0.1', noDelay: true })
        socket.setEncoding('latin1')
        socket.on('connect', send)
        socket.on('error', () => undefined)
        socket.on('close', () => (performance.now() < until ? setImmediate(open) : resolve()))
        socket.on('data', (chunk: string) => {
          text += chunk
          const end = endOf(text)
          if (end === undefined) return
          const status = text.slice(9, 12)
          statuses[status] = (statuses[status] ?? 0) + 1
          text = text.slice(end)
          send()
        })
      }
      open()
      setTimeout(stop, until - performance.now() + 50)
    })

  await Promise.all(Array.from({ length: connections }, drive))
  const answered = Object.values(statuses).reduce((sum, count) => sum + count, 0)
  const { user, system } = process.cpuUsage(cpuBefore)
  return { perSecond: answered / seconds, statuses, cpuMs: (user + system) / 1_000 }
}

process.on('message', (order: ClientOrder) => {
  void run(order).then((report) => process.send?.(report))
})

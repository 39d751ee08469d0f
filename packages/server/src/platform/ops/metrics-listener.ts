import type { Server } from 'node:http'
import { http } from '../net/node-http.ts'
import type { Logger } from './log.ts'

type MetricsPage = { readonly mediaType: string; readonly text: string }
type ListenerOptions = {
  readonly host: string
  /** Without a port there is no listener. */
  readonly port: number | undefined
  readonly log: Logger
  readonly render: () => Promise<MetricsPage>
}

/** Scrapers come every few seconds. More connections than this are refused. */
const connectionsMax = 16
const requestTimeoutMs = 5_000

/** Serves GET /metrics and nothing else. Scrapes that come together share one reading. */
const serve = (render: () => Promise<MetricsPage>): Server => {
  let rendering: Promise<MetricsPage> | undefined
  return http.createServer(
    { requestTimeout: requestTimeoutMs, headersTimeout: requestTimeoutMs },
    (request, response) => {
      if (request.url !== '/metrics' || request.method !== 'GET') {
        response.writeHead(404, { 'content-type': 'text/plain' }).end('not found\n')
        return
      }
      rendering ??= render().finally(() => {
        rendering = undefined
      })
      rendering.then(
        ({ mediaType, text }) => response.writeHead(200, { 'content-type': mediaType }).end(text),
        () => response.writeHead(500, { 'content-type': 'text/plain' }).end('metrics are not readable\n'),
      )
    },
  )
}

/**
 * Opens the metrics listener of a process, and logs its address. A port that is taken is logged and does not stop the
 * start: a service without metrics is better than none.
 */
export const startMetricsListener = async ({ host, port, log, render }: ListenerOptions): Promise<void> => {
  if (port === undefined) return
  const server = serve(render)
  server.maxConnections = connectionsMax
  // The listener keeps no process alive.
  server.unref()
  await new Promise<void>((resolve) => {
    server.on('error', (error) => {
      log.error({ err: error, host, port }, 'metrics listener cannot listen; the process runs without')
      resolve()
    })
    server.listen(port, host, () => {
      const address = server.address()
      const listening = typeof address === 'object' && address ? address.port : port
      log.info({ url: `http://${host}:${listening}/metrics` }, 'metrics listening')
      resolve()
    })
  })
}

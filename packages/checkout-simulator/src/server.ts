import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { pay, paySlowly, type Simulator } from './actions.ts'
import { makeApi } from './api.ts'
import { runControl, type FaultInjection } from './control.ts'
import { makeDeliverer } from './deliver.ts'
import { headersOf, homePage, payPage, stylesheet, unknownPage } from './pages.ts'
import { makeRecords } from './records.ts'
import type { Reply } from './resources.ts'

export type Options = {
  readonly port: number
  readonly secretKey: string
  readonly webhookUrl: string
  readonly webhookSecret: string
  /** The file that stores the records from one start to the next; none by default. */
  readonly file: string | undefined
}

const bodyBytesMax = 262_144
const slowMs = 1_500

const readBody = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > bodyBytesMax)
      throw new Error(`body of ${request.method} ${request.url} is larger than ${bodyBytesMax} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
const sendJson = (response: ServerResponse, reply: Reply): void => {
  response
    .writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers })
    .end(JSON.stringify(reply.body))
}
const sendPage = (
  response: ServerResponse,
  headers: Record<string, string>,
  text: string,
  status = 200,
): void => {
  response.writeHead(status, headers).end(text)
}

type Parts = Simulator & { readonly api: ReturnType<typeof makeApi>; readonly faults: FaultInjection }
type Exchange = { readonly request: IncomingMessage; readonly response: ServerResponse; readonly target: URL }

const nextFault = (faults: FaultInjection): FaultInjection['kind'] => {
  if (faults.calls < 1) return 'none'
  faults.calls -= 1
  return faults.kind
}

const answerApi = async ({ api, faults }: Parts, { request, response, target }: Exchange): Promise<void> => {
  const body = await readBody(request)
  const fault = nextFault(faults)
  if (fault === 'hang') return
  const reply = await api.answer(
    {
      method: request.method ?? '',
      path: target.pathname,
      query: target.search.slice(1),
      body,
      header: (name) => {
        const value = request.headers[name]
        return Array.isArray(value) ? value[0] : value
      },
    },
    async () => {
      if (fault === 'slow') await setTimeout(slowMs)
      return fault === 'error'
        ? { status: 500, body: { error: { type: 'api_error', message: 'An unknown error occurred' } } }
        : undefined
    },
  )
  if (fault === 'cut') request.socket.destroy()
  else sendJson(response, reply)
}

const answerPay = async (parts: Parts, { request, response, target }: Exchange): Promise<void> => {
  const session = parts.records.sessions.get(target.pathname.slice('/pay/'.length))
  if (!session) return sendPage(response, headersOf(undefined), unknownPage(), 404)
  if (request.method !== 'POST') return sendPage(response, headersOf(session), payPage(session))
  const how = new URLSearchParams(await readBody(request)).get('how')
  if (how === 'declined')
    return sendPage(
      response,
      headersOf(session),
      payPage(session, 'The card was declined and nothing was charged. Choose another way to pay.'),
    )
  if (how === 'card') pay(parts, session)
  if (how === 'slow') paySlowly(parts, session)
  const to = how === 'back' ? (session.cancelUrl ?? session.successUrl) : session.successUrl
  response.writeHead(303, { location: to }).end()
}

const answerControl = async (parts: Parts, { request, response, target }: Exchange): Promise<void> => {
  const body = await readBody(request)
  const input = (body === '' ? {} : JSON.parse(body)) as Readonly<Record<string, unknown>>
  const { clearIdempotencyKeys } = parts.api
  sendJson(response, await runControl({ ...parts, clearIdempotencyKeys }, target.pathname, input))
}

const answer = async (parts: Parts, exchange: Exchange): Promise<void> => {
  const { response, target } = exchange
  const { pathname } = target
  if (pathname.startsWith('/v1/')) return answerApi(parts, exchange)
  if (pathname.startsWith('/pay/')) return answerPay(parts, exchange)
  if (pathname.startsWith('/control/')) return answerControl(parts, exchange)
  if (pathname === '/pohf.css')
    return sendPage(response, { 'content-type': 'text/css; charset=utf-8' }, stylesheet)
  if (pathname === '/') return sendPage(response, headersOf(undefined), homePage(parts))
  sendPage(response, headersOf(undefined), unknownPage(), 404)
}

const listen = (server: Server, port: number): Promise<void> =>
  new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', () => {
      server.off('error', reject)
      resolve()
    })
  })

/** Starts the simulator on loopback and returns its address. */
export const startServer = async (options: Options): Promise<{ url: string; stop: () => Promise<void> }> => {
  let url = ''
  const records = makeRecords(() => url)
  if (options.file !== undefined && existsSync(options.file)) records.load(readFileSync(options.file, 'utf8'))
  const deliverer = makeDeliverer(records, { url: options.webhookUrl, secret: options.webhookSecret })
  const faults: FaultInjection = { kind: 'none', calls: 0, slowRefunds: false }
  const api = makeApi({ records, deliverer, slowRefunds: () => faults.slowRefunds }, options.secretKey)
  const parts: Parts = { records, deliverer, api, faults }

  const server = createServer((request, response) => {
    const run = async () =>
      answer(parts, { request, response, target: new URL(request.url ?? '/', 'http://simulator') })
    run().catch(() => {
      if (!response.headersSent) response.writeHead(400)
      response.end()
    })
  })
  // Another process may have taken the port of the last start.
  await listen(server, options.port).catch(() => listen(server, 0))
  const address = server.address()
  url = `http://127.0.0.1:${address !== null && typeof address === 'object' ? address.port : 0}`
  return {
    url,
    stop: async () => {
      deliverer.stop()
      if (options.file !== undefined) writeFileSync(options.file, records.dump(), { mode: 0o600 })
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

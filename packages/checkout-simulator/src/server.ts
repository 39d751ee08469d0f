import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { makeActions } from './actions.ts'
import { makeApi, type Reply } from './api.ts'
import { makeRecords } from './records.ts'
import { makeControl, type FaultInjection } from './control.ts'
import { makeDeliverer } from './deliver.ts'
import { headersOf, homePage, payPage, stylesheet, unknownPage } from './pages.ts'

export type Options = {
  readonly port: number
  readonly secretKey: string
  readonly webhookUrl: string
  readonly webhookSecret: string
  /** Where it keeps what it knows from one start to the next; nowhere by default. */
  readonly file: string | undefined
}

const bodyBytesMax = 262_144
const slowMs = 1_500

const readBody = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > bodyBytesMax) throw new Error('the body is too large')
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

/** Starts the stand-in on loopback and says where it is. */
export const startServer = async (options: Options): Promise<{ url: string; stop: () => Promise<void> }> => {
  let url = ''
  const records = makeRecords(() => url)
  if (options.file !== undefined && existsSync(options.file)) records.load(readFileSync(options.file, 'utf8'))
  const deliverer = makeDeliverer(records, { url: options.webhookUrl, secret: options.webhookSecret })
  const actions = makeActions(records, deliverer)
  const faultInjection: FaultInjection = { kind: 'none', calls: 0, slowRefunds: false }
  const api = makeApi(
    { book: records, acts: actions, slowRefunds: () => faultInjection.slowRefunds },
    options.secretKey,
  )
  const { clearIdempotencyKeys: forgetKeys } = api
  const control = makeControl({ book: records, acts: actions, deliverer, forgetKeys }, faultInjection)

  const nextFault = (): FaultInjection['kind'] => {
    if (faultInjection.calls < 1) return 'none'
    faultInjection.calls -= 1
    return faultInjection.kind
  }

  const answerApi = async (
    request: IncomingMessage,
    response: ServerResponse,
    target: URL,
  ): Promise<void> => {
    const body = await readBody(request)
    const kind = nextFault()
    if (kind === 'hang') return
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
        if (kind === 'slow') await setTimeout(slowMs)
        return kind === 'error'
          ? { status: 500, body: { error: { type: 'api_error', message: 'An unknown error occurred' } } }
          : undefined
      },
    )
    if (kind === 'cut') request.socket.destroy()
    else sendJson(response, reply)
  }

  const answerPay = async (request: IncomingMessage, response: ServerResponse, id: string): Promise<void> => {
    const session = records.sessions.get(id)
    if (!session) return sendPage(response, headersOf(undefined), unknownPage(), 404)
    if (request.method !== 'POST') return sendPage(response, headersOf(session), payPage(session))
    const how = new URLSearchParams(await readBody(request)).get('how')
    if (how === 'declined')
      return sendPage(
        response,
        headersOf(session),
        payPage(session, 'The card was declined and nothing was charged. Choose another way to pay.'),
      )
    if (how === 'card') actions.pay(session)
    if (how === 'slow') actions.paySlowly(session)
    const to = how === 'back' ? (session.cancelUrl ?? session.successUrl) : session.successUrl
    response.writeHead(303, { location: to }).end()
  }

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const target = new URL(request.url ?? '/', 'http://stand-in')
    const { pathname } = target
    if (pathname.startsWith('/v1/')) return answerApi(request, response, target)
    if (pathname.startsWith('/pay/')) return answerPay(request, response, pathname.slice('/pay/'.length))
    if (pathname.startsWith('/control/')) {
      const body = await readBody(request)
      const input = (body === '' ? {} : JSON.parse(body)) as Readonly<Record<string, unknown>>
      return sendJson(response, await control(pathname, input))
    }
    if (pathname === '/pohf.css')
      return sendPage(response, { 'content-type': 'text/css; charset=utf-8' }, stylesheet)
    if (pathname === '/') return sendPage(response, headersOf(undefined), homePage(records, deliverer))
    sendPage(response, headersOf(undefined), unknownPage(), 404)
  }

  const server = createServer((request, response) => {
    answer(request, response).catch(() => {
      if (!response.headersSent) response.writeHead(400)
      response.end()
    })
  })
  const listen = (port: number) =>
    new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(port, '127.0.0.1', () => {
        server.off('error', reject)
        resolve()
      })
    })
  // Somebody else may have its port of last time.
  await listen(options.port).catch(() => listen(0))
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

import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { pageHeaders } from '../../packages/server/src/platform/http/html.ts'
import { browserNameOf } from '../../packages/server/src/platform/sign-in/own-page.ts'
import { listen } from './listen.ts'

/** What the page asks of the authenticator, or the end. */
type Question =
  | { readonly kind: 'create' | 'use'; readonly publicKey: object }
  | { readonly kind: 'done'; readonly message: string }
type Answer = { readonly credential: unknown; readonly browser: string }

const bodyCharsMax = 100_000

/** The script of the service's own pages talks to the authenticator. */
const ownScript = readFileSync(new URL('../../packages/server/assets/passkey.js', import.meta.url), 'utf8')
const pageScript = `import { createWith, useWith } from './passkey.js'
const show = (text) => { document.querySelector('output').textContent = text }
const failed = new Proxy({}, { get: (_, name) => 'The browser or the authenticator ended it: ' + String(name) })
const page = { words: { failed, waitDevice: 'Waiting for the authenticator' }, say: show }
const ask = async (answer) =>
  (await fetch('./next', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(answer) })).json()
document.querySelector('button').addEventListener('click', async () => {
  try {
    let question = await ask({})
    while (question.kind !== 'done') {
      const credential = await (question.kind === 'create' ? createWith : useWith)(page, question.publicKey)
      question = await ask({ credential })
    }
    show(question.message)
  } catch (error) {
    show(error.message)
  }
})
`
const pageHtml = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>First contact with an authenticator</title>
    <script type="module" src="./page.js"></script>
  </head>
  <body>
    <main>
      <h1>First contact with an authenticator</h1>
      <p>The button makes a passkey and then signs in with it, so your device asks you twice.</p>
      <p><button type="button">Start</button></p>
      <p><output></output></p>
    </main>
  </body>
</html>
`
const files: Readonly<Record<string, readonly [type: string, content: string]>> = {
  '': ['text/html; charset=utf-8', pageHtml],
  'page.js': ['text/javascript; charset=utf-8', pageScript],
  'passkey.js': ['text/javascript; charset=utf-8', ownScript],
}

/** A page for one browser, at an address that nobody can guess. */
export const openPasskeyPage = async (host: string, port: number) => {
  const prefix = `/contact-${randomBytes(16).toString('hex')}/`
  let question = Promise.withResolvers<Question>()
  let answer = Promise.withResolvers<Answer>()

  const receive = async (request: IncomingMessage): Promise<string> => {
    const body = await text(request)
    if (body.length > bodyCharsMax) throw new Error(`answer of ${body.length} characters`)
    const { credential } = JSON.parse(body) as { credential?: unknown }
    if (credential !== undefined) {
      question = Promise.withResolvers<Question>()
      answer.resolve({ credential, browser: browserNameOf(request.headers['user-agent']) })
    }
    return JSON.stringify(await question.promise)
  }
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = request.url?.startsWith(prefix) ? request.url.slice(prefix.length) : undefined
    const file = path !== undefined && Object.hasOwn(files, path) ? files[path] : undefined
    response.setHeader('connection', 'close')
    if (file) response.writeHead(200, { ...pageHeaders, 'content-type': file[0] }).end(file[1])
    else if (path === 'next' && request.method === 'POST')
      response.writeHead(200, { 'content-type': 'application/json' }).end(await receive(request))
    else response.writeHead(404).end()
  }
  const server = createServer((request, response) => {
    respond(request, response).catch(() => response.writeHead(400).end())
  })
  const stop = await listen(server, port, host)
  return {
    path: prefix,
    /** Asks the authenticator, through the browser. */
    ask: (asked: Question): Promise<Answer> => {
      answer = Promise.withResolvers<Answer>()
      question.resolve(asked)
      return answer.promise
    },
    close: async (message: string): Promise<void> => {
      question.resolve({ kind: 'done', message })
      await stop()
    },
  }
}
export type PasskeyPage = Awaited<ReturnType<typeof openPasskeyPage>>

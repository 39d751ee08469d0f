// A publisher's site with the check in a form. POHF_URL, POHF_SITE, POHF_KEY and PORT configure it.
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export type SiteOptions = {
  readonly pohf: string
  readonly site: string
  readonly apiKey: string
  readonly port: number
  readonly folder?: string
}

const builtFolder = fileURLToPath(new URL('../dist', import.meta.url))
const bodyBytesMax = 16_384
/** The most challenges that are open at a time; the oldest are dropped first. */
const challengesMax = 1_000

const escapes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
const escape = (text: string) => text.replaceAll(/[&<>"]/g, (character) => escapes[character] ?? '')
const fill = (template: string, values: Readonly<Record<string, string>>): string =>
  template.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => escape(values[name] ?? ''))

const readForm = async (request: IncomingMessage): Promise<URLSearchParams | undefined> => {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of request) {
    bytes += (part as Buffer).length
    if (bytes > bodyBytesMax) return undefined
    parts.push(part as Buffer)
  }
  return new URLSearchParams(Buffer.concat(parts).toString('utf8'))
}

type ApiResponse = { readonly status: number; readonly json: Record<string, unknown> }
type Outcome = { readonly chip: string; readonly tone: string; readonly title: string; readonly lead: string }

/** What the answer means for this site. */
const outcomeOf = ({ status, json }: ApiResponse, sessionId: string): Outcome => {
  if (!sessionId)
    return {
      chip: 'Not checked',
      tone: 'warn',
      title: 'Your comment waits for a look by us.',
      lead: 'It came without the check. That is allowed here: a person at the Gazette reads it first.',
    }
  if (status === 200)
    return {
      chip: 'Person',
      tone: 'ok',
      title: 'Thank you. Your comment is on the page.',
      lead: `PoHF has signed that a person was here, with a quality of ${String(json['quality'])}.`,
    }
  if (json['error'] === 'session_not_ready')
    return {
      chip: 'Recorded, not scored',
      tone: 'warn',
      title: 'Your comment waits for the score of your check.',
      lead: 'The session was recorded to its end. The service has not scored it, so nothing is known about it yet.',
    }
  return {
    chip: 'Not accepted',
    tone: 'stop',
    title: 'Your comment was not taken.',
    lead: typeof json['message'] === 'string' ? json['message'] : 'The check could not be confirmed.',
  }
}

const readFiles = (folder: string) => {
  if (!existsSync(join(folder, 'form.html')))
    throw new Error('the sample site is not built: npm run build -w packages/demo')
  const page = (name: string) => readFileSync(join(folder, `${name}.html`), 'utf8')
  return {
    form: page('form'),
    outcome: page('outcome'),
    session: page('session'),
    assets: new Map(
      readdirSync(join(folder, 'assets')).map((name) => [
        `/assets/${name}`,
        readFileSync(join(folder, 'assets', name)),
      ]),
    ),
  }
}

const html = 'text/html; charset=utf-8'

class SampleSite {
  readonly #options: SiteOptions
  readonly #files: ReturnType<typeof readFiles>
  readonly #challenges = new Set<string>()

  constructor(options: SiteOptions) {
    this.#options = options
    this.#files = readFiles(options.folder ?? builtFolder)
  }

  async #callApi(method: string, path: string, body?: unknown): Promise<ApiResponse> {
    const { pohf, apiKey } = this.#options
    const response = await fetch(pohf + path, {
      method,
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(10_000),
    })
    return { status: response.status, json: (await response.json()) as Record<string, unknown> }
  }
  #send(response: ServerResponse, status: number, mediaType: string, body: string | Buffer): void {
    const { pohf } = this.#options
    response
      .writeHead(status, {
        'content-type': mediaType,
        // The strictest policy that works: our own files, and scripts and calls of the service.
        'content-security-policy': `default-src 'none'; script-src 'self' ${pohf}; style-src 'self'; connect-src 'self' ${pohf}; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
        'cache-control': 'no-store',
        'referrer-policy': 'strict-origin',
      })
      .end(body)
  }

  #showForm(response: ServerResponse): void {
    const { pohf, site } = this.#options
    const challenge = randomBytes(16).toString('base64url')
    this.#challenges.add(challenge)
    for (const old of this.#challenges)
      if (this.#challenges.size > challengesMax) this.#challenges.delete(old)
    this.#send(response, 200, html, fill(this.#files.form, { pohf, site, challenge }))
  }
  async #handleComment(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const form = await readForm(request)
    const challenge = form?.get('challenge') ?? ''
    // A challenge of ours, used once: nobody can submit a session that was made for another form.
    if (!form || !this.#challenges.delete(challenge))
      return void response.writeHead(303, { location: '/' }).end()
    const sessionId = form.get('pohf-session') ?? ''
    const question = { sessionId, challenge }
    const apiResponse = sessionId
      ? await this.#callApi('POST', '/api/agents/verify', question)
      : { status: 0, json: {} }
    const page = fill(this.#files.outcome, {
      ...outcomeOf(apiResponse, sessionId),
      sessionId,
      look: sessionId ? 'main' : 'gone',
      asked: sessionId ? JSON.stringify(question, null, 2) : '(nothing: the form came without a session)',
      status: apiResponse.status ? `HTTP ${apiResponse.status}` : '',
      answer: apiResponse.status ? JSON.stringify(apiResponse.json, null, 2) : '',
    })
    this.#send(response, 200, html, page)
  }
  async #route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://site')
    const sessionPath = `/api/agents/sessions/${encodeURIComponent(searchParams.get('id') ?? '')}`
    // A real site would first check who may see the session; this one runs on your own machine.
    const proxied = new Map([
      ['/session.json', sessionPath],
      ['/chunks.json', `${sessionPath}/chunks?limit=100&from=${Number(searchParams.get('from')) || 1}`],
    ]).get(pathname)
    const asset = this.#files.assets.get(pathname)
    if (request.method === 'POST' && pathname === '/comment') return this.#handleComment(request, response)
    if (pathname === '/') return this.#showForm(response)
    if (pathname === '/session') return this.#send(response, 200, html, this.#files.session)
    if (proxied) {
      const { status, json } = await this.#callApi('GET', proxied)
      return this.#send(response, status, 'application/json', JSON.stringify(json))
    }
    const assetType = extname(pathname) === '.css' ? 'text/css' : 'text/javascript'
    if (asset) return this.#send(response, 200, assetType, asset)
    this.#send(response, 404, 'text/plain', 'There is no such page.')
  }
  handle(request: IncomingMessage, response: ServerResponse): void {
    this.#route(request, response).catch((error: unknown) => {
      const reason = error instanceof Error ? error.message : ''
      if (!response.headersSent)
        this.#send(response, 502, 'text/plain', `The service did not answer: ${reason}`)
    })
  }
}

/** Starts the site on this machine only. */
export const startSite = async (options: SiteOptions) => {
  const site = new SampleSite(options)
  const server = createServer((request, response) => site.handle(request, response))
  await new Promise<void>((resolve) => server.listen(options.port, '127.0.0.1', resolve))
  const address = server.address()
  return {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : options.port}`,
    stop: async () => {
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

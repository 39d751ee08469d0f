import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'

const guide = readFileSync(new URL('../../../docs/guides/check.md', import.meta.url), 'utf8')

/** The first page of docs/guides/check.md, with what a reader puts in. */
const pageOf = (url: string, agentId: string, challenge: string): string => {
  const page = /```html\n([\s\S]+?)```/.exec(guide)?.[1]
  if (page === undefined) throw new Error('docs/guides/check.md has no page')
  const filled = page
    .replaceAll('https://pohf.example', url)
    .replaceAll('YOUR_AGENT_ID', agentId)
    .replaceAll('YOUR_NONCE', challenge)
  return `<!doctype html><html lang="en"><title>A form</title><main>${filled}</main></html>`
}

const formOf = async (request: IncomingMessage): Promise<URLSearchParams> => {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  return new URLSearchParams(Buffer.concat(parts).toString('utf8'))
}

/** What a visitor sent: the session of the check, and the nonce that was made for the form. */
export type SentForm = { readonly sessionId: string; readonly challenge: string }

/** A site of the agent with the form of the guide. It keeps what visitors send. */
export const startSite = async (url: string, agentId: string) => {
  const sent: SentForm[] = []
  const server = createServer((request, response) => {
    const answer = (text: string) => response.writeHead(200, { 'content-type': 'text/html' }).end(text)
    if (request.method !== 'POST')
      return void answer(pageOf(url, agentId, randomBytes(16).toString('base64url')))
    void formOf(request).then((form) => {
      sent.push({ sessionId: form.get('pohf-session') ?? '', challenge: form.get('challenge') ?? '' })
      answer('<!doctype html><title>Sent</title><h1>Thank you</h1>')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return {
    url: `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}/`,
    /** What the last visitor sent. */
    last: (): SentForm => {
      const form = sent.at(-1)
      if (!form?.sessionId) throw new Error('the form came without a session')
      return form
    },
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

// An SMTP server that keeps the last mails and serves them as a page and as JSON. For development and tests.
import { createServer, type Server } from 'node:http'
import { text } from 'node:stream/consumers'
import { callbackify } from 'node:util'
import PostalMime from 'postal-mime'
import { SMTPServer } from 'smtp-server'
import { mailPage } from './mail-page.ts'

export type CaughtMail = {
  readonly to: readonly string[]
  readonly from: string
  readonly subject: string
  readonly at: string
  /** Both parts as a person reads them. */
  readonly text: string
  readonly html: string
  readonly raw: string
}
export type MailCatcher = {
  readonly smtpPort: number
  readonly httpPort: number
  readonly mails: readonly CaughtMail[]
  readonly stop: () => Promise<void>
}

const mailsMax = 200

const readMail = async (to: readonly string[], raw: string): Promise<CaughtMail> => {
  const { subject = '', text: plain = '', html = '', from } = await PostalMime.parse(raw)
  const sender = from?.address === undefined ? '' : `${from.name} <${from.address}>`
  return { to, from: sender, subject, at: new Date().toISOString(), text: plain, html, raw }
}

/** Runs before a mail is accepted: a test holds or delays mails by it. */
type BeforeAccept = (to: readonly string[]) => Promise<void>

const startSmtp = (mails: CaughtMail[], beforeAccept: BeforeAccept | undefined): SMTPServer => {
  const smtp = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    size: 1_000_000,
    onData: (stream, session, callback) => {
      const to = session.envelope.rcptTo.map(({ address }) => address)
      const keep = async () => {
        const raw = await text(stream)
        await beforeAccept?.(to)
        mails.push(await readMail(to, raw))
        if (mails.length > mailsMax) mails.shift()
      }
      callbackify(keep)((error) => callback(error))
    },
  })
  // A client may disconnect at any time.
  smtp.on('error', () => undefined)
  return smtp
}

const startPages = (mails: readonly CaughtMail[]): Server =>
  createServer((request, response) => {
    if (request.url === '/mails.json')
      return void response.setHeader('content-type', 'application/json').end(JSON.stringify(mails))
    response
      .setHeader('content-type', 'text/html; charset=utf-8')
      .setHeader('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'; frame-src 'self'")
      .end(mailPage(mails))
  })

export const startMailCatcher = async (
  ports: { readonly smtp: number; readonly http: number },
  beforeAccept?: BeforeAccept,
): Promise<MailCatcher> => {
  const mails: CaughtMail[] = []
  const smtp = startSmtp(mails, beforeAccept)
  const http = startPages(mails)
  await new Promise<void>((resolve, reject) =>
    smtp.listen(ports.smtp, '127.0.0.1', resolve).once('error', reject),
  )
  await new Promise<void>((resolve, reject) =>
    http.listen(ports.http, '127.0.0.1', resolve).once('error', reject),
  )
  const portOf = (address: ReturnType<typeof http.address>) =>
    address !== null && typeof address === 'object' ? address.port : 0
  return {
    smtpPort: portOf(smtp.server.address()),
    httpPort: portOf(http.address()),
    mails,
    stop: async () => {
      await new Promise<void>((resolve) => smtp.close(resolve))
      http.closeAllConnections()
      await new Promise<void>((resolve) => http.close(() => resolve()))
    },
  }
}

// An SMTP server that keeps the last mails and serves them as JSON and text. For development and tests.
import { createServer } from 'node:http'
import { SMTPServer } from 'smtp-server'

export type CaughtMail = { readonly to: string[]; readonly raw: string }
export type MailCatcher = {
  readonly smtpPort: number
  readonly httpPort: number
  readonly mails: readonly CaughtMail[]
  readonly stop: () => Promise<void>
}

const mailsMax = 200

export const startMailCatcher = async (ports: { smtp: number; http: number }): Promise<MailCatcher> => {
  const mails: CaughtMail[] = []
  const smtp = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    size: 1_000_000,
    onData: (stream, session, callback) => {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        mails.push({
          to: session.envelope.rcptTo.map(({ address }) => address),
          raw: Buffer.concat(chunks).toString('utf8'),
        })
        if (mails.length > mailsMax) mails.shift()
        callback()
      })
    },
  })
  // A client may disconnect at any time.
  smtp.on('error', () => undefined)
  const http = createServer((request, response) => {
    const asJson = request.url === '/mails.json'
    response.setHeader('content-type', asJson ? 'application/json' : 'text/plain; charset=utf-8')
    response.end(
      asJson
        ? JSON.stringify(mails)
        : mails
            .map((mail) => mail.raw)
            .toReversed()
            .join('\n\n--------\n\n') || 'No mail yet.\n',
    )
  })
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

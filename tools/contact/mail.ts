import { randomUUID } from 'node:crypto'
import { isLoopbackHost } from '../../packages/server/src/platform/net/loopback.ts'
import { checkMailServer, makeMailDelivery } from '../../packages/server/src/platform/net/mail.ts'
import { reasonOf, StepFailure, type Input } from './steps.ts'

type MailTarget = { readonly url: string; readonly to: string; readonly isLocal: boolean }

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''

const advice: Readonly<Record<string, string>> = {
  EAUTH:
    'Correct the user and the password in SMTP_URL; characters such as @ and / are percent-encoded there.',
  ETLS: 'Use a mail server with TLS: smtps:// with port 465, or smtp:// with port 587 and STARTTLS.',
  EDNS: 'Correct the host name in SMTP_URL.',
  EENVELOPE: 'Use a MAIL_FROM that the mail server sends for, and check the address of --to.',
}
const adviceDefault =
  'Check host, port and protocol of SMTP_URL (smtps:// for TLS from the start), and that this machine may connect there.'

/** Runs a call of the mail client, and says in plain words why it failed. */
const ask = async <T>(reason: string, call: Promise<T>): Promise<T> => {
  try {
    return await call
  } catch (error) {
    throw new StepFailure(`${reason}: ${reasonOf(error)}`, advice[codeOf(error)] ?? adviceDefault)
  }
}

/** As the service connects, but a server that offers no TLS is refused. */
const withTlsRequired = (url: string): string => {
  const required = new URL(url)
  required.searchParams.set('requireTLS', 'true')
  return required.href
}

const readTarget = ({ config, options, step }: Input): Promise<MailTarget> =>
  step('The settings name a mail server and a sender, and --to a mailbox', (note) => {
    const { SMTP_URL: url, MAIL_FROM: from } = config
    if (url === undefined)
      throw new StepFailure(
        'SMTP_URL is not set',
        'Set SMTP_URL=smtps://USER:PASSWORD@HOST:465 and MAIL_FROM as the service has them.',
      )
    if (options.to === undefined || !/^[^\s@]+@[^\s@]+$/.test(options.to))
      throw new StepFailure(
        'no mailbox is named',
        'Name a mailbox that you can read, at another provider: --to you@example.org.',
      )
    const isLocal = URL.canParse(url) && isLoopbackHost(new URL(url).hostname)
    if (!isLocal && /@localhost\b/.test(from))
      throw new StepFailure(
        `MAIL_FROM is ${from}`,
        'Set MAIL_FROM to an address of your domain: other mail servers refuse mails from localhost.',
      )
    note(`sender ${from}`)
    return { url: isLocal ? url : withTlsRequired(url), to: options.to, isLocal }
  })

/** Sends one mail as the worker does, and leaves to a person what only the mailbox shows. */
export const contactMail = async (input: Input): Promise<void> => {
  const { config, step, leaveToPerson } = input
  const { url, to, isLocal } = await readTarget(input)
  await step('The mail server accepts the connection, its TLS and the sign-in', async (note) => {
    await ask('the mail server was not reached or refused us', checkMailServer(url))
    note(isLocal ? 'on this machine: TLS is not required' : 'the certificate of the mail server is valid')
    if (new URL(url).username === '') note('without a user: the mail server asked for none')
  })
  const id = `contact-${randomUUID()}`
  await step('The mail server accepts a mail', async (note) => {
    const text = `This mail shows that your deployment of PoHF can send mails.

Open this page: ${config.BASE_URL}

You get it because somebody ran the first contact of the deployment with your address.`
    const sent = await ask(
      'the mail server refused the mail',
      makeMailDelivery(config, url)({ to, subject: 'First contact of PoHF', text }, id),
    )
    note(`Message-ID <${id}@pohf>, answer ${sent.response}`)
  })
  leaveToPerson('The mail is in the inbox within a minute, not in the folder for spam.')
  leaveToPerson('Its header Authentication-Results says spf=pass, dkim=pass and dmarc=pass.')
  leaveToPerson(`Its sender is ${config.MAIL_FROM}, and both parts, HTML and text, can be read.`)
}

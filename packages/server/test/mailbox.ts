import { freePort } from '../dev/cluster.ts'
import { startMailCatcher, type CaughtMail, type MailCatcher } from '../dev/mail-catcher.ts'

/** The text of a mail as a person reads it. */
export const textOf = (mail: CaughtMail): string => {
  const [head = '', ...body] = mail.raw.split('\r\n\r\n')
  const text = body.join('\r\n\r\n')
  if (!/^content-transfer-encoding: quoted-printable$/im.test(head)) return text
  return text
    .replaceAll('=\r\n', '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}

export const subjectOf = (mail: CaughtMail): string => /^subject: (.*)$/im.exec(mail.raw)?.[1] ?? ''

/** The secret of the mailed link, with the page it leads to. */
export const linkOf = (mail: CaughtMail | undefined): { page: string; token: string } => {
  const found = mail && /https?:\/\/[^/\s]+(\/[a-z/]+)\?token=([A-Za-z0-9_-]{43})\s/.exec(textOf(mail))
  if (!found) throw new Error(`no link in ${mail ? textOf(mail) : 'no mail'}`)
  return { page: found[1] ?? '', token: found[2] ?? '' }
}

/** A mail server on a port of its own; it can be started again on the same one. */
export const startMailbox = async (port?: number): Promise<MailCatcher> =>
  startMailCatcher({ smtp: port ?? (await freePort()), http: 0 })

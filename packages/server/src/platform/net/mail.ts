import type { Config } from '../ops/config.ts'
import type { Ctx } from '../ops/context.ts'
import type { Tx } from '../db/db.ts'
import { countMail } from '../db/mails.ts'
import type { SealedColumn } from '../db/sealed.ts'
import {
  deleteOutboxRows,
  drainOutbox,
  enqueue,
  listOutboxRows,
  mailTopics,
  type MailTopic,
  type OutboxRow,
} from '../queue/outbox.ts'
import type { Job } from '../queue/worker.ts'
import type { ClientAddress } from '../http/client-address.ts'
import { mailboxOf } from './mail-address.ts'
import { renderMailHtml } from './mail-html.ts'
import { hmacOf } from '../ops/secrets.ts'
import { loadOnce } from '../ops/load-once.ts'

type Mail = { readonly to: string; readonly subject: string; readonly text: string }

/** What mails are about. Each kind is limited for itself: unwanted registrations cannot use up recovery mails. */
export type MailKind =
  | 'confirm'
  | 'recover'
  | 'endpoint_notice'
  | 'console_link'
  | 'console_invitation'
  | 'console_notice'
  | 'approver_invitation'
  | 'approval_request'

/**
 * The class of each kind. Somebody waits at the screen for a mail of the first; strangers can cause any number of the second by
 * registering.
 */
const classes: Readonly<Record<MailKind, MailTopic>> = {
  console_link: 'mail_sign_in',
  recover: 'mail_sign_in',
  confirm: 'mail_confirmation',
  endpoint_notice: 'mail',
  console_invitation: 'mail',
  console_notice: 'mail',
  approver_invitation: 'mail',
  approval_request: 'mail',
}

/**
 * Connections to the mail server that a worker uses for a class at a time. No class waits for another, so many mails of one
 * delay no other. Ten in all: mail servers refuse clients with many connections, Postfix those with more than 50.
 */
const connections: Readonly<Record<MailTopic, number>> = {
  mail_sign_in: 4,
  mail_confirmation: 4,
  mail: 2,
}

/** A keyed hash of the mailbox, or of the mailbox and the network that asked: comparable, not reversible. */
const recipientTagOf = ({ secrets }: Pick<Ctx, 'secrets'>, parts: readonly string[]): string =>
  hmacOf(secrets.accepted('mail-recipient')[0]).update(parts.join(' ')).digest('base64url')

/** One network asks for at most this part of the mails of a mailbox, so that it cannot use up all of them. */
const networkShare = 0.5

/**
 * Puts a mail into the outbox of this transaction; false where the mailbox has reached its daily limit of mails of this
 * kind. The text may hold a secret link, so it is stored encrypted. With `client`, its wide network, and so its
 * narrow one, gets only a part of the mails.
 */
export const queueMail = async (
  tx: Tx,
  ctx: Pick<Ctx, 'secrets' | 'config'>,
  mail: Mail & { readonly agentId: string; readonly kind: MailKind; readonly client?: ClientAddress },
): Promise<boolean> => {
  const { agentId, kind, client, ...content } = mail
  const mailbox = mailboxOf(mail.to)
  const recipientTag = recipientTagOf(ctx, [mailbox])
  const perDay = ctx.config.MAILS_PER_RECIPIENT_PER_DAY
  if (client !== undefined && ctx.config.addressLimits) {
    const share = {
      recipientTag: recipientTagOf(ctx, [mailbox, client.wide]),
      perDay: Math.ceil(perDay * networkShare),
    }
    if (!(await countMail(tx, { ...share, kind }))) return false
  }
  if (!(await countMail(tx, { recipientTag, kind, perDay }))) return false
  await enqueue(tx, {
    agentId,
    topic: classes[kind],
    payload: { sealed: ctx.secrets.seal('mail', JSON.stringify(content)) },
  })
  return true
}

const readMail = (ctx: Ctx, row: Pick<OutboxRow, 'payload'>): Mail => {
  const { sealed } = row.payload as { sealed: string }
  return JSON.parse(ctx.secrets.open('mail', sealed)) as Mail
}

/** Erasure: the mails of an agent to one address that were not sent yet, but for those that sign somebody in. */
export const eraseMails = async (
  tx: Tx,
  ctx: Ctx,
  { agentId, to }: { readonly agentId: string; readonly to: string },
): Promise<void> => {
  const rows = await listOutboxRows(tx, agentId, 'mail')
  const found = rows.filter((row) => readMail(ctx, row).to === to)
  await deleteOutboxRows(
    tx,
    agentId,
    found.map(({ outboxId }) => outboxId),
  )
}

/** Imported with the first mail: it takes 100 ms of CPU, and an api sends no mail. */
const loadMailer = () => import('nodemailer')

/**
 * Of each step, for which the library waits up to ten minutes. A mail whose attempt outlasts its lease of one minute may be
 * sent twice.
 */
const smtpTimeouts = {
  dnsTimeout: 10_000,
  connectionTimeout: 10_000,
  greetingTimeout: 10_000,
  socketTimeout: 10_000,
}

/** A rejection after the text was sent may quote it, and with it a secret link: only its code is kept. */
const redactMailText = (row: OutboxRow, error: unknown): unknown =>
  error instanceof Error && 'command' in error && error.command === 'DATA'
    ? new Error(
        `mail server refused the text of mail ${row.outboxId}: ${'responseCode' in error ? String(error.responseCode) : error.name}`,
      )
    : error

/** Sends a mail in both parts. The id makes a second delivery after a crash recognisable. */
export const makeMailDelivery = ({ MAIL_FROM: from }: Pick<Config, 'MAIL_FROM'>, url: string) => {
  const open = loadOnce(async () => (await loadMailer()).createTransport({ url, ...smtpTimeouts }, { from }))
  return async (mail: Mail, id: string) =>
    (await open()).sendMail({
      ...mail,
      html: renderMailHtml(mail),
      messageId: `<${id}@pohf>`,
    })
}

const makeMailSender = (ctx: Ctx, url: string): ((row: OutboxRow) => Promise<void>) => {
  const deliver = makeMailDelivery(ctx.config, url)
  return async (row) => {
    await deliver(readMail(ctx, row), row.outboxId).catch((error: unknown) => {
      throw redactMailText(row, error)
    })
  }
}

/** The jobs that send mails, one for each class. None where SMTP_URL is not set, so that mails stay in the outbox. */
export const mailJobs = (ctx: Ctx): Job[] => {
  const url = ctx.config.SMTP_URL
  if (url === undefined) return []
  const beforeTransaction = makeMailSender(ctx, url)
  return mailTopics.map((topic) => ({
    name: topic,
    everyMs: 500,
    run: () => drainOutbox(ctx, topic, { beforeTransaction, concurrency: connections[topic] }),
  }))
}

/** Connects and signs in to the mail server without sending a mail; fails where it would refuse. */
export const checkMailServer = async (url: string): Promise<void> => {
  const { createTransport } = await loadMailer()
  const transport = createTransport({
    url,
    ...smtpTimeouts,
    connectionTimeout: 5_000,
    greetingTimeout: 5_000,
  })
  try {
    await transport.verify()
  } finally {
    transport.close()
  }
}

export const sealedColumns: readonly SealedColumn[] = [
  {
    purpose: 'mail',
    table: 'outbox',
    column: 'payload',
    key: [
      ['agent_id', 'text'],
      ['outbox_id', 'text'],
    ],
    field: { name: 'sealed', topics: mailTopics },
  },
]

import { createTransport } from 'nodemailer'
import type { Ctx } from './context.ts'
import type { Tx } from './db.ts'
import type { Secrets } from './secrets.ts'
import { enqueue, type OutboxRow } from './outbox.ts'

type Mail = { readonly to: string; readonly subject: string; readonly text: string }

/** Puts a mail into the outbox of this transaction. Its text may hold a link that is a secret, so it rests sealed. */
export const queueMail = async (
  tx: Tx,
  secrets: Secrets,
  mail: Mail & { readonly agentId: string },
): Promise<void> => {
  const { agentId, ...content } = mail
  await enqueue(tx, {
    agentId,
    topic: 'mail',
    payload: { sealed: secrets.seal('mail', JSON.stringify(content)) },
  })
}

const readMail = (ctx: Ctx, row: OutboxRow): Mail => {
  const { sealed } = row.payload as { sealed: string }
  return JSON.parse(ctx.secrets.open('mail', sealed)) as Mail
}

/** The worker's sender; undefined where no mail server is set, so that mails wait. */
export const makeMailSender = (ctx: Ctx): ((row: OutboxRow) => Promise<void>) | undefined => {
  const url = ctx.config.SMTP_URL
  if (url === undefined) return undefined
  const transport = createTransport(url, { from: ctx.config.MAIL_FROM })
  return async (row) => {
    const mail = readMail(ctx, row)
    // The id makes a second delivery after a crash recognisable.
    await transport.sendMail({ ...mail, messageId: `<${row.outboxId}@pohf>` })
  }
}

import { sql } from 'kysely'
import type { Tx } from './db.ts'

type MailCount = { readonly recipientTag: string; readonly kind: string; readonly perDay: number }

/** Counts one mail to a recipient; false where the day's mails of this kind are used up. */
export const countMail = async (tx: Tx, mail: MailCount): Promise<boolean> => {
  const row = await tx
    .insertInto('mail_counts')
    .values({
      recipient_tag: mail.recipientTag,
      kind: mail.kind,
      day: sql<Date>`(pohf_now() at time zone 'UTC')::date`,
      sent: 1,
    })
    .onConflict((conflict) =>
      conflict
        .columns(['recipient_tag', 'kind', 'day'])
        .doUpdateSet({ sent: sql<number>`mail_counts.sent + 1` })
        .where('mail_counts.sent', '<', mail.perDay),
    )
    .returning('sent')
    .executeTakeFirst()
  return row !== undefined
}

/** Deletes the counts of past days; called by the maintenance job. */
export const deleteOldMailCounts = async (tx: Tx): Promise<void> => {
  await sql`delete from mail_counts where day < (pohf_now() at time zone 'UTC')::date`.execute(tx)
}

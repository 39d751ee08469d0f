import type { Ctx } from '../platform/ops/context.ts'
import type { Tx } from '../platform/db/db.ts'
import { hashKey } from '../platform/ops/keys.ts'
import { makeToken } from '../platform/ops/tokens.ts'
import { queueMail } from '../platform/net/mail.ts'
import { confirmHours, mailTokenPrefixes, recoverMinutes, type MailTokenPurpose } from './rules.ts'
import { insertMailToken } from './store.ts'

type Recipient = { readonly agentId: string; readonly contactEmail: string }
type MailTemplate = {
  readonly purpose: MailTokenPurpose
  readonly validSeconds: number
  readonly subject: string
  readonly text: (link: string) => readonly string[]
}

/**
 * Queues a mail with a link that works once; only the hash of its token is stored. False if the recipient has reached the
 * limit of mails of this kind for today.
 */
const queueLinkMail = async (
  tx: Tx,
  ctx: Pick<Ctx, 'secrets' | 'config'>,
  agent: Recipient,
  template: MailTemplate,
): Promise<boolean> => {
  const { purpose, validSeconds, subject } = template
  const token = makeToken(tx.ids, mailTokenPrefixes[purpose])
  const { agentId, contactEmail: to } = agent
  const text = template.text(`${ctx.config.BASE_URL}/agents/${purpose}?token=${token}`).join('\n')
  if (!(await queueMail(tx, ctx, { agentId, kind: purpose, to, subject, text }))) return false
  await insertMailToken(tx, { hash: hashKey(token), agentId, purpose, validSeconds })
  return true
}

/** Queues the mail whose link confirms the contact address. */
export const mailConfirmation = async (
  tx: Tx,
  ctx: Pick<Ctx, 'secrets' | 'config'>,
  agent: Recipient,
): Promise<boolean> =>
  queueLinkMail(tx, ctx, agent, {
    purpose: 'confirm',
    validSeconds: confirmHours * 3_600,
    subject: 'Confirm your address for PoHF',
    text: (link) => [
      `Somebody registered the agent ${agent.agentId} with this address at ${ctx.config.BASE_URL}.`,
      '',
      `If it was you, confirm it within ${confirmHours} hours:`,
      link,
      '',
      'Confirming turns on the free plan and lets you recover a lost key. If it was not you, ignore this mail.',
    ],
  })

/** Queues the mail whose link replaces all keys of the agent with a new one. */
export const mailRecovery = async (
  tx: Tx,
  ctx: Pick<Ctx, 'secrets' | 'config'>,
  agent: Recipient,
): Promise<boolean> =>
  queueLinkMail(tx, ctx, agent, {
    purpose: 'recover',
    validSeconds: recoverMinutes * 60,
    subject: 'Recover your PoHF key',
    text: (link) => [
      `Somebody requested a new API key for the agent ${agent.agentId} at ${ctx.config.BASE_URL}.`,
      '',
      `If it was you, open this link within ${recoverMinutes} minutes. You get a new key, and all present keys of this agent stop working:`,
      link,
      '',
      'If it was not you, ignore this mail. Nothing changes.',
    ],
  })

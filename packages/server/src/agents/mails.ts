import type { Ctx } from '../platform/context.ts'
import type { Tx } from '../platform/db.ts'
import { hashKey } from '../platform/keys.ts'
import { queueMail } from '../platform/mail.ts'
import { confirmHours, recoverMinutes } from './rules.ts'
import { insertMailToken } from './store.ts'

type Recipient = { readonly agentId: string; readonly contactEmail: string }

/** Queues the mail whose link confirms the contact address. */
export const mailConfirmation = async (
  tx: Tx,
  ctx: Pick<Ctx, 'secrets' | 'config'>,
  agent: Recipient,
): Promise<void> => {
  const token = tx.ids.token()
  await insertMailToken(tx, {
    hash: hashKey(token),
    agentId: agent.agentId,
    purpose: 'confirm',
    validSeconds: confirmHours * 3_600,
  })
  await queueMail(tx, ctx.secrets, {
    agentId: agent.agentId,
    to: agent.contactEmail,
    subject: 'Confirm your address for PoHF',
    text: [
      `Somebody registered the agent ${agent.agentId} with this address at ${ctx.config.BASE_URL}.`,
      '',
      `If it was you, confirm it within ${confirmHours} hours:`,
      `${ctx.config.BASE_URL}/agents/confirm?token=${token}`,
      '',
      'That turns on the free plan and lets you recover a lost key. If it was not you, do nothing.',
    ].join('\n'),
  })
}

/** Queues the mail whose link trades all keys of the agent for a new one. */
export const mailRecovery = async (
  tx: Tx,
  ctx: Pick<Ctx, 'secrets' | 'config'>,
  agent: Recipient,
): Promise<void> => {
  const token = tx.ids.token()
  await insertMailToken(tx, {
    hash: hashKey(token),
    agentId: agent.agentId,
    purpose: 'recover',
    validSeconds: recoverMinutes * 60,
  })
  await queueMail(tx, ctx.secrets, {
    agentId: agent.agentId,
    to: agent.contactEmail,
    subject: 'Recover your PoHF key',
    text: [
      `Somebody asked for a new API key of the agent ${agent.agentId} at ${ctx.config.BASE_URL}.`,
      '',
      `If it was you, get it within ${recoverMinutes} minutes. All present keys of this agent stop working:`,
      `${ctx.config.BASE_URL}/agents/recover?token=${token}`,
      '',
      'If it was not you, do nothing: nothing changes.',
    ].join('\n'),
  })
}

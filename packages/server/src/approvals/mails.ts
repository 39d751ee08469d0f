import { originOf } from '../members/index.ts'
import { readNow, type Tx } from '../platform/db/db.ts'
import { countMail } from '../platform/db/mails.ts'
import { queueMail } from '../platform/net/mail.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { requestMailsPerHourMax } from './rules.ts'

/** A name for a mail: without what mail programs turn into a link. */
const plainName = (name: string): string =>
  name
    .replaceAll(/[^\p{L}\p{M}\p{N} -]+/gu, ' ')
    .replaceAll(/ +/g, ' ')
    .trim()
    .slice(0, 100) || 'an agent'

type Invitation = {
  readonly agentId: string
  readonly to: string
  readonly agentName: string
  readonly url: string
}
/** Queues the invitation of an approver. False where the mailbox got its invitations for today. */
export const mailInvitation = (tx: Tx, ctx: Ctx, invitation: Invitation): Promise<boolean> =>
  queueMail(tx, ctx, {
    agentId: invitation.agentId,
    kind: 'approver_invitation',
    to: invitation.to,
    subject: 'You are asked to approve actions of an agent',
    text: [
      `An owner of the agent "${plainName(invitation.agentName)}" asks you to approve or deny what it does.`,
      '',
      'Open this link and follow the steps. You need a passkey: a phone, a computer or a security key.',
      invitation.url,
      '',
      'The link is yours alone: do not forward it. If you do not know the sender, ignore this mail.',
    ].join('\n'),
  })

type Request = {
  readonly agentId: string
  readonly to: string
  readonly approver: string
  readonly agentName: string
  /** Of the action type; undefined where it has none. */
  readonly title: string | undefined
  readonly approvalId: string
}
/**
 * Counts a mail of one agent to one approver. An agent has a few in an hour and half of those that a mailbox gets in a day,
 * in each mode, so that it neither floods a person nor, in one mode, leaves none for the requests of others.
 */
const countRequestMail = async (tx: Tx, ctx: Ctx, recipientTag: string): Promise<boolean> => {
  const hour = (await readNow(tx)).getUTCHours()
  const kind = 'approval_requests_to'
  const perDay = Math.ceil(ctx.config.MAILS_PER_RECIPIENT_PER_DAY / 2)
  return (
    (await countMail(tx, { recipientTag, kind: `${kind} hour ${hour}`, perDay: requestMailsPerHourMax })) &&
    (await countMail(tx, { recipientTag, kind, perDay }))
  )
}

/**
 * Queues the notice that something waits; false where the mail is left out. A mail is not confidential: it has no field of the
 * action, and no words of the agent.
 */
export const mailRequest = async (tx: Tx, ctx: Ctx, request: Request): Promise<boolean> =>
  // An approver is one of one agent and mode.
  (await countRequestMail(tx, ctx, request.approver)) &&
  queueMail(tx, ctx, {
    agentId: request.agentId,
    kind: 'approval_request',
    to: request.to,
    subject: `${plainName(request.agentName)} asks for your approval`,
    text: [
      request.title === undefined
        ? `The agent "${plainName(request.agentName)}" asks you to approve an action.`
        : `The agent "${plainName(request.agentName)}" asks you to approve: ${plainName(request.title)}.`,
      '',
      'Read it and decide here:',
      `${originOf(ctx.config).origin}/approve/${request.approvalId}`,
      '',
      'Nothing happens until enough people have approved it.',
    ].join('\n'),
  })

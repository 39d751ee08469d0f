import { originOf } from '../members/index.ts'
import { readNow, type Tx } from '../platform/db/db.ts'
import { countMail } from '../platform/db/mails.ts'
import { queueMail } from '../platform/net/mail.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { requestMailsPerHourMax } from './rules.ts'

/** A name in a mail, without the characters from which mail programs make links. */
const plainName = (name: string): string =>
  name
    .replaceAll(/[^\p{L}\p{M}\p{N} -]+/gu, ' ')
    .replaceAll(/ +/g, ' ')
    .trim()
    .slice(0, 100) || 'an agent'

/** Anybody can call an agent after a bank: the name stands in quotes, beside the id that the service gave. */
const agentText = ({
  agentName,
  agentId,
}: {
  readonly agentName: string
  readonly agentId: string
}): string => `the agent "${plainName(agentName)}" (${agentId})`

type Invitation = {
  readonly agentId: string
  readonly to: string
  readonly agentName: string
  readonly url: string
}
/** Queues the invitation of an approver. False if the mailbox has reached its limit of invitations for today. */
export const mailInvitation = (tx: Tx, ctx: Ctx, invitation: Invitation): Promise<boolean> =>
  queueMail(tx, ctx, {
    agentId: invitation.agentId,
    kind: 'approver_invitation',
    to: invitation.to,
    subject: 'You are asked to approve actions of an agent',
    text: [
      `An owner of ${agentText(invitation)} asks you to approve or deny what it does.`,
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
 * Counts a mail about a request to one approver; false if a limit is reached. In each mode an agent sends an approver at
 * most `requestMailsPerHourMax` mails an hour and half of the daily limit of a mailbox. So it cannot flood a person, and in
 * one mode it leaves mails for the requests of other agents.
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
 * Queues the notice that an approval waits; false if a limit is reached. A mail is not confidential, so it contains no field
 * of the action, and neither title nor summary of the request.
 */
export const mailRequest = async (tx: Tx, ctx: Ctx, request: Request): Promise<boolean> =>
  // The id of an approver belongs to one agent and mode, and so does this count.
  (await countRequestMail(tx, ctx, request.approver)) &&
  queueMail(tx, ctx, {
    agentId: request.agentId,
    kind: 'approval_request',
    to: request.to,
    subject: `${plainName(request.agentName)} asks for your approval`,
    text: [
      request.title === undefined
        ? `You are asked by ${agentText(request)} to approve or deny an action.`
        : `You are asked by ${agentText(request)} to approve or deny: ${plainName(request.title)}.`,
      '',
      'Read it and decide here:',
      `${originOf(ctx.config).origin}/approve/${request.approvalId}`,
      '',
      'Nothing happens until enough people have approved it.',
    ].join('\n'),
  })

import type { AccountRole } from '@pohf/protocol'
import type { Tx } from '../platform/db/db.ts'
import type { ClientAddress } from '../platform/http/client-address.ts'
import { queueMail } from '../platform/net/mail.ts'
import type { AccountsDeps } from './deps.ts'
import { invitationDays, linkMinutes, plainName } from './rules.ts'

/** The rows of these mails in the outbox belong to no agent. */
const nobody = 'system'

type MailDeps = Pick<AccountsDeps, 'ctx' | 'site'>
type Invitation = { readonly name: string; readonly inviter: string; readonly role: AccountRole }
type LinkMail = {
  readonly to: string
  readonly token: string
  readonly client: ClientAddress
  readonly case: {
    readonly hasAccount: boolean
    readonly isSignUp: boolean
    readonly invitation: Invitation | undefined
  }
}

const ignoreLine = 'If it was not you, ignore this mail. Nothing changes.'

/** The token is behind #, so that browsers send it to no server before the page does. */
const linkOf = ({ site }: MailDeps, token: string): string => `${site.origin}/console#/link?token=${token}`

const linkLines = (
  deps: MailDeps,
  { token, case: { hasAccount, isSignUp, invitation } }: LinkMail,
): string[] => {
  const { origin } = deps.site
  const how = `Open this link within ${linkMinutes} minutes, in the browser in which you asked for it. It works once:`
  const use = ['', how, linkOf(deps, token), '', ignoreLine]
  if (hasAccount) return [`Somebody asked to sign in to the console at ${origin} with this address.`, ...use]
  if (isSignUp)
    return [`Somebody asked for an account at ${origin} with this address. The link creates it.`, ...use]
  if (invitation)
    return [
      `Somebody asked to sign in to the console at ${origin} with this address.`,
      `The link takes you into the account "${plainName(invitation.name)}" as ${invitation.role}, to which ${invitation.inviter} invited you.`,
      ...use,
    ]
  return [
    `Somebody asked to sign in to the console at ${origin} with this address, which no account has.`,
    '',
    `To create an account, sign up at ${origin}/console. Or ask a colleague to invite this address.`,
    '',
    ignoreLine,
  ]
}

/**
 * Queues the answer to a request for a sign-in link. False if the mailbox has reached its limit of mails for today, or the
 * caller's network has used up its share of them.
 */
export const mailSignInLink = async (tx: Tx, deps: MailDeps, mail: LinkMail): Promise<boolean> =>
  queueMail(tx, deps.ctx, {
    agentId: nobody,
    kind: 'console_link',
    to: mail.to,
    client: mail.client,
    subject: 'Sign in to the PoHF console',
    text: linkLines(deps, mail).join('\n'),
  })

/** Queues an invitation. It contains no secret: the recipient signs in with the address and accepts. */
export const mailInvitation = async (
  tx: Tx,
  deps: MailDeps,
  to: string,
  invitation: Invitation,
): Promise<boolean> =>
  queueMail(tx, deps.ctx, {
    agentId: nobody,
    kind: 'console_invitation',
    to,
    subject: 'Invitation to an account at PoHF',
    text: [
      `${invitation.inviter} invites you to the account "${plainName(invitation.name)}" at ${deps.site.origin}, as ${invitation.role}.`,
      '',
      `To accept it within ${invitationDays} days, sign in with this address:`,
      `${deps.site.origin}/console`,
      '',
      'If you do not know the sender, ignore this mail. Nothing changes.',
    ].join('\n'),
  })

/** Queues a notice of a new passkey, so that its owner learns of one that somebody else added. */
export const mailPasskeyAdded = async (tx: Tx, deps: MailDeps, to: string): Promise<boolean> =>
  queueMail(tx, deps.ctx, {
    agentId: nobody,
    kind: 'console_notice',
    to,
    subject: 'A passkey was added to your PoHF sign-in',
    text: [
      `A passkey was added to your sign-in at ${deps.site.origin}/console.`,
      '',
      'If it was not you, sign in, remove the passkey and end all other sessions.',
    ].join('\n'),
  })

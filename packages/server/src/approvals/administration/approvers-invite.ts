import {
  inviteMember,
  listConsentedMembers,
  originOf,
  updateMemberRequiredIssuer,
} from '../../members/index.ts'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import { countMail } from '../../platform/db/mails.ts'
import type { Agent } from '../../platform/http/call.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { normaliseEmail } from '../../platform/net/mail-address.ts'
import type { ApprovalsDeps } from '../deps.ts'
import { mailInvitation } from '../mails.ts'
import { approvalConflict, approversPerAgentMax, invitationsPerDayMax } from '../rules.ts'
import { lockApprovalsOf } from '../store.ts'
import { administratorOf, logChange } from './administrator.ts'
import { presentApprover } from './approvers-list.ts'
import {
  findApproverByEmail,
  insertApprover,
  listApprovers,
  updateApproverInvited,
  type ApproverRow,
} from './store.ts'

type Input = { readonly name: string; readonly email: string; readonly issuer?: string | undefined }

/** An agent cannot send mails to strangers without end. */
const countInvitation = async (tx: Tx, { agentId }: Agent): Promise<void> => {
  const count = { recipientTag: agentId, kind: 'approver_invitations_of', perDay: invitationsPerDayMax }
  if (await countMail(tx, count)) return
  throw new Refusal('rate_limited', {
    message: `An agent invites at most ${invitationsPerDayMax} approvers a day. Try again tomorrow (UTC).`,
    headers: { 'retry-after': '3600' },
  })
}

const requirePlace = async (tx: Tx, agent: Agent): Promise<void> => {
  const current = (await listApprovers(tx, agent)).filter((row) => row.removed_at === null)
  if (current.length >= approversPerAgentMax)
    throw approvalConflict(
      'body',
      'too_many_approvers',
      `an agent has at most ${approversPerAgentMax} approvers`,
    )
}

/** Only an issuer that serves this agent: the page of the invitation leads to it. */
const requireIssuer = async (
  tx: Tx,
  { issuers }: ApprovalsDeps,
  { agentId }: Agent,
  name: string | undefined,
): Promise<string | null> => {
  if (name === undefined) return null
  if (await issuers.find(tx, name, agentId)) return name
  throw new Refusal('not_found', { message: 'No such issuer serves this agent.' })
}

type Invited = { readonly approver: ApproverRow; readonly enrolUrl: string | undefined }

/** The approver of an address: a known one, also one who was removed, or a new one. */
const findOrInsert = async (
  tx: Tx,
  { ctx }: ApprovalsDeps,
  agent: Agent,
  { name, email, requiredIssuer }: Input & { readonly requiredIssuer: string | null },
): Promise<Invited> => {
  const createdBy = administratorOf(agent)
  const way = requiredIssuer === null ? ('mail_link' as const) : ('organization' as const)
  const known = await findApproverByEmail(tx, agent, email)
  if (!known || known.removed_at) await requirePlace(tx, agent)
  if (!known) {
    const { memberId, enrolUrl } = await inviteMember(tx, ctx, agent, { isOwner: true, requiredIssuer })
    const approverId = tx.ids.make('apv_')
    const added = { approverId, memberId, name, email, createdBy, way }
    return { approver: await insertApprover(tx, agent, added), enrolUrl }
  }
  const { member_id: memberId } = known
  const changed = { ...known, name, created_by: createdBy, enrolled_way: way }
  const approver = await updateApproverInvited(tx, agent, changed)
  const isEnrolled = (await listConsentedMembers(tx, agent, [memberId])).has(memberId)
  // A person who has a passkey here needs no link.
  if (isEnrolled) {
    await updateMemberRequiredIssuer(tx, { ...agent, memberId }, requiredIssuer)
    return { approver, enrolUrl: undefined }
  }
  const { enrolUrl } = await inviteMember(tx, ctx, agent, { memberId, isOwner: true, requiredIssuer })
  return { approver, enrolUrl }
}

/** Invites a person to approve. The link is in the mail alone: neither the agent nor the owner sees it. */
export const approversInvite = async (deps: ApprovalsDeps, agent: Agent, input: Input) => {
  const { ctx } = deps
  const email = normaliseEmail(input.email)
  const invited = await inTransaction(ctx, 'system', async (tx) => {
    await lockApprovalsOf(tx, agent)
    await countInvitation(tx, agent)
    const requiredIssuer = await requireIssuer(tx, deps, agent, input.issuer)
    const { approver, enrolUrl } = await findOrInsert(tx, deps, agent, { ...input, email, requiredIssuer })
    const agentName = (await deps.findAgentName(tx, agent.agentId)) ?? agent.agentId
    const isQueued = await mailInvitation(tx, ctx, {
      agentId: agent.agentId,
      to: email,
      agentName,
      url: enrolUrl ?? `${originOf(ctx.config).origin}/approve`,
    })
    if (!isQueued)
      throw new Refusal('rate_limited', {
        message: 'This mailbox has reached its limit of invitations for today. Try again tomorrow (UTC).',
        headers: { 'retry-after': '3600' },
      })
    const isEnrolled = enrolUrl === undefined
    return presentApprover(approver, agent, { isEnrolled, issuer: requiredIssuer })
  })
  logChange(ctx, agent, { action: 'approver.invite', target: invited.approver })
  return invited
}

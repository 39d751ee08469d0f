import type { Mode } from '@pohf/protocol'
import type { Agent } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { hashKey } from '../../platform/ops/keys.ts'
import { makeToken } from '../../platform/ops/tokens.ts'
import { linkDays, originOf } from '../rules.ts'
import {
  findMember,
  insertEnrolmentLink,
  insertMember,
  updateMemberRequiredIssuer,
  type MemberRow,
} from './store.ts'

type Input = { readonly externalRef?: string | undefined; readonly memberId?: string | undefined }
type Owner = { readonly agentId: string; readonly mode: Mode }
/**
 * Whether an owner invites. A person whom an owner invited approves actions of the agent, so the agent gets no link for
 * them.
 */
type Inviter = {
  readonly isOwner: boolean
  /** The outside issuer with which the person has to sign in; null for none. */
  readonly requiredIssuer?: string | null
}

/** Refuses a call that names a member by both its id and its reference. */
const requireOneName = ({ externalRef, memberId }: Input): void => {
  if (externalRef === undefined || memberId === undefined) return
  throw new Refusal('validation_failed', {
    details: [{ path: 'body.memberId', code: 'conflict', message: 'send memberId or externalRef, not both' }],
  })
}

/** The member that a call invites: a known one by its id or reference, otherwise a new one. */
const findOrInsert = async (
  tx: Tx,
  owner: Owner,
  { externalRef, memberId, isOwner }: Input & Inviter,
): Promise<MemberRow> => {
  const { agentId, mode } = owner
  if (memberId === undefined)
    return insertMember(
      tx,
      { agentId, mode, memberId: tx.ids.make('mem_') },
      { externalRef, invitedByOwner: isOwner },
    )
  const known = await findMember(tx, { agentId, mode, memberId })
  if (!known) throw new Refusal('not_found', { message: 'No such member.' })
  if (known.invitedByOwner !== isOwner)
    throw new Refusal('forbidden', {
      message: 'An owner of the account invited this person to approve. Only an owner can send them a link.',
    })
  return known
}

/** Sets with which company the person has to sign in, where the invitation says something of it. */
const setRequiredIssuer = async (
  tx: Tx,
  member: MemberRow,
  issuer: string | null | undefined,
): Promise<void> => {
  if (issuer !== undefined && issuer !== member.requiredIssuer)
    await updateMemberRequiredIssuer(tx, member, issuer)
}

/** Invites a person as a member of an agent. The same reference or member id gives the same member with a new link. */
export const inviteMember = async (tx: Tx, ctx: Ctx, owner: Owner, input: Input & Inviter) => {
  const member = await findOrInsert(tx, owner, input)
  await setRequiredIssuer(tx, member, input.requiredIssuer)
  const token = makeToken(ctx.ids, 'inv_')
  const expiresAt = await insertEnrolmentLink(tx, member, { hash: hashKey(token), days: linkDays })
  return {
    memberId: member.memberId,
    enrolUrl: `${originOf(ctx.config).origin}/m/${token}`,
    expiresAt: expiresAt.toISOString(),
    status: member.status,
  }
}

/** An agent invites a person. */
export const create = async (ctx: Ctx, agent: Agent, input: Input) => {
  requireOneName(input)
  return inTransaction(ctx, agent.agentId, (tx) => inviteMember(tx, ctx, agent, { ...input, isOwner: false }))
}

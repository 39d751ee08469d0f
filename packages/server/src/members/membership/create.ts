import type { Mode } from '@pohf/protocol'
import type { Agent } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import { hashKey } from '../../platform/ops/keys.ts'
import { linkDays, originOf } from '../rules.ts'
import { insertEnrolmentLink, insertMember } from './store.ts'

type Invitation = {
  readonly agentId: string
  readonly mode: Mode
  readonly externalRef: string | undefined
}

/** Invites a person as a member of an agent. The same reference gives the same member with a new link. */
export const inviteMember = async (tx: Tx, ctx: Ctx, { agentId, mode, externalRef }: Invitation) => {
  const made = { agentId, mode, memberId: ctx.ids.make('mem_') }
  const member = await insertMember(tx, made, externalRef)
  const token = ctx.ids.token()
  const expiresAt = await insertEnrolmentLink(tx, member, { hash: hashKey(token), days: linkDays })
  return {
    memberId: member.memberId,
    enrolUrl: `${originOf(ctx.config).origin}/m/${token}`,
    expiresAt: expiresAt.toISOString(),
    status: member.status,
  }
}

/** An agent invites a person. */
export const create = async (ctx: Ctx, agent: Agent, input: { readonly externalRef?: string | undefined }) =>
  inTransaction(ctx, agent.agentId, (tx) =>
    inviteMember(tx, ctx, { agentId: agent.agentId, mode: agent.mode, externalRef: input.externalRef }),
  )

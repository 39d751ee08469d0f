import type { Agent } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { hashKey } from '../../platform/ops/keys.ts'
import { linkDays, originOf } from '../rules.ts'
import { insertEnrolmentLink, insertMember } from './store.ts'

/** Invites a person. The same reference gives the same member with a new link. */
export const create = async (ctx: Ctx, agent: Agent, input: { readonly externalRef?: string | undefined }) =>
  inTransaction(ctx, agent.agentId, async (tx) => {
    const made = { agentId: agent.agentId, mode: agent.mode, memberId: ctx.ids.make('mem_') }
    const member = await insertMember(tx, made, input.externalRef)
    const token = ctx.ids.token()
    const expiresAt = await insertEnrolmentLink(tx, member, { hash: hashKey(token), days: linkDays })
    return {
      memberId: member.memberId,
      enrolUrl: `${originOf(ctx.config).origin}/m/${token}`,
      expiresAt: expiresAt.toISOString(),
      status: member.status,
    }
  })

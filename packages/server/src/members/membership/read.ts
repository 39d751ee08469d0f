import type { Agent } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { findMember, type MemberRow } from './store.ts'

/** The member as its agent sees it: nothing that is shared between agents. */
export const describeMember = (member: MemberRow) => ({
  memberId: member.memberId,
  externalRef: member.externalRef,
  status: member.status,
  uniqueness: member.uniqueness,
  methods: [...member.methods],
  checkedAt: member.attention?.at.toISOString() ?? null,
  quality: member.attention?.quality ?? null,
  createdAt: member.createdAt.toISOString(),
})

export const read = async (ctx: Ctx, agent: Agent, memberId: string) =>
  inTransaction(ctx, agent.agentId, async (tx) => {
    const member = await findMember(tx, { agentId: agent.agentId, mode: agent.mode, memberId })
    if (!member) throw new Refusal('not_found', { message: 'No such member.' })
    return describeMember(member)
  })

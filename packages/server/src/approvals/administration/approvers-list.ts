import { listConsentedMembers, listRequiredIssuers } from '../../members/index.ts'
import { inTransaction } from '../../platform/db/db.ts'
import type { Agent } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { listApprovers, type ApproverRow } from './store.ts'

/**
 * `isEnrolled`: the member has a person with a passkey, who consented. An address is for people of the account: the agent that is
 * overseen gets no way to write to those who oversee it.
 */
export const presentApprover = (
  row: ApproverRow,
  agent: Agent,
  { isEnrolled, issuer }: { readonly isEnrolled: boolean; readonly issuer: string | null },
) => ({
  approver: row.approver_id,
  name: row.name ?? '',
  email: agent.console ? row.email : null,
  status:
    row.removed_at === null
      ? isEnrolled
        ? ('enrolled' as const)
        : ('invited' as const)
      : ('removed' as const),
  createdAt: row.created_at.toISOString(),
  createdBy: row.created_by,
  way: row.enrolled_way,
  issuer,
})

export const approversList = (ctx: Ctx, agent: Agent) =>
  inTransaction(ctx, agent.agentId, async (tx) => {
    const rows = await listApprovers(tx, agent)
    const memberIds = rows.map((row) => row.member_id)
    const consented = await listConsentedMembers(tx, agent, memberIds)
    const issuers = await listRequiredIssuers(tx, agent, memberIds)
    return {
      approvers: rows.map((row) =>
        presentApprover(row, agent, {
          isEnrolled: consented.has(row.member_id),
          issuer: issuers.get(row.member_id) ?? null,
        }),
      ),
    }
  })

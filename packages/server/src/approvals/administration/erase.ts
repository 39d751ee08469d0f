import type { Mode } from '@pohf/protocol'
import type { Tx } from '../../platform/db/db.ts'
import { eraseResponsesHolding } from '../../platform/db/idempotency.ts'
import { eraseMails } from '../../platform/net/mail.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { deleteApproverTraces, listAudiencesOfApprover, listTurnsOfApprover } from '../store.ts'
import { findApproverOfMember, updateApproverErased } from './store.ts'

type MemberKey = { readonly agentId: string; readonly mode: Mode; readonly memberId: string }

/** The operations whose stored responses name approvers and quote their words. */
const namingPaths = ['/api/agents/approvers', '/api/agents/approvals'] as const

/**
 * Erasure of a member: name, address, words and remembered values go, also from stored responses and from mails that wait.
 * Decisions and signed credentials stay.
 */
export const eraseApprover = async (tx: Tx, ctx: Ctx, member: MemberKey): Promise<void> => {
  const approver = await findApproverOfMember(tx, member)
  if (!approver) return
  const { agentId } = member
  if (approver.email !== null) await eraseMails(tx, ctx, { agentId, to: approver.email })
  const readers = await listAudiencesOfApprover(tx, member, approver.approver_id)
  for (const reader of new Set([agentId, ...readers]))
    for (const path of namingPaths)
      await eraseResponsesHolding(tx, reader, { path, id: approver.approver_id })
  await updateApproverErased(tx, member, approver.approver_id)
  await deleteApproverTraces(tx, member, approver.approver_id)
}

/** What a person's export contains about approvals, for one membership. Undefined for one who approves nothing. */
export const exportApprover = async (tx: Tx, member: MemberKey): Promise<object | undefined> => {
  const approver = await findApproverOfMember(tx, member)
  if (!approver) return undefined
  const turns = await listTurnsOfApprover(tx, member, approver.approver_id)
  return {
    approver: approver.approver_id,
    name: approver.name,
    email: approver.email,
    invitedAt: approver.created_at.toISOString(),
    removedAt: approver.removed_at?.toISOString() ?? null,
    decisions: turns.map((turn) => ({
      approvalId: turn.approval_id,
      decision: turn.decision,
      decidedAt: turn.decided_at?.toISOString() ?? null,
      words: turn.words,
      sessionId: turn.session_id,
      credentialId: turn.credential_id,
      inViewSeconds: turn.in_view_seconds,
      readingSeconds: turn.reading_seconds,
      quality: turn.quality,
    })),
  }
}

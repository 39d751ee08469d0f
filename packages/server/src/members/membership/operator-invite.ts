import type { Mode } from '@pohf/protocol'
import { inTransaction } from '../../platform/db/db.ts'
import type { Audit, Operator } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import type { AgentId } from '../../platform/ops/ids.ts'
import { inviteMember } from './create.ts'

export type OperatorInviteDeps = {
  readonly ctx: Ctx
  readonly audit: Audit
  /** Injected by the wiring: the agents module knows it. */
  readonly platformAgentOf: (mode: Mode) => AgentId
}
type Invitation = { readonly mode: Mode; readonly externalRef?: string | undefined }

/** Invites a person as a member of the platform agent: a worker whom no other agent had to invite. */
export const operatorInvite = (deps: OperatorInviteDeps, operator: Operator, input: Invitation) =>
  inTransaction(deps.ctx, 'system', async (tx) => {
    const { mode, externalRef } = input
    const agentId = deps.platformAgentOf(mode)
    const invited = await inviteMember(tx, deps.ctx, { agentId, mode }, { externalRef, isOwner: false })
    await deps.audit(tx, {
      operatorId: operator.operatorId,
      action: 'worker.invite',
      target: agentId,
      details: { mode },
    })
    return invited
  })

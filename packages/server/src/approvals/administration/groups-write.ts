import { inTransaction, type Tx } from '../../platform/db/db.ts'
import type { Agent } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { approvalConflict, approvalRefused, groupsMax, isSimulatedApprover } from '../rules.ts'
import { lockApprovalsOf } from '../store.ts'
import { administratorOf, logChange } from './administrator.ts'
import { presentGroup } from './groups-list.ts'
import { listApproversById, listGroups, upsertGroup } from './store.ts'

type Input = { readonly name: string; readonly approvers: readonly string[] }

/** Everybody in a group is an approver of this agent and was not removed. */
const requireApprovers = async (tx: Tx, agent: Agent, approvers: readonly string[]): Promise<void> => {
  if (new Set(approvers).size < approvers.length)
    throw approvalRefused('body.approvers', 'approver_repeated', 'an approver is named twice')
  const known = (await listApproversById(tx, agent, approvers)).filter((row) => row.removed_at === null)
  const unknown = approvers.find(
    (approver) =>
      !isSimulatedApprover(agent.mode, approver) && !known.some((row) => row.approver_id === approver),
  )
  if (unknown !== undefined)
    throw approvalRefused('body.approvers', 'approver_unknown', `${unknown} is no approver of this agent`)
}

export const groupsWrite = async (ctx: Ctx, agent: Agent, { name, approvers }: Input) => {
  const group = await inTransaction(ctx, agent.agentId, async (tx) => {
    await lockApprovalsOf(tx, agent)
    await requireApprovers(tx, agent, approvers)
    const groups = await listGroups(tx, agent)
    if (groups.length >= groupsMax && !groups.some((one) => one.name === name))
      throw approvalConflict('path.name', 'too_many_groups', `an agent has at most ${groupsMax} groups`)
    return upsertGroup(tx, agent, {
      name,
      approvers: approvers.toSorted(),
      changedBy: administratorOf(agent),
    })
  })
  logChange(ctx, agent, { action: 'group.write', target: name })
  return presentGroup(group)
}

import { listConsentedMembers } from '../../members/index.ts'
import type { Tx } from '../../platform/db/db.ts'
import { findGroup, listApproversById, type Owner } from '../administration/store.ts'
import { approvalRefused, isSimulatedApprover } from '../rules.ts'

/** An approver of a request. One that is simulated has no address. */
export type RequestedApprover = { readonly approver: string; readonly email: string | undefined }

type ApproverSelection = {
  readonly approvers?: readonly string[] | undefined
  readonly group?: string | undefined
}

const requestedIds = async (tx: Tx, owner: Owner, { approvers, group }: ApproverSelection) => {
  if ((approvers === undefined) === (group === undefined))
    throw approvalRefused('body.approvers', 'approvers_or_group', 'send either approvers or a group')
  if (group === undefined) return { path: 'body.approvers', ids: approvers ?? [] }
  const found = await findGroup(tx, owner, group)
  if (!found) throw approvalRefused('body.group', 'group_unknown', 'this agent has no such group')
  return { path: 'body.group', ids: found.approvers }
}

/** The people who may decide, sorted by id. Each was invited by an owner of this agent, has enrolled and was not removed. */
export const resolveApprovers = async (
  tx: Tx,
  owner: Owner,
  requested: ApproverSelection,
): Promise<readonly RequestedApprover[]> => {
  const { path, ids } = await requestedIds(tx, owner, requested)
  if (new Set(ids).size < ids.length)
    throw approvalRefused(path, 'approver_repeated', 'an approver is named twice')
  const rows = (await listApproversById(tx, owner, ids)).filter((row) => row.removed_at === null)
  const enrolled = await listConsentedMembers(
    tx,
    owner,
    rows.map((row) => row.member_id),
  )
  return ids.toSorted().map((approver) => {
    if (isSimulatedApprover(owner.mode, approver)) return { approver, email: undefined }
    const row = rows.find((one) => one.approver_id === approver)
    if (!row) throw approvalRefused(path, 'approver_unknown', `${approver} is no approver of this agent`)
    if (!enrolled.has(row.member_id))
      throw approvalRefused(path, 'approver_not_enrolled', `${approver} has not enrolled yet`)
    return { approver, email: row.email ?? undefined }
  })
}

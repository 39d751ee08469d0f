import { sql, type Selectable } from 'kysely'
import type { Mode } from '@pohf/protocol'
import type { ActionType, ApprovalPolicy } from '@pohf/verify/approvals'
import { now, type Tx } from '../../platform/db/db.ts'
import type { DB } from '../../platform/db/schema.ts'
import { approversPerAgentMax, groupsMax, typesMax } from '../rules.ts'

export type Owner = { readonly agentId: string; readonly mode: Mode }

export type TypeRow = Selectable<DB['approval_types']>

/** How a version of a type is shown. */
export const actionTypeOf = (row: TypeRow): ActionType => ({
  type: row.type,
  version: row.version,
  title: row.title,
  labels: row.labels,
  critical: row.critical,
})

/** The newest version of a type, in use or retired. */
export const findNewestType = async (
  tx: Tx,
  { agentId, mode }: Owner,
  type: string,
): Promise<TypeRow | undefined> =>
  tx
    .selectFrom('approval_types')
    .selectAll()
    .where('agent_id', '=', agentId)
    .where('mode', '=', mode)
    .where('type', '=', type)
    .orderBy('version', 'desc')
    .limit(1)
    .executeTakeFirst()

export const findTypeVersion = async (
  tx: Tx,
  { agentId, mode }: Owner,
  { type, version }: { readonly type: string; readonly version: number },
): Promise<TypeRow | undefined> =>
  tx
    .selectFrom('approval_types')
    .selectAll()
    .where('agent_id', '=', agentId)
    .where('mode', '=', mode)
    .where('type', '=', type)
    .where('version', '=', version)
    .executeTakeFirst()

/**
 * The newest version of every type, also of those that are retired. There are at most `typesMax`. Each type is found by the
 * index, so that older versions, of which a type can have a thousand, are not read.
 */
export const listNewestTypes = async (tx: Tx, { agentId, mode }: Owner): Promise<TypeRow[]> => {
  const { rows } = await sql<TypeRow>`
    with recursive names as (
      (select type from approval_types where agent_id = ${agentId} and mode = ${mode} order by type limit 1)
      union all
      select (select following.type from approval_types following
        where following.agent_id = ${agentId} and following.mode = ${mode} and following.type > names.type
        order by following.type limit 1)
      from names where names.type is not null
    )
    select newest.* from names cross join lateral (
      select * from approval_types version
      where version.agent_id = ${agentId} and version.mode = ${mode} and version.type = names.type
      order by version.version desc limit 1) newest
    order by newest.type limit ${typesMax}`.execute(tx)
  return rows
}

type NewType = {
  readonly type: string
  readonly version: number
  readonly title: string
  readonly schema: Readonly<Record<string, unknown>>
  readonly labels: Readonly<Record<string, string>>
  readonly critical: readonly string[]
  readonly policy: ApprovalPolicy
  readonly createdBy: string
}
export const insertType = async (tx: Tx, { agentId, mode }: Owner, added: NewType): Promise<TypeRow> =>
  tx
    .insertInto('approval_types')
    .values({
      agent_id: agentId,
      mode,
      type: added.type,
      version: added.version,
      title: added.title,
      schema: JSON.stringify(added.schema),
      labels: JSON.stringify(added.labels),
      critical: [...added.critical],
      policy: JSON.stringify(added.policy),
      created_by: added.createdBy,
    })
    .returningAll()
    .executeTakeFirstOrThrow()

export const updateTypeRetired = async (
  tx: Tx,
  { agentId, mode }: Owner,
  { type, version, retired_by }: Pick<TypeRow, 'type' | 'version' | 'retired_by'>,
): Promise<void> => {
  await tx
    .updateTable('approval_types')
    .set({ retired_at: now(), retired_by })
    .where('agent_id', '=', agentId)
    .where('mode', '=', mode)
    .where('type', '=', type)
    .where('version', '=', version)
    .execute()
}

export type ApproverRow = Selectable<DB['approvers']>

/** The approvers of an agent: those who were not removed first, each newest first. */
export const listApprovers = async (tx: Tx, { agentId, mode }: Owner): Promise<ApproverRow[]> =>
  tx
    .selectFrom('approvers')
    .selectAll()
    .where('agent_id', '=', agentId)
    .where('mode', '=', mode)
    .orderBy(sql`removed_at is not null`)
    .orderBy('approver_id', 'desc')
    .limit(approversPerAgentMax)
    .execute()

export const listApproversById = async (
  tx: Tx,
  { agentId, mode }: Owner,
  approvers: readonly string[],
): Promise<ApproverRow[]> =>
  tx
    .selectFrom('approvers')
    .selectAll()
    .where('agent_id', '=', agentId)
    .where('mode', '=', mode)
    .where('approver_id', '=', sql<string>`any(${approvers}::text[])`)
    .limit(approversPerAgentMax)
    .execute()

export const findApproverByEmail = async (
  tx: Tx,
  { agentId, mode }: Owner,
  email: string,
): Promise<ApproverRow | undefined> =>
  tx
    .selectFrom('approvers')
    .selectAll()
    .where('agent_id', '=', agentId)
    .where('mode', '=', mode)
    .where('email', '=', email)
    .executeTakeFirst()

/** The approver with this member id; undefined if no owner invited the member as an approver. */
export const findApproverOfMember = async (
  tx: Tx,
  { agentId, mode, memberId }: Owner & { readonly memberId: string },
): Promise<ApproverRow | undefined> =>
  tx
    .selectFrom('approvers')
    .selectAll()
    .where('agent_id', '=', agentId)
    .where('mode', '=', mode)
    .where('member_id', '=', memberId)
    .executeTakeFirst()

type NewApprover = {
  readonly approverId: string
  readonly memberId: string
  readonly name: string
  readonly email: string
  readonly createdBy: string
  readonly way: ApproverRow['enrolled_way']
}
export const insertApprover = async (
  tx: Tx,
  { agentId, mode }: Owner,
  added: NewApprover,
): Promise<ApproverRow> =>
  tx
    .insertInto('approvers')
    .values({
      agent_id: agentId,
      mode,
      approver_id: added.approverId,
      member_id: added.memberId,
      name: added.name,
      email: added.email,
      created_by: added.createdBy,
      enrolled_way: added.way,
    })
    .returningAll()
    .executeTakeFirstOrThrow()

/** An approver who is invited again: with the new name, and no longer removed. */
export const updateApproverInvited = async (
  tx: Tx,
  { agentId, mode }: Owner,
  {
    approver_id,
    name,
    created_by,
    enrolled_way,
  }: Pick<ApproverRow, 'approver_id' | 'name' | 'created_by' | 'enrolled_way'>,
): Promise<ApproverRow> =>
  tx
    .updateTable('approvers')
    .set({
      name,
      created_by,
      enrolled_way,
      invited_at: now(),
      removed_at: null,
      removed_by: null,
    })
    .where('agent_id', '=', agentId)
    .where('mode', '=', mode)
    .where('approver_id', '=', approver_id)
    .returningAll()
    .executeTakeFirstOrThrow(
      () => new Error(`approver ${approver_id} of agent ${agentId} not found while inviting again`),
    )

/** False where there is no such approver, or it was removed before. */
export const updateApproverRemoved = async (
  tx: Tx,
  { agentId, mode }: Owner,
  { approver, removedBy }: { readonly approver: string; readonly removedBy: string },
): Promise<boolean> => {
  const { numUpdatedRows } = await tx
    .updateTable('approvers')
    .set({ removed_at: now(), removed_by: removedBy })
    .where('agent_id', '=', agentId)
    .where('mode', '=', mode)
    .where('approver_id', '=', approver)
    .where('removed_at', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

export type GroupRow = Selectable<DB['approver_groups']>

export const listGroups = async (tx: Tx, { agentId, mode }: Owner): Promise<GroupRow[]> =>
  tx
    .selectFrom('approver_groups')
    .selectAll()
    .where('agent_id', '=', agentId)
    .where('mode', '=', mode)
    .orderBy('name')
    .limit(groupsMax)
    .execute()

export const findGroup = async (
  tx: Tx,
  { agentId, mode }: Owner,
  name: string,
): Promise<GroupRow | undefined> =>
  tx
    .selectFrom('approver_groups')
    .selectAll()
    .where('agent_id', '=', agentId)
    .where('mode', '=', mode)
    .where('name', '=', name)
    .executeTakeFirst()

type WrittenGroup = {
  readonly name: string
  readonly approvers: readonly string[]
  readonly changedBy: string
}
export const upsertGroup = async (
  tx: Tx,
  { agentId, mode }: Owner,
  { name, approvers, changedBy }: WrittenGroup,
): Promise<GroupRow> =>
  tx
    .insertInto('approver_groups')
    .values({ agent_id: agentId, mode, name, approvers: [...approvers], changed_by: changedBy })
    .onConflict((conflict) =>
      conflict
        .columns(['agent_id', 'mode', 'name'])
        .doUpdateSet({ approvers: [...approvers], changed_by: changedBy, changed_at: now() }),
    )
    .returningAll()
    .executeTakeFirstOrThrow(() => new Error(`group ${name} of agent ${agentId} not written`))

export const deleteGroup = async (tx: Tx, { agentId, mode }: Owner, name: string): Promise<boolean> => {
  const { numDeletedRows } = await tx
    .deleteFrom('approver_groups')
    .where('agent_id', '=', agentId)
    .where('mode', '=', mode)
    .where('name', '=', name)
    .executeTakeFirst()
  return numDeletedRows === 1n
}

/** Erasure: deletes name and address. The row stays and counts as removed, because envelopes and credentials name its id. */
export const updateApproverErased = async (
  tx: Tx,
  { agentId, mode }: Owner,
  approver: string,
): Promise<void> => {
  await tx
    .updateTable('approvers')
    .set({
      name: null,
      email: null,
      removed_at: sql<Date>`coalesce(removed_at, pohf_now())`,
      removed_by: sql<string>`coalesce(removed_by, 'erasure')`,
    })
    .where('agent_id', '=', agentId)
    .where('mode', '=', mode)
    .where('approver_id', '=', approver)
    .execute()
}

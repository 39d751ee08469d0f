import { createHash } from 'node:crypto'
import { sql, type Selectable } from 'kysely'
import type { ApprovalState, Mode } from '@pohf/protocol'
import { readEnvelope, type Envelope } from '@pohf/verify/approvals'
import { now, type Tx } from '../platform/db/db.ts'
import type { DB } from '../platform/db/schema.ts'
import type { PageScan } from '../platform/http/list-page.ts'
import { envelopeDays, pendingMax, type ApprovalKey } from './rules.ts'

type Row = Selectable<DB['approvals']>
export type Approval = {
  readonly agentId: string
  readonly mode: Mode
  readonly approvalId: string
  readonly requestId: string
  readonly audience: string
  readonly type: string
  readonly typeVersion: number
  /** Undefined once it is erased. */
  readonly envelope: Envelope | undefined
  /** As base64url. */
  readonly envelopeHash: string
  readonly requestHash: Buffer
  readonly approvers: readonly string[]
  readonly quorum: number
  readonly approved: number
  readonly status: ApprovalState
  readonly createdAt: Date
  readonly decideBy: Date
  readonly consumeBy: Date
  readonly decidedAt: Date | null
  readonly consumableAt: Date | null
  readonly consumedAt: Date | null
  readonly knownBad: string | null
}

/**
 * The stored envelope. Throws if it no longer matches its stored hash or does not have exactly the members of an envelope, so
 * that a changed envelope is never used. Before a version writes a new member, every running version must read it.
 */
const envelopeOf = (row: Row): Envelope | undefined => {
  if (row.envelope === null) return undefined
  if (!createHash('sha256').update(row.envelope).digest().equals(row.envelope_hash))
    throw new Error(`the stored envelope of approval ${row.approval_id} does not have its stored hash`)
  const envelope = readEnvelope(JSON.parse(row.envelope))
  if (!envelope)
    throw new Error(`the stored envelope of approval ${row.approval_id} does not have the form of one`)
  return envelope
}

const approvalOf = (row: Row): Approval => ({
  agentId: row.agent_id,
  mode: row.mode,
  approvalId: row.approval_id,
  requestId: row.request_id,
  audience: row.audience,
  type: row.type,
  typeVersion: row.type_version,
  envelope: envelopeOf(row),
  envelopeHash: row.envelope_hash.toString('base64url'),
  requestHash: row.request_hash,
  approvers: row.approvers,
  quorum: row.quorum,
  approved: row.approved,
  status: row.status,
  createdAt: row.created_at,
  decideBy: row.decide_by,
  consumeBy: row.consume_by,
  decidedAt: row.decided_at,
  consumableAt: row.consumable_at,
  consumedAt: row.consumed_at,
  knownBad: row.known_bad,
})

export const findApproval = async (tx: Tx, key: ApprovalKey): Promise<Approval | undefined> => {
  const row = await tx
    .selectFrom('approvals')
    .selectAll()
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('approval_id', '=', key.approvalId)
    .executeTakeFirst()
  return row && approvalOf(row)
}

/** The same, locked: decisions, consumption and expiry of one approval wait for each other. */
export const findApprovalForUpdate = async (tx: Tx, key: ApprovalKey): Promise<Approval | undefined> => {
  const row = await tx
    .selectFrom('approvals')
    .selectAll()
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('approval_id', '=', key.approvalId)
    .forUpdate()
    .executeTakeFirst()
  return row && approvalOf(row)
}

type NewApproval = ApprovalKey & {
  readonly requestId: string
  readonly audience: string
  readonly type: string
  readonly typeVersion: number
  /** The canonical JSON. */
  readonly envelope: string
  /** As base64url. */
  readonly envelopeHash: string
  readonly requestHash: Buffer
  readonly approvers: readonly string[]
  readonly quorum: number
  readonly decideBy: Date
  readonly consumeBy: Date
  readonly knownBad: string | null
}
export const insertApproval = async (tx: Tx, approval: NewApproval): Promise<void> => {
  await tx
    .insertInto('approvals')
    .values({
      agent_id: approval.agentId,
      mode: approval.mode,
      approval_id: approval.approvalId,
      request_id: approval.requestId,
      audience: approval.audience,
      type: approval.type,
      type_version: approval.typeVersion,
      envelope: approval.envelope,
      envelope_hash: Buffer.from(approval.envelopeHash, 'base64url'),
      request_hash: approval.requestHash,
      approvers: [...approval.approvers],
      quorum: approval.quorum,
      decide_by: approval.decideBy,
      consume_by: approval.consumeBy,
      known_bad: approval.knownBad,
    })
    .execute()
}

export type Turn = Selectable<DB['approval_turns']>

type NewTurn = { readonly approver: string; readonly challenge: string }
export const insertTurns = async (tx: Tx, key: ApprovalKey, turns: readonly NewTurn[]): Promise<void> => {
  await tx
    .insertInto('approval_turns')
    .values(
      turns.map(({ approver, challenge }) => ({
        agent_id: key.agentId,
        mode: key.mode,
        approval_id: key.approvalId,
        approver_id: approver,
        challenge,
      })),
    )
    .execute()
}

/** The turns of an approval, in the order of their approvers. */
export const listTurns = async (tx: Tx, key: ApprovalKey): Promise<Turn[]> =>
  tx
    .selectFrom('approval_turns')
    .selectAll()
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('approval_id', '=', key.approvalId)
    .orderBy('approver_id')
    .limit(20)
    .execute()

/** Serializes transactions that count rows of an agent before they insert one, so that two cannot pass a limit together. */
export const lockApprovalsOf = async (
  tx: Tx,
  { agentId, mode }: { readonly agentId: string; readonly mode: Mode },
): Promise<void> => {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`approvals ${mode} ${agentId}`}, 0))`.execute(tx)
}

type ApproverOwner = { readonly agentId: string; readonly mode: Mode }

const exportedTurnsMax = 10_000
/** What a person decided at one agent, newest first, for their export. */
export const listTurnsOfApprover = async (
  tx: Tx,
  { agentId, mode }: ApproverOwner,
  approver: string,
): Promise<Turn[]> =>
  tx
    .selectFrom('approval_turns')
    .selectAll()
    .where('agent_id', '=', agentId)
    .where('mode', '=', mode)
    .where('approver_id', '=', approver)
    .where('decision', 'is not', null)
    .orderBy('decided_at', 'desc')
    .limit(exportedTurnsMax)
    .execute()

/** The agents that may have read a decision of an approver: those that consume the approvals. */
export const listAudiencesOfApprover = async (
  tx: Tx,
  { agentId, mode }: ApproverOwner,
  approver: string,
): Promise<string[]> => {
  const rows = await tx
    .selectFrom('approval_turns')
    .innerJoin('approvals', (join) =>
      join
        .onRef('approvals.agent_id', '=', 'approval_turns.agent_id')
        .onRef('approvals.mode', '=', 'approval_turns.mode')
        .onRef('approvals.approval_id', '=', 'approval_turns.approval_id'),
    )
    .select('approvals.audience')
    .distinct()
    .where('approval_turns.agent_id', '=', agentId)
    .where('approval_turns.mode', '=', mode)
    .where('approval_turns.approver_id', '=', approver)
    .where('approval_turns.decision', 'is not', null)
    .execute()
  return rows.map(({ audience }) => audience)
}

/** Erasure: the words of an approver, what leads to their recordings, their open challenges and remembered values. */
export const deleteApproverTraces = async (
  tx: Tx,
  { agentId, mode }: ApproverOwner,
  approver: string,
): Promise<void> => {
  await tx
    .updateTable('approval_turns')
    .set({ words: null, session_id: null, session_at: null })
    .where('agent_id', '=', agentId)
    .where('mode', '=', mode)
    .where('approver_id', '=', approver)
    .where('decision', 'is not', null)
    .execute()
  for (const table of ['approval_challenges', 'approver_values'] as const)
    await tx
      .deleteFrom(table)
      .where('agent_id', '=', agentId)
      .where('mode', '=', mode)
      .where('approver_id', '=', approver)
      .execute()
}

/** An approval by the key of its audience, of any requester. */
export const findApprovalOfAudience = async (
  tx: Tx,
  key: { readonly audience: string; readonly mode: Mode; readonly approvalId: string },
): Promise<Approval | undefined> => {
  const row = await tx
    .selectFrom('approvals')
    .selectAll()
    .where('audience', '=', key.audience)
    .where('approval_id', '=', key.approvalId)
    .where('mode', '=', key.mode)
    .executeTakeFirst()
  return row && approvalOf(row)
}

export const findApprovalByRequest = async (
  tx: Tx,
  { agentId, mode }: ApproverOwner,
  requestId: string,
): Promise<Approval | undefined> => {
  const row = await tx
    .selectFrom('approvals')
    .selectAll()
    .where('agent_id', '=', agentId)
    .where('mode', '=', mode)
    .where('request_id', '=', requestId)
    .where('known_bad', 'is', null)
    .executeTakeFirst()
  return row && approvalOf(row)
}

/** How many requests of an agent wait; the count stops at the limit. */
export const countPending = async (tx: Tx, { agentId, mode }: ApproverOwner): Promise<number> => {
  const rows = await tx
    .selectFrom('approvals')
    .select('approval_id')
    .where('agent_id', '=', agentId)
    .where('mode', '=', mode)
    .where('status', '=', 'pending')
    .where('known_bad', 'is', null)
    .limit(pendingMax)
    .execute()
  return rows.length
}

export type ListedApproval = {
  readonly id: string
  readonly at: Date
} & Pick<
  Approval,
  | 'mode'
  | 'status'
  | 'type'
  | 'requestId'
  | 'audience'
  | 'approved'
  | 'quorum'
  | 'decideBy'
  | 'consumeBy'
  | 'decidedAt'
  | 'consumedAt'
>

/** What an agent requested, newest first. Known-bad requests are left out here, so that no filter can show them. */
export const listApprovals = async (tx: Tx, mode: Mode, scan: PageScan): Promise<ListedApproval[]> => {
  const { before } = scan
  let query = tx
    .selectFrom('approvals')
    .select([
      'approval_id as id',
      'created_at as at',
      'mode',
      'status',
      'type',
      'request_id as requestId',
      'audience',
      'approved',
      'quorum',
      'decide_by as decideBy',
      'consume_by as consumeBy',
      'decided_at as decidedAt',
      'consumed_at as consumedAt',
    ])
    .where('agent_id', '=', scan.agentId)
    .where('mode', '=', mode)
    .where('known_bad', 'is', null)
    .where('created_at', '>=', scan.since)
  if (scan.until) query = query.where('created_at', '<', scan.until)
  if (before) query = query.where(sql<boolean>`(created_at, approval_id) < (${before.at}, ${before.id})`)
  return query.orderBy('created_at', 'desc').orderBy('approval_id', 'desc').limit(scan.rowsMax).execute()
}

/** The one statement that consumes: true for the first call that finds the approval approved, in time and unused. */
export const updateApprovalConsumed = async (
  tx: Tx,
  key: ApprovalKey,
  { audience, envelopeHash }: { readonly audience: string; readonly envelopeHash: string },
): Promise<boolean> => {
  const { numUpdatedRows } = await tx
    .updateTable('approvals')
    .set({ status: 'consumed', consumed_at: now(), ended_at: now() })
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('approval_id', '=', key.approvalId)
    .where('audience', '=', audience)
    .where('envelope_hash', '=', Buffer.from(envelopeHash, 'base64url'))
    .where('status', '=', 'approved')
    .where('known_bad', 'is', null)
    .where('consumable_at', '<=', now())
    .where('consume_by', '>', now())
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

type ExpiredApproval = ApprovalKey & { readonly isKnownBad: boolean }
/** Ends approvals whose deadline is over, oldest first. Rows that another transaction holds are left to the next run. */
export const updateApprovalsExpired = async (tx: Tx, limit: number): Promise<ExpiredApproval[]> => {
  const { rows } = await sql<ExpiredApproval>`
    with undecided as (
      select agent_id, mode, approval_id from approvals
      where status = 'pending' and decide_by <= pohf_now() order by decide_by limit ${limit} for update skip locked),
    unconsumed as (
      select agent_id, mode, approval_id from approvals
      where status = 'approved' and consume_by <= pohf_now() order by consume_by limit ${limit} for update skip locked)
    update approvals set status = 'expired', ended_at = pohf_now()
    from (select * from undecided union all select * from unconsumed) due
    where approvals.agent_id = due.agent_id and approvals.mode = due.mode and approvals.approval_id = due.approval_id
    returning approvals.agent_id as "agentId", approvals.mode, approvals.approval_id as "approvalId",
      approvals.known_bad is not null as "isKnownBad"`.execute(tx)
  return rows
}

const erasedMax = 1_000
/** Erases old envelopes with the words of their approvers; called by the maintenance job. The hash of an envelope stays. */
export const eraseOldEnvelopes = async (tx: Tx): Promise<void> => {
  await sql`
    with old as (
      update approvals set envelope = null where ctid = any(array(
        select ctid from approvals
        where envelope is not null and consume_by < pohf_now() - make_interval(days => ${envelopeDays})
        order by consume_by limit ${erasedMax}))
      returning agent_id, mode, approval_id)
    update approval_turns turn set words = null from old
    where turn.agent_id = old.agent_id and turn.mode = old.mode and turn.approval_id = old.approval_id`.execute(
    tx,
  )
}

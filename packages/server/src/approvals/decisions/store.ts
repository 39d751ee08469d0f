import { sql } from 'kysely'
import type { ApprovalState, ApproverWay, Mode } from '@pohf/protocol'
import { now, type Tx } from '../../platform/db/db.ts'
import type { AgentId } from '../../platform/ops/ids.ts'
import { decisionsPerHourDefault, type ApprovalKey } from '../rules.ts'
import type { Turn } from '../store.ts'
import { challengeMinutes, fastInRow, listMax, valueDays, waitingPerAgentMax } from './rules.ts'

/** A membership of the person who is signed in. */
export type Membership = { readonly agentId: string; readonly mode: Mode; readonly memberId: string }
type ApproverKey = { readonly agentId: string; readonly mode: Mode; readonly approverId: string }
type TurnKey = ApprovalKey & { readonly approverId: string }

/** The person's memberships as a table. */
export const membershipsTable = (memberships: readonly Membership[]) => sql`
  unnest(${memberships.map(({ agentId }) => agentId)}::text[], ${memberships.map(({ mode }) => mode)}::text[],
    ${memberships.map(({ memberId }) => memberId)}::text[]) own (agent_id, mode, member_id)
  join approvers approver on approver.agent_id = own.agent_id and approver.mode = own.mode
    and approver.member_id = own.member_id and approver.removed_at is null`

/** The turn of a person, with what the approver's row says of them. */
export type OwnTurn = Turn & {
  readonly member_id: string
  readonly enrolled_by: string
  readonly enrolled_way: ApproverWay
  readonly invited_at: Date
}

/** The turn of one of these memberships in an approval; undefined where none may decide it. */
export const findOwnTurn = async (
  tx: Tx,
  memberships: readonly Membership[],
  approvalId: string,
): Promise<OwnTurn | undefined> => {
  const { rows } = await sql<OwnTurn>`
    select turn.*, approver.member_id, approver.created_by as enrolled_by, approver.enrolled_way, approver.invited_at
    from ${membershipsTable(memberships)}
    join approval_turns turn on turn.agent_id = own.agent_id and turn.mode = own.mode
      and turn.approval_id = ${approvalId} and turn.approver_id = approver.approver_id
    limit 1`.execute(tx)
  return rows[0]
}

export type ListedTurn = {
  readonly agent_id: string
  readonly mode: Mode
  readonly approval_id: string
  readonly status: ApprovalState
  readonly type: string
  readonly title: string | null
  readonly created_at: Date
  readonly decide_by: Date
  readonly consume_by: Date
  readonly decision: 'approve' | 'deny' | null
}

const listedColumns = sql`approval.agent_id, approval.mode, approval.approval_id, approval.status, approval.type,
  (select known.title from approval_types known where known.agent_id = approval.agent_id and known.mode = approval.mode
    and known.type = approval.type and known.version = approval.type_version) as title,
  approval.created_at, approval.decide_by, approval.consume_by`

/**
 * The approvals that wait for these memberships, the nearest deadline first. If there are more than the list has, it takes
 * the first of every agent, then the second of every agent, and so on, so that an agent with many requests does not hide
 * those of others. The query sorts at most the pending requests of each agent.
 */
export const listWaitingTurns = async (
  tx: Tx,
  memberships: readonly Membership[],
): Promise<{ readonly waiting: ListedTurn[]; readonly hasMore: boolean }> => {
  const { rows } = await sql<ListedTurn & { readonly place: number }>`
    select waiting.* from ${membershipsTable(memberships)}
    cross join lateral (
      select ${listedColumns}, turn.decision,
        row_number() over (order by approval.decide_by, approval.approval_id)::int as place
      from approvals approval
      join approval_turns turn on turn.agent_id = approval.agent_id and turn.mode = approval.mode
        and turn.approval_id = approval.approval_id and turn.approver_id = approver.approver_id
      where approval.agent_id = own.agent_id and approval.mode = own.mode and approval.status = 'pending'
        and approval.decide_by > pohf_now() and turn.decision is null
      order by approval.decide_by, approval.approval_id limit ${waitingPerAgentMax + 1}) waiting
    order by waiting.place, waiting.decide_by limit ${listMax + 1}`.execute(tx)
  const listed = rows.filter(({ place }) => place <= waitingPerAgentMax).slice(0, listMax)
  return {
    waiting: listed.toSorted((a, b) => a.decide_by.getTime() - b.decide_by.getTime()),
    hasMore: rows.length > listed.length,
  }
}

/** What these memberships decided, newest first. */
export const listDecidedTurns = async (tx: Tx, memberships: readonly Membership[]): Promise<ListedTurn[]> => {
  const { rows } = await sql<ListedTurn>`
    select ${listedColumns}, decided.decision from ${membershipsTable(memberships)}
    cross join lateral (
      select turn.approval_id, turn.decision, turn.decided_at from approval_turns turn
      where turn.agent_id = own.agent_id and turn.mode = own.mode and turn.approver_id = approver.approver_id
        and turn.decision is not null
      order by turn.decided_at desc limit ${listMax}) decided
    join approvals approval on approval.agent_id = own.agent_id and approval.mode = own.mode
      and approval.approval_id = decided.approval_id
    order by decided.decided_at desc limit ${listMax}`.execute(tx)
  return rows
}

/** The agent that a waiting turn with this challenge belongs to, and whether the request is a known-bad one. */
export const findTurnByChallenge = async (tx: Tx, challenge: string) => {
  const { rows } = await sql<{ agentId: AgentId; mode: Mode; isKnownBad: boolean }>`
    select turn.agent_id as "agentId", turn.mode, approval.known_bad is not null as "isKnownBad"
    from approval_turns turn
    join approvals approval on approval.agent_id = turn.agent_id and approval.mode = turn.mode
      and approval.approval_id = turn.approval_id
    join approvers approver on approver.agent_id = turn.agent_id and approver.mode = turn.mode
      and approver.approver_id = turn.approver_id and approver.removed_at is null
    where turn.challenge = ${challenge} and turn.decision is null
      and (approval.status = 'pending' and approval.decide_by > pohf_now()
        or approval.status = 'approved' and approval.consumable_at > pohf_now())`.execute(tx)
  return rows[0]
}

type NewChallenge = TurnKey & {
  readonly nonceHash: Buffer
  readonly challenge: string
  readonly decision: 'approve' | 'deny'
  readonly viewHash: string
  readonly sessionId: string | undefined
}
/** Stores the challenge of a decision. It replaces the one before. */
export const insertChallenge = async (tx: Tx, challenge: NewChallenge): Promise<Date> => {
  const values = {
    nonce_hash: challenge.nonceHash,
    challenge: challenge.challenge,
    decision: challenge.decision,
    view_hash: Buffer.from(challenge.viewHash, 'base64url'),
    session_id: challenge.sessionId ?? null,
    expires_at: sql<Date>`pohf_now() + make_interval(mins => ${challengeMinutes})`,
  }
  const row = await tx
    .insertInto('approval_challenges')
    .values({
      agent_id: challenge.agentId,
      mode: challenge.mode,
      approval_id: challenge.approvalId,
      approver_id: challenge.approverId,
      ...values,
    })
    .onConflict((conflict) =>
      conflict.columns(['agent_id', 'mode', 'approval_id', 'approver_id']).doUpdateSet(values),
    )
    .returning('expires_at')
    .executeTakeFirstOrThrow(
      () => new Error(`challenge of ${challenge.approverId} for ${challenge.approvalId} not stored`),
    )
  return row.expires_at
}

/** Consumes the challenge with this nonce; undefined if the nonce is unknown, used, expired or of another turn. */
export const consumeChallenge = async (tx: Tx, key: TurnKey, nonceHash: Buffer) => {
  const row = await tx
    .deleteFrom('approval_challenges')
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('approval_id', '=', key.approvalId)
    .where('approver_id', '=', key.approverId)
    .where('nonce_hash', '=', nonceHash)
    .where('expires_at', '>', now())
    .returning(['challenge', 'decision', 'view_hash', 'session_id'])
    .executeTakeFirst()
  return (
    row && {
      challenge: row.challenge,
      decision: row.decision,
      viewHash: row.view_hash.toString('base64url'),
      sessionId: row.session_id ?? undefined,
    }
  )
}

/** When the person may approve again; null while fewer than the limit were approved within an hour. */
export const findRetryAt = async (tx: Tx, key: ApproverKey): Promise<Date | null> => {
  const { rows } = await sql<{ retry_at: Date }>`
    select turn.decided_at + interval '1 hour' as retry_at from approval_turns turn
    where turn.agent_id = ${key.agentId} and turn.mode = ${key.mode} and turn.approver_id = ${key.approverId}
      and turn.decision is not null and turn.decision = 'approve' and turn.decided_at > pohf_now() - interval '1 hour'
    order by turn.decided_at desc
    offset coalesce((select decisions_per_hour from approval_settings
      where agent_id = ${key.agentId} and mode = ${key.mode}), ${decisionsPerHourDefault}) - 1
    limit 1`.execute(tx)
  return rows[0]?.retry_at ?? null
}

/** The last decisions of an approver, newest first. */
export const listLatestTimes = async (tx: Tx, key: ApproverKey) => {
  const rows = await tx
    .selectFrom('approval_turns')
    .select(['in_view_seconds', 'reading_seconds'])
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('approver_id', '=', key.approverId)
    .where('decision', 'is not', null)
    .orderBy('decided_at', 'desc')
    .limit(fastInRow)
    .execute()
  return rows.map((row) => ({ inViewSeconds: row.in_view_seconds, readingSeconds: row.reading_seconds }))
}

/** Which of these values the approver has approved before. */
export const listKnownValues = async (
  tx: Tx,
  key: ApproverKey,
  hashes: readonly Buffer[],
): Promise<ReadonlySet<string>> => {
  if (hashes.length === 0) return new Set()
  const rows = await tx
    .selectFrom('approver_values')
    .select('value_hash')
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('approver_id', '=', key.approverId)
    .where('value_hash', 'in', [...hashes])
    .execute()
  return new Set(rows.map((row) => row.value_hash.toString('base64url')))
}

export const insertValues = async (tx: Tx, key: ApproverKey, hashes: readonly Buffer[]): Promise<void> => {
  if (hashes.length === 0) return
  const distinct = [...new Map(hashes.map((hash) => [hash.toString('hex'), hash])).values()]
  await tx
    .insertInto('approver_values')
    .values(
      distinct.map((hash) => ({
        agent_id: key.agentId,
        mode: key.mode,
        approver_id: key.approverId,
        value_hash: hash,
      })),
    )
    .onConflict((conflict) =>
      conflict.columns(['agent_id', 'mode', 'approver_id', 'value_hash']).doUpdateSet({ last_at: now() }),
    )
    .execute()
}

/** What a decision measured and left behind. */
export type StoredDecision = {
  readonly decision: 'approve' | 'deny'
  readonly words: string | undefined
  readonly viewHash: string
  /** The recording of the person; undefined where they denied without one. */
  readonly session: { readonly sessionId: string; readonly at: Date } | undefined
  readonly credentialId: string | null
  readonly inViewSeconds: number | null
  readonly readingSeconds: number
  readonly quality: number | null
}
export const updateTurnDecided = async (tx: Tx, key: TurnKey, decided: StoredDecision): Promise<void> => {
  await tx
    .updateTable('approval_turns')
    .set({
      decision: decided.decision,
      decided_at: now(),
      words: decided.words ?? null,
      session_id: decided.session?.sessionId ?? null,
      session_at: decided.session?.at ?? null,
      view_hash: Buffer.from(decided.viewHash, 'base64url'),
      credential_id: decided.credentialId,
      in_view_seconds: decided.inViewSeconds,
      reading_seconds: decided.readingSeconds,
      quality: decided.quality,
    })
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('approval_id', '=', key.approvalId)
    .where('approver_id', '=', key.approverId)
    .execute()
}

/** Counts an approval; with the last that is needed, the action can be consumed after its delay. */
export const updateApproved = async (
  tx: Tx,
  key: ApprovalKey,
  delaySeconds: number,
): Promise<ApprovalState> => {
  const { rows } = await sql<{ status: ApprovalState }>`
    update approvals set approved = approved + 1,
      status = case when approved + 1 >= quorum then 'approved' else status end,
      decided_at = case when approved + 1 >= quorum then pohf_now() end,
      consumable_at = case when approved + 1 >= quorum then pohf_now() + make_interval(secs => ${delaySeconds}) end
    where agent_id = ${key.agentId} and mode = ${key.mode} and approval_id = ${key.approvalId} and status = 'pending'
    returning status`.execute(tx)
  const [row] = rows
  if (!row) throw new Error(`approval ${key.approvalId} was not pending while an approval was counted`)
  return row.status
}

/** Denies an approval; one denial ends it. `withdrawn`: the same person had approved it before. */
export const updateDenied = async (
  tx: Tx,
  key: ApprovalKey,
  { withdrawn }: { readonly withdrawn: boolean },
): Promise<void> => {
  const { numAffectedRows } = await sql`
    update approvals set status = 'denied', decided_at = pohf_now(), ended_at = pohf_now(),
      approved = approved - ${withdrawn ? 1 : 0}
    where agent_id = ${key.agentId} and mode = ${key.mode} and approval_id = ${key.approvalId}
      and status in ('pending', 'approved')`.execute(tx)
  if (numAffectedRows !== 1n)
    throw new Error(`approval ${key.approvalId} could not be denied: it is neither pending nor approved`)
}

/** Deletes challenges that nobody used, and values that were approved long ago, a batch at a time. */
export const deleteExpiredDecisions = async (tx: Tx): Promise<number> => {
  const challenges = await sql`
    delete from approval_challenges where (agent_id, mode, approval_id, approver_id) in (
      select agent_id, mode, approval_id, approver_id from approval_challenges
      where expires_at < pohf_now() order by expires_at limit 1000 for update skip locked)`.execute(tx)
  const values = await sql`
    delete from approver_values where (agent_id, mode, approver_id, value_hash) in (
      select agent_id, mode, approver_id, value_hash from approver_values
      where last_at < pohf_now() - make_interval(days => ${valueDays}) order by last_at limit 1000
      for update skip locked)`.execute(tx)
  return Number((challenges.numAffectedRows ?? 0n) + (values.numAffectedRows ?? 0n))
}

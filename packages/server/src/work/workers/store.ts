import { sql } from 'kysely'
import type { Mode } from '@pohf/protocol'
import type { KnownAnswer } from '../../platform/db/columns.ts'
import { now, type Tx } from '../../platform/db/db.ts'
import type { AgentId } from '../../platform/ops/ids.ts'
import { returnsHours, returnsMax, type AssignmentState } from '../units/rules.ts'
import type { UnitKey } from '../units/store.ts'

const columns = [
  'assignment_id',
  'person_id',
  'mode',
  'agent_id',
  'order_id',
  'n',
  'item',
  'task_id',
  'status',
  'reward_stars',
  'worker',
  'challenge',
  'claimed_at',
  'due_at',
  'session_id',
  'quality',
  'reasons',
  'flags',
  'gold_right',
  'known_item',
  'covered_agent_id',
] as const
const selectAssignments = (tx: Tx) =>
  tx
    .selectFrom('assignments')
    .select(columns)
    .select(sql<boolean>`due_at <= pohf_now()`.as('is_over'))
type Row = Awaited<ReturnType<ReturnType<typeof selectAssignments>['executeTakeFirstOrThrow']>>

const assignmentOf = (row: Row) => ({
  assignmentId: row.assignment_id,
  personId: row.person_id,
  mode: row.mode,
  agentId: row.agent_id as AgentId,
  orderId: row.order_id,
  n: row.n,
  item: row.item,
  taskId: row.task_id,
  status: row.status,
  rewardStars: row.reward_stars,
  worker: row.worker,
  challenge: row.challenge,
  claimedAt: row.claimed_at,
  dueAt: row.due_at,
  isExpired: row.is_over,
  sessionId: row.session_id,
  quality: row.quality,
  reasons: row.reasons,
  flags: row.flags,
  knownItem: row.known_item,
  /** The site that the person sees: of the unit itself, or of the one that a known-answer item was shown for. */
  site: (row.covered_agent_id ?? row.agent_id) as AgentId,
})
export type Assignment = ReturnType<typeof assignmentOf>

type NewAssignment = {
  readonly assignmentId: string
  /** Null for the simulated worker. */
  readonly personId: string | null
  readonly unit: UnitKey
  readonly item: number | null
  readonly knownItem: KnownAnswer | undefined
  readonly taskId: string
  readonly rewardStars: number
  readonly worker: string
  readonly challenge: string
  readonly minutes: number
  /** Of a question: its deadline. */
  readonly dueAtLatest: string | undefined
  readonly flags: readonly string[]
}
export const insertAssignment = async (tx: Tx, assignment: NewAssignment): Promise<void> => {
  await tx
    .insertInto('assignments')
    .values({
      assignment_id: assignment.assignmentId,
      person_id: assignment.personId,
      mode: assignment.unit.mode,
      agent_id: assignment.unit.agentId,
      order_id: assignment.unit.orderId,
      n: assignment.unit.n,
      item: assignment.item,
      known_item: assignment.knownItem ? JSON.stringify(assignment.knownItem) : null,
      task_id: assignment.taskId,
      reward_stars: assignment.rewardStars,
      worker: assignment.worker,
      challenge: assignment.challenge,
      due_at: sql<Date>`least(pohf_now() + make_interval(mins => ${assignment.minutes}), ${assignment.dueAtLatest ?? null}::timestamptz)`,
      flags: [...assignment.flags],
    })
    .execute()
}

export const findAssignment = async (tx: Tx, assignmentId: string): Promise<Assignment | undefined> => {
  const row = await selectAssignments(tx).where('assignment_id', '=', assignmentId).executeTakeFirst()
  return row && assignmentOf(row)
}
/** The claimed assignment with this challenge. */
export const findClaimedByChallenge = async (tx: Tx, challenge: string): Promise<Assignment | undefined> => {
  const row = await selectAssignments(tx)
    .where('challenge', '=', challenge)
    .where('status', '=', 'claimed')
    .executeTakeFirst()
  return row && assignmentOf(row)
}
const holderQuery = (tx: Tx, unit: UnitKey) =>
  selectAssignments(tx)
    .where('agent_id', '=', unit.agentId)
    .where('mode', '=', unit.mode)
    .where('order_id', '=', unit.orderId)
    .where('n', '=', unit.n)
    .where('status', 'not in', ['not_verified', 'returned', 'ran_out'])
/** The assignment that holds a unit: claimed, delivered or reviewed. */
export const findHolder = async (tx: Tx, unit: UnitKey): Promise<Assignment | undefined> => {
  const row = await holderQuery(tx, unit).executeTakeFirst()
  return row && assignmentOf(row)
}
export const findHolderForUpdate = async (tx: Tx, unit: UnitKey): Promise<Assignment | undefined> => {
  const row = await holderQuery(tx, unit).forUpdate().executeTakeFirst()
  return row && assignmentOf(row)
}
/** The claimed assignment of the person. */
export const findCurrentAssignment = async (tx: Tx, personId: string): Promise<Assignment | undefined> => {
  const row = await selectAssignments(tx)
    .where('person_id', '=', personId)
    .where('status', '=', 'claimed')
    .executeTakeFirst()
  return row && assignmentOf(row)
}
/** Newest first: ids begin with their time. */
export const listAssignments = async (
  tx: Tx,
  personId: string,
  { before, limit }: { readonly before?: string | undefined; readonly limit: number },
): Promise<Assignment[]> => {
  const ofPerson = selectAssignments(tx).where('person_id', '=', personId)
  const rows = await (before === undefined ? ofPerson : ofPerson.where('assignment_id', '<', before))
    .orderBy('assignment_id', 'desc')
    .limit(limit)
    .execute()
  return rows.map(assignmentOf)
}

type AssignmentChange = {
  readonly status: AssignmentState
  readonly sessionId?: string
  readonly quality?: number | null
  readonly reasons?: readonly string[]
  /** The person released it: it counts as a return. */
  readonly released?: boolean
}
export const updateAssignment = async (
  tx: Tx,
  assignmentId: string,
  change: AssignmentChange,
): Promise<void> => {
  await tx
    .updateTable('assignments')
    .set({
      status: change.status,
      ...(change.sessionId === undefined ? {} : { session_id: change.sessionId }),
      ...(change.quality === undefined ? {} : { quality: change.quality }),
      ...(change.reasons === undefined ? {} : { reasons: [...change.reasons] }),
      ...(change.released === true ? { released_at: now() } : {}),
    })
    .where('assignment_id', '=', assignmentId)
    .execute()
}

type Extension = {
  readonly openInSeconds: number
  readonly sessionEnd: Date
  /** The deadline of the order, where it has one. */
  readonly dueAtLatest: string | undefined
}
/** Extends a claim to half an hour after that time, within the deadline and the day in which its session can be minted. */
export const updateClaimDue = async (
  tx: Tx,
  assignmentId: string,
  { openInSeconds, sessionEnd, dueAtLatest }: Extension,
): Promise<void> => {
  // `least` leaves out what is null.
  await sql`
    update assignments set due_at = greatest(due_at,
      least(pohf_now() + make_interval(secs => ${openInSeconds + 1_800}), ${sessionEnd}::timestamptz + interval '1 day',
        ${dueAtLatest ?? null}::timestamptz))
    where assignment_id = ${assignmentId} and status = 'claimed' and due_at > pohf_now()`.execute(tx)
}

/** Expired claims, oldest first. */
export const listExpiredClaims = async (tx: Tx, limit: number): Promise<Assignment[]> => {
  const rows = await selectAssignments(tx)
    .where('status', '=', 'claimed')
    .where('due_at', '<=', now())
    .orderBy('due_at')
    .limit(limit)
    .execute()
  return rows.map(assignmentOf)
}

type KnownAnswerMove = {
  readonly unit: UnitKey & { readonly item: number | null }
  readonly isCorrect: boolean
  readonly sessionId: string
  readonly quality: number | null
}
/** Moves a delivered known-answer item to the unit that the operator pays. */
export const updateAssignmentKnownAnswer = async (
  tx: Tx,
  covered: Assignment,
  { unit, isCorrect, sessionId, quality }: KnownAnswerMove,
): Promise<void> => {
  await tx
    .updateTable('assignments')
    .set({
      status: 'delivered',
      agent_id: unit.agentId,
      order_id: unit.orderId,
      n: unit.n,
      item: unit.item,
      covered_agent_id: covered.agentId,
      covered_order_id: covered.orderId,
      covered_n: covered.n,
      session_id: sessionId,
      quality,
      gold_right: isCorrect,
    })
    .where('assignment_id', '=', covered.assignmentId)
    .execute()
}

/** Above the number of known-answer items that a workflow has. */
const seenMax = 500
type SeenKnownAnswer = { readonly input: unknown; readonly covered: string | null }
/** The known-answer items that a person was shown and did not return, and the units that they covered. */
export const listSeenKnownAnswers = async (
  tx: Tx,
  key: { readonly personId: string; readonly mode: Mode; readonly taskId: string },
): Promise<SeenKnownAnswer[]> => {
  const { rows } = await sql<SeenKnownAnswer>`
    select known_item -> 'input' as input, covered_order_id || '/' || covered_n as covered from assignments
    where person_id = ${key.personId} and mode = ${key.mode} and task_id = ${key.taskId} and known_item is not null
      and status not in ('returned', 'ran_out') limit ${seenMax}`.execute(tx)
  return rows
}

/** The seconds until a person may claim again after too many returns; undefined where they may claim now. */
export const findReturnLimitEnd = async (tx: Tx, personId: string): Promise<number | undefined> => {
  const { rows } = await sql<{ seconds: number }>`
    select greatest(1, ceil(extract(epoch from released_at + make_interval(hours => ${returnsHours}) - pohf_now())))::int
      as seconds
    from assignments where person_id = ${personId} and released_at is not null
      and released_at > pohf_now() - make_interval(hours => ${returnsHours})
    order by released_at desc offset ${returnsMax - 1} limit 1`.execute(tx)
  return rows[0]?.seconds
}

type WorkerAccuracyKey = { readonly personId: string; readonly mode: Mode; readonly taskId: string }
export type WorkerAccuracy = {
  readonly knownAnswers: number
  readonly correct: number
  /** Null where the pause is over. */
  readonly pausedUntil: Date | null
}
export const findWorkerAccuracy = async (tx: Tx, key: WorkerAccuracyKey): Promise<WorkerAccuracy> => {
  const row = await tx
    .selectFrom('worker_standing')
    .select(['golds', 'golds_right'])
    .select(sql<Date | null>`case when paused_until > pohf_now() then paused_until end`.as('paused_until'))
    .where('person_id', '=', key.personId)
    .where('mode', '=', key.mode)
    .where('task_id', '=', key.taskId)
    .executeTakeFirst()
  return {
    knownAnswers: row?.golds ?? 0,
    correct: row?.golds_right ?? 0,
    pausedUntil: row?.paused_until ?? null,
  }
}
/** Counts one known answer and returns the totals. */
export const upsertWorkerAccuracy = async (
  tx: Tx,
  key: WorkerAccuracyKey,
  isRight: boolean,
): Promise<WorkerAccuracy> => {
  const right = isRight ? 1 : 0
  await sql`
    insert into worker_standing as known (person_id, mode, task_id, golds, golds_right)
    values (${key.personId}, ${key.mode}, ${key.taskId}, 1, ${right})
    on conflict (person_id, mode, task_id) do update
      set golds = known.golds + 1, golds_right = known.golds_right + ${right}`.execute(tx)
  return findWorkerAccuracy(tx, key)
}
/** Bans the person in a workflow for some days (a pause), and resets the counts: afterwards only new answers count. */
export const updateWorkerPaused = async (tx: Tx, key: WorkerAccuracyKey, days: number): Promise<void> => {
  await sql`
    update worker_standing set golds = 0, golds_right = 0, paused_until = pohf_now() + make_interval(days => ${days})
    where person_id = ${key.personId} and mode = ${key.mode} and task_id = ${key.taskId}`.execute(tx)
}
/** After a successful appeal: counts the answer as correct and lifts a pause. */
export const updateWorkerPauseLifted = async (tx: Tx, key: WorkerAccuracyKey): Promise<void> => {
  await sql`
    update worker_standing set golds_right = least(golds, golds_right + 1), paused_until = null
    where person_id = ${key.personId} and mode = ${key.mode} and task_id = ${key.taskId}`.execute(tx)
}

/** The buyers that a person worked for, also where the work was a known-answer item. */
export const listBuyers = async (
  tx: Tx,
  personId: string,
): Promise<{ readonly agentId: string; readonly mode: Mode }[]> => {
  const rows = await tx
    .selectFrom('assignments')
    .select(['mode', sql<string>`coalesce(covered_agent_id, agent_id)`.as('site')])
    .distinct()
    .where('person_id', '=', personId)
    .execute()
  return rows.map((row) => ({ agentId: row.site, mode: row.mode }))
}
/** Erasure: the assignments stay without the person. */
export const eraseAssignmentPerson = async (tx: Tx, personId: string): Promise<void> => {
  await tx.updateTable('assignments').set({ person_id: null }).where('person_id', '=', personId).execute()
}
export const deleteWorkerAccuracy = async (tx: Tx, personId: string): Promise<void> => {
  await tx.deleteFrom('worker_standing').where('person_id', '=', personId).execute()
}
/** Erasure: removes the pseudonym that the buyer saw, and the text of appeals. */
export const eraseWorkerRef = async (
  tx: Tx,
  worker: { readonly agentId: string; readonly mode: Mode; readonly memberId: string },
): Promise<void> => {
  await tx
    .updateTable('order_units')
    .set({ worker_ref: null, appeal_text: null })
    .where('agent_id', '=', worker.agentId)
    .where('mode', '=', worker.mode)
    .where('worker_ref', '=', worker.memberId)
    .execute()
}

/** How many of the latest assignments the history of a worker with a buyer looks at. */
const historyMax = 500
type ActsKey = { readonly personId: string; readonly agentId: string; readonly mode: Mode }
/**
 * Units of this person for one buyer, among the person's latest: good are those that were accepted, paid and not charged
 * back, bad are those that were refused.
 */
export const countActs = async (
  tx: Tx,
  { personId, agentId, mode }: ActsKey,
): Promise<{ readonly good: number; readonly bad: number }> => {
  const { rows } = await sql<{ good: number; bad: number }>`
    select count(*) filter (where paid.is_paid)::int as good, count(*) filter (where done.status = 'refused')::int as bad
    from (select agent_id, mode, order_id, n, status from assignments where person_id = ${personId}
      order by assignment_id desc limit ${historyMax}) done
    left join lateral (select true as is_paid from worker_earnings earned
      where done.status = 'accepted' and earned.agent_id = done.agent_id and earned.mode = done.mode
        and earned.order_id = done.order_id and earned.n = done.n
        and earned.status <> 'taken_back' and not earned.flagged limit 1) paid on true
    where done.agent_id = ${agentId} and done.mode = ${mode}`.execute(tx)
  return rows[0] ?? { good: 0, bad: 0 }
}

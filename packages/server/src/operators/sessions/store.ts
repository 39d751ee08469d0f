import { sql } from 'kysely'
import { now, type Tx } from '../../platform/db/db.ts'
import { idleMinutes, recentMinutes, sessionHours, sessionsMax } from '../rules.ts'

type NewSession = {
  readonly sessionId: string
  readonly tokenHash: Buffer
  readonly operatorId: string
  readonly passkeyId: string
  readonly browser: string
}

/** Adds a session, and deletes the oldest ones of the operator beyond the limit. */
export const insertSession = async (tx: Tx, session: NewSession): Promise<void> => {
  await sql`
    delete from operator_sessions where operator_id = ${session.operatorId} and session_id <> all (array(
      select session_id from operator_sessions where operator_id = ${session.operatorId}
      order by created_at desc limit ${sessionsMax - 1}))`.execute(tx)
  await tx
    .insertInto('operator_sessions')
    .values({
      session_id: session.sessionId,
      token_hash: session.tokenHash,
      operator_id: session.operatorId,
      passkey_id: session.passkeyId,
      browser: session.browser,
      expires_at: sql<Date>`pohf_now() + make_interval(hours => ${sessionHours})`,
    })
    .execute()
}

const isOpen = sql<boolean>`session.expires_at > pohf_now()
  and session.last_seen_at > pohf_now() - make_interval(mins => ${sql.lit(idleMinutes)})`
const recentUntil = sql<Date>`session.created_at + make_interval(mins => ${sql.lit(recentMinutes)})`

/** Open sessions with their operators, who are not revoked. */
const selectOpenSessions = (tx: Tx) =>
  tx
    .selectFrom('operator_sessions as session')
    .innerJoin('operators as operator', 'operator.operator_id', 'session.operator_id')
    .select(['session.session_id', 'session.operator_id', 'operator.name', 'operator.made_by'])
    .select([
      recentUntil.as('recent_until'),
      sql<boolean>`${recentUntil} > pohf_now()`.as('is_recent'),
      sql<Date>`pohf_now()`.as('at'),
    ])
    .where('operator.revoked_at', 'is', null)
    .where(isOpen)

/** The open session of a cookie. */
export const findSessionByToken = async (tx: Tx, tokenHash: Buffer) =>
  selectOpenSessions(tx).where('session.token_hash', '=', tokenHash).executeTakeFirst()

/** The open session of a bearer. */
export const findSession = async (tx: Tx, sessionId: string) =>
  selectOpenSessions(tx).where('session.session_id', '=', sessionId).executeTakeFirst()

export const updateSessionSeen = async (tx: Tx, sessionId: string): Promise<void> => {
  await tx
    .updateTable('operator_sessions')
    .set({ last_seen_at: now() })
    .where('session_id', '=', sessionId)
    .execute()
}

export const listSessions = async (tx: Tx, operatorId: string) =>
  tx
    .selectFrom('operator_sessions as session')
    .select(['session_id', 'browser', 'created_at', 'last_seen_at', 'expires_at'])
    .where('operator_id', '=', operatorId)
    .where(isOpen)
    .orderBy('created_at', 'desc')
    .limit(sessionsMax)
    .execute()

/** The session that had this token; undefined where none has. */
export const deleteSessionByToken = async (tx: Tx, tokenHash: Buffer) =>
  tx
    .deleteFrom('operator_sessions')
    .where('token_hash', '=', tokenHash)
    .returning(['session_id', 'operator_id'])
    .executeTakeFirst()

export const deleteSessionsOf = async (tx: Tx, operatorId: string): Promise<void> => {
  await tx.deleteFrom('operator_sessions').where('operator_id', '=', operatorId).execute()
}

/** Ends the sessions that a passkey opened. */
export const deleteSessionsOfPasskey = async (tx: Tx, passkeyId: string): Promise<void> => {
  await tx.deleteFrom('operator_sessions').where('passkey_id', '=', passkeyId).execute()
}

/** False where the operator has no such session. */
export const deleteSession = async (tx: Tx, operatorId: string, sessionId: string): Promise<boolean> => {
  const result = await tx
    .deleteFrom('operator_sessions')
    .where('session_id', '=', sessionId)
    .where('operator_id', '=', operatorId)
    .executeTakeFirst()
  return result.numDeletedRows === 1n
}

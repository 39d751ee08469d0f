import { sql } from 'kysely'
import { now, type Tx } from '../../platform/db/db.ts'
import { idleHours, linkMinutes, recentMinutes, sessionHours, sessionsMax } from '../rules.ts'

type NewLink = {
  readonly tokenHash: Buffer
  readonly browserHash: Buffer
  readonly email: string
  readonly accountName: string | undefined
  readonly invitedTo: string | undefined
}
export const insertMailedLink = async (tx: Tx, link: NewLink): Promise<void> => {
  await tx
    .insertInto('account_links')
    .values({
      token_hash: link.tokenHash,
      browser_hash: link.browserHash,
      email: link.email,
      account_name: link.accountName ?? null,
      invited_to: link.invitedTo ?? null,
      expires_at: sql<Date>`pohf_now() + make_interval(mins => ${linkMinutes})`,
    })
    .execute()
}

export const findMailedLink = async (tx: Tx, tokenHash: Buffer) =>
  tx
    .selectFrom('account_links')
    .select('browser_hash')
    .where('token_hash', '=', tokenHash)
    .where('expires_at', '>', now())
    .executeTakeFirst()

/** Consumes a link; undefined where another call did. */
export const consumeMailedLink = async (tx: Tx, tokenHash: Buffer) =>
  tx
    .deleteFrom('account_links')
    .where('token_hash', '=', tokenHash)
    .returning(['email', 'account_name', 'invited_to'])
    .executeTakeFirst()

export type SignInWay = 'link' | 'passkey'
type NewSession = {
  readonly sessionId: string
  readonly tokenHash: Buffer
  readonly accountId: string
  readonly personId: string
  readonly by: SignInWay
  readonly browser: string
}

/** Adds a session, and deletes the oldest ones of the person beyond the limit. */
export const insertSession = async (tx: Tx, session: NewSession): Promise<void> => {
  await sql`
    delete from account_sessions where person_id = ${session.personId} and session_id <> all (array(
      select session_id from account_sessions where person_id = ${session.personId}
      order by created_at desc limit ${sessionsMax - 1}))`.execute(tx)
  await tx
    .insertInto('account_sessions')
    .values({
      session_id: session.sessionId,
      token_hash: session.tokenHash,
      account_id: session.accountId,
      person_id: session.personId,
      signed_in_by: session.by,
      browser: session.browser,
      expires_at: sql<Date>`pohf_now() + make_interval(hours => ${sessionHours})`,
    })
    .execute()
}

const isOpen = sql<boolean>`session.expires_at > pohf_now()
  and session.last_seen_at > pohf_now() - make_interval(hours => ${sql.lit(idleHours)})`
const isRecent = sql<boolean>`session.created_at > pohf_now() - make_interval(mins => ${sql.lit(recentMinutes)})`

/** The open session of a cookie, with the role of its person now. */
export const findSession = async (tx: Tx, tokenHash: Buffer) =>
  tx
    .selectFrom('account_sessions as session')
    .innerJoin('account_roles as held', (join) =>
      join
        .onRef('held.account_id', '=', 'session.account_id')
        .onRef('held.person_id', '=', 'session.person_id'),
    )
    .innerJoin('account_people as person', 'person.person_id', 'session.person_id')
    .select(['session.session_id', 'session.account_id', 'session.person_id', 'session.signed_in_by'])
    .select(['person.email', 'held.role'])
    .select([
      isRecent.as('is_recent'),
      sql<boolean>`session.last_seen_at < pohf_now() - interval '1 minute' or held.last_seen_at is null`.as(
        'use_unseen',
      ),
    ])
    .where('session.token_hash', '=', tokenHash)
    .where(isOpen)
    .executeTakeFirst()

/** The open session of a bearer, where its account still has the agent. */
export const findSessionForAgent = async (tx: Tx, sessionId: string, agentId: string) =>
  tx
    .selectFrom('account_sessions as session')
    .innerJoin('account_roles as held', (join) =>
      join
        .onRef('held.account_id', '=', 'session.account_id')
        .onRef('held.person_id', '=', 'session.person_id'),
    )
    .innerJoin('account_agents as agent', 'agent.account_id', 'session.account_id')
    .select(['held.role', 'session.person_id', 'session.signed_in_by'])
    .select([isRecent.as('is_recent'), sql<Date>`pohf_now()`.as('at')])
    .where('session.session_id', '=', sessionId)
    .where('agent.agent_id', '=', agentId)
    .where(isOpen)
    .executeTakeFirst()

export const updateSessionSeen = async (
  tx: Tx,
  session: { readonly session_id: string; readonly account_id: string; readonly person_id: string },
): Promise<void> => {
  await tx
    .updateTable('account_sessions')
    .set({ last_seen_at: now() })
    .where('session_id', '=', session.session_id)
    .execute()
  await tx
    .updateTable('account_roles')
    .set({ last_seen_at: now() })
    .where('account_id', '=', session.account_id)
    .where('person_id', '=', session.person_id)
    .execute()
}

export const updateSessionAccount = async (tx: Tx, sessionId: string, accountId: string): Promise<void> => {
  await tx
    .updateTable('account_sessions')
    .set({ account_id: accountId })
    .where('session_id', '=', sessionId)
    .execute()
}

/** When a session ends, and until when its sign-in counts as recent. */
export const findSessionTimes = async (tx: Tx, sessionId: string) =>
  tx
    .selectFrom('account_sessions')
    .select([
      'expires_at',
      sql<Date>`created_at + make_interval(mins => ${sql.lit(recentMinutes)})`.as('recent_until'),
    ])
    .where('session_id', '=', sessionId)
    .executeTakeFirst()

export const listSessions = async (tx: Tx, personId: string) =>
  tx
    .selectFrom('account_sessions as session')
    .select(['session_id', 'browser', 'signed_in_by', 'created_at', 'last_seen_at', 'expires_at'])
    .where('person_id', '=', personId)
    .where(isOpen)
    .orderBy('created_at', 'desc')
    .limit(sessionsMax)
    .execute()

/** False where no session has this token. */
export const deleteSessionByToken = async (tx: Tx, tokenHash: Buffer): Promise<boolean> => {
  const result = await tx
    .deleteFrom('account_sessions')
    .where('token_hash', '=', tokenHash)
    .executeTakeFirst()
  return result.numDeletedRows > 0n
}

/** False where the person has no such session. */
export const deleteSession = async (tx: Tx, personId: string, sessionId: string): Promise<boolean> => {
  const result = await tx
    .deleteFrom('account_sessions')
    .where('session_id', '=', sessionId)
    .where('person_id', '=', personId)
    .executeTakeFirst()
  return result.numDeletedRows === 1n
}

/** Ends the sessions of a person in one account. */
export const deleteSessionsIn = async (tx: Tx, accountId: string, personId: string): Promise<void> => {
  await tx
    .deleteFrom('account_sessions')
    .where('person_id', '=', personId)
    .where('account_id', '=', accountId)
    .execute()
}

/** Ends the other sessions that were signed in with a passkey. */
export const deletePasskeySessions = async (
  tx: Tx,
  { personId, sessionId }: { readonly personId: string; readonly sessionId: string },
): Promise<void> => {
  await tx
    .deleteFrom('account_sessions')
    .where('person_id', '=', personId)
    .where('signed_in_by', '=', 'passkey')
    .where('session_id', '<>', sessionId)
    .execute()
}

import { sql } from 'kysely'
import { requestDays, type LoggedRequest } from '@pohf/protocol'
import type { AnsweredRequest } from '../platform/http/http.ts'
import type { PageScan, Position } from '../platform/http/list-page.ts'
import type { Tx } from '../platform/db/db.ts'

/** A request with its age, by which its time is known whatever the clock of the process says. */
export type AgedRequest = AnsweredRequest & { readonly ageMs: number }

/** Stores requests of any agents. */
export const insertRequests = async (tx: Tx, rows: readonly AgedRequest[]): Promise<void> => {
  const all = <T>(of: (row: AgedRequest) => T): T[] => rows.map(of)
  await sql`
    insert into request_log (agent_id, at, request_id, key_id, method, endpoint, status, code, duration_ms)
    select agent_id, date_trunc('milliseconds', pohf_now() - make_interval(secs => age_ms / 1000)), request_id, key_id,
      method, endpoint, status, code, duration_ms
    from unnest(${all((row) => row.agentId)}::text[], ${all((row) => row.ageMs)}::float8[],
      ${all((row) => row.requestId)}::text[], ${all((row) => row.keyId)}::text[], ${all((row) => row.method)}::text[],
      ${all((row) => row.endpoint)}::text[], ${all((row) => row.status)}::smallint[],
      ${all((row) => row.code ?? null)}::text[], ${all((row) => row.durationMs)}::int[])
      noted (agent_id, age_ms, request_id, key_id, method, endpoint, status, code, duration_ms)`.execute(tx)
}

type RequestScan = PageScan & {
  readonly requestId: string | undefined
  /** Reads only requests that failed, by an index of their own. */
  readonly onlyFailed: boolean
}
export type ListedRequest = Omit<LoggedRequest, 'at'> & Position

/** Requests of an agent before a position, newest first. */
export const listRequests = async (tx: Tx, scan: RequestScan): Promise<ListedRequest[]> => {
  const { before, until, requestId } = scan
  const { rows } = await sql<ListedRequest>`
    select at, seq::text as id, request_id as "requestId", method, endpoint, status, code, duration_ms as "durationMs",
      key_id as "keyId"
    from request_log
    where agent_id = ${scan.agentId} and at >= ${scan.since} and at <= pohf_now()
      and at > pohf_now() - make_interval(days => ${requestDays})
      ${until ? sql`and at < ${until}` : sql``}
      ${before ? sql`and (at, seq) < (${before.at}, ${before.id}::bigint)` : sql``}
      ${requestId === undefined ? sql`` : sql`and request_id = ${requestId}`}
      ${scan.onlyFailed ? sql`and (status >= 400 or code is not null)` : sql``}
    order by at desc, seq desc limit ${scan.rowsMax}`.execute(tx)
  return rows
}

/** Drops the days that are older than the list. */
export const dropOldRequests = async (tx: Tx): Promise<void> => {
  await sql`select pohf_drop_days('request_log', ${requestDays})`.execute(tx)
}

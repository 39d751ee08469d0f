import { sql } from 'kysely'
import type { Mode } from '@pohf/protocol'
import type { PageScan } from '../../platform/http/list-page.ts'
import type { Tx } from '../../platform/db/db.ts'
import type { CredentialState } from '../status/rules.ts'
import type { IssuedCredential } from './rules.ts'

/** Of a row `c` of credentials: what its agent sees, with the current state. */
const issuedColumns = sql`
  c.credential_id as id, c.at, c.kind, c.expires_at as "expiresAt", c.answer ->> 'assurance' as assurance,
  (c.answer ->> 'quality')::float8 as quality, c.expires_at <= pohf_now() as expired,
  (select state from credential_states s where s.agent_id = c.agent_id and s.credential_id = c.credential_id
   order by seq desc limit 1) as state`

/** Credentials of an agent before a position, newest first. */
export const listIssued = async (tx: Tx, mode: Mode, scan: PageScan): Promise<IssuedCredential[]> => {
  const { before, until } = scan
  const { rows } = await sql<IssuedCredential>`
    select ${issuedColumns} from credentials c
    where c.agent_id = ${scan.agentId} and c.mode = ${mode} and c.at >= ${scan.since}
      and c.at <= pohf_now() + interval '1 day'
      ${until ? sql`and c.at < ${until}` : sql``}
      ${before ? sql`and (c.at, c.credential_id) < (${before.at}, ${before.id})` : sql``}
    order by c.at desc, c.credential_id desc limit ${scan.rowsMax}`.execute(tx)
  return rows
}

/** The sessions of credentials of an agent, by credential; kinds without a session are missing. */
export const listSessionsOfCredentials = async (
  tx: Tx,
  agentId: string,
  credentialIds: readonly string[],
): Promise<ReadonlyMap<string, string>> => {
  const { rows } = await sql<{ readonly id: string; readonly sessionId: string }>`
    select requested.id, claim.reference as "sessionId" from unnest(${[...credentialIds]}::text[]) requested (id)
    cross join lateral (
      select reference from credential_claims k where k.agent_id = ${agentId} and k.credential_id = requested.id
        and k.act = 'session'
      limit 1) claim`.execute(tx)
  return new Map(rows.map(({ id, sessionId }) => [id, sessionId]))
}

type CredentialKey = {
  readonly agentId: string
  readonly mode: Mode
  readonly credentialId: string
  /** Between these times it was issued, as its id says; without them each partition is looked up by its primary key. */
  readonly made: { readonly from: Date; readonly to: Date } | undefined
}

/** A credential of this agent with its token and what its caller was told. */
export const findIssued = async (tx: Tx, key: CredentialKey) => {
  const { rows } = await sql<IssuedCredential & { readonly jwt: string; readonly statusUri: string | null }>`
    select ${issuedColumns}, c.jwt, c.answer ->> 'statusUri' as "statusUri" from credentials c
    where c.agent_id = ${key.agentId} and c.mode = ${key.mode} and c.credential_id = ${key.credentialId}
      ${key.made ? sql`and c.at >= ${key.made.from} and c.at <= ${key.made.to}` : sql``}
    limit 1`.execute(tx)
  return rows[0]
}

const changesMax = 100

/** The states that a credential has had, the latest first. A row that only changes the grounds of a suspension is left out. */
export const listStates = async (tx: Tx, agentId: string, credentialId: string) => {
  const { rows } = await sql<{ readonly state: CredentialState; readonly at: Date }>`
    select state, at from (
      select seq, state, at, lag(state) over (order by seq) as before from credential_states
      where agent_id = ${agentId} and credential_id = ${credentialId}
    ) changes
    where before is distinct from state order by seq desc limit ${changesMax}`.execute(tx)
  return rows
}

import { sql } from 'kysely'
import type { Tx } from '../../platform/db/db.ts'

type AgentOrigin = {
  readonly agentId: string
  /** The mail address, where its owner has confirmed it. */
  readonly confirmedEmail: string | null
  /** The keyed hash of the network that the agent was registered from. */
  readonly networkTag: string
}

/** The confirmed address and the registration network of each of these agents, to recognise agents of one owner. */
export const listOrigins = async (tx: Tx, agentIds: readonly string[]): Promise<AgentOrigin[]> => {
  const { rows } = await sql<AgentOrigin>`
    select key.agent_id as "agentId", known.email as "confirmedEmail", known.network_tag as "networkTag"
    from unnest(${[...agentIds]}::text[]) key (agent_id)
    cross join lateral (select network_tag,
        case when email_confirmed_at is not null then contact_email end as email
      from agents where agents.agent_id = key.agent_id limit 1) known`.execute(tx)
  return rows
}

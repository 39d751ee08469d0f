import { sql } from 'kysely'
import type { Tx } from '../../platform/db/db.ts'
import { agentColumns } from '../store.ts'

/** Which rows a list of operators reads: at most `limit`, after an agent or from the start. */
type AgentPage = { readonly after: string | undefined; readonly limit: number }

export const listAgents = async (
  tx: Tx,
  { after, limit, isNewest }: AgentPage & { readonly isNewest: boolean },
) =>
  tx
    .selectFrom('agents')
    .select(agentColumns)
    .$if(after !== undefined, (narrow) => narrow.where('agent_id', isNewest ? '<' : '>', after ?? ''))
    .orderBy('agent_id', isNewest ? 'desc' : 'asc')
    .limit(limit)
    .execute()

export const listAgentsByEmail = async (tx: Tx, contactEmail: string, { after, limit }: AgentPage) =>
  tx
    .selectFrom('agents')
    .select(agentColumns)
    .where('contact_email', '=', contactEmail)
    .where('agent_id', '>', after ?? '')
    .orderBy('agent_id')
    .limit(limit)
    .execute()

/** Agents whose name begins with `prefix` in any case, by name. `after` is the last agent of the page before. */
export const listAgentsByName = async (
  tx: Tx,
  prefix: string,
  page: Pick<AgentPage, 'limit'> & {
    readonly after: { readonly searchName: string; readonly agentId: string } | undefined
  },
) => {
  const { after } = page
  // The last character of Unicode: every name with this beginning is before it.
  const end = sql<string>`lower(${prefix}::text) || chr(1114111)`
  return tx
    .selectFrom('agents')
    .select(agentColumns)
    .where('search_name', '<', end)
    .where('search_name', '>=', sql<string>`lower(${prefix}::text)`)
    .$if(after !== undefined, (narrow) =>
      narrow.where(sql<boolean>`(search_name, agent_id) > (${after?.searchName}, ${after?.agentId})`),
    )
    .orderBy('search_name')
    .orderBy('agent_id')
    .limit(page.limit)
    .execute()
}

/** The name of an agent as the search orders it. */
export const findSearchName = async (tx: Tx, agentId: string): Promise<string | undefined> => {
  const row = await tx
    .selectFrom('agents')
    .select('search_name')
    .where('agent_id', '=', agentId)
    .executeTakeFirst()
  return row?.search_name
}

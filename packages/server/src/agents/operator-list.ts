import type { Mode } from '@pohf/protocol'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction, type Tx } from '../platform/db/db.ts'
import { searchKindOf } from './rules.ts'
import { findSearchName, listAgents, listAgentsByEmail, listAgentsByName } from './search/store.ts'
import { findAgent } from './store.ts'

type Query = {
  readonly search?: string | undefined
  readonly mode?: Mode | undefined
  readonly state?: 'suspended' | 'unconfirmed' | undefined
  readonly order?: 'oldest' | 'newest' | undefined
  readonly after?: string | undefined
  readonly limit?: number | undefined
}
type Row = NonNullable<Awaited<ReturnType<typeof findAgent>>>

/** The most agents that a page with a filter reads: about 10 ms. */
const filteredRowsMax = 500

export const presentAgentToOperator = (row: Row) => ({
  agentId: row.agent_id,
  name: row.name,
  mode: row.mode,
  emailConfirmed: row.email_confirmed_at !== null,
  suspended: row.suspended_at !== null,
  createdAt: row.created_at.toISOString(),
})

const listByName = async (tx: Tx, prefix: string, page: { after: string | undefined; limit: number }) => {
  if (page.after === undefined) return listAgentsByName(tx, prefix, { after: undefined, limit: page.limit })
  const searchName = await findSearchName(tx, page.after)
  // An unknown cursor ends the list: it would otherwise begin again.
  if (searchName === undefined) return []
  return listAgentsByName(tx, prefix, { after: { searchName, agentId: page.after }, limit: page.limit })
}

/** Reads at most `limit` agents, before the filter. */
const scan = async (tx: Tx, query: Query, limit: number): Promise<Row[]> => {
  const page = { after: query.after === '' ? undefined : query.after, limit }
  const search = query.search?.trim() ?? ''
  switch (searchKindOf(search)) {
    case 'none':
      return listAgents(tx, { ...page, isNewest: query.order === 'newest' })
    case 'id': {
      const row = page.after === undefined ? await findAgent(tx, search) : undefined
      return row ? [row] : []
    }
    case 'email':
      return listAgentsByEmail(tx, search, page)
    case 'name':
      return listByName(tx, search, page)
  }
}

const isListed = (row: Row, { mode, state }: Query): boolean =>
  (mode === undefined || row.mode === mode) &&
  (state !== 'suspended' || row.suspended_at !== null) &&
  (state !== 'unconfirmed' || row.email_confirmed_at === null)

/** Agents by id, or those that a search finds. */
export const operatorList = async (ctx: Ctx, query: Query) =>
  inTransaction(ctx, 'system', async (tx) => {
    const { limit = 50 } = query
    const isFiltered = query.mode !== undefined || query.state !== undefined
    const rowsMax = isFiltered ? filteredRowsMax : limit + 1
    const rows = await scan(tx, query, rowsMax)
    const listed = rows.filter((row) => isListed(row, query))
    const page = listed.slice(0, limit)
    const last = listed.length > limit ? page.at(-1) : rows.length === rowsMax ? rows.at(-1) : undefined
    return { agents: page.map(presentAgentToOperator), nextCursor: last?.agent_id ?? null }
  })

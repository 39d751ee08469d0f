import { sql } from 'kysely'
import type { Mode } from '@pohf/protocol'
import { now, type Tx } from '../platform/db/db.ts'
import { agentsMax } from './rules.ts'

export const insertAccount = async (
  tx: Tx,
  account: { readonly accountId: string; readonly name: string },
): Promise<void> => {
  await tx.insertInto('accounts').values({ account_id: account.accountId, name: account.name }).execute()
}

export const findAccount = async (tx: Tx, accountId: string) =>
  tx
    .selectFrom('accounts')
    .select(['account_id', 'name', 'created_at'])
    .where('account_id', '=', accountId)
    .executeTakeFirst()

/** Serializes changes to the people and agents of one account, so that two cannot pass a rule together. */
export const lockAccount = async (tx: Tx, accountId: string): Promise<void> => {
  await tx
    .selectFrom('accounts')
    .select('account_id')
    .where('account_id', '=', accountId)
    .forNoKeyUpdate()
    .execute()
}

type OwnedAgent = { readonly agentId: string; readonly accountId: string; readonly mode: Mode }

/** False where an account has the agent already. */
export const insertAccountAgent = async (tx: Tx, agent: OwnedAgent): Promise<boolean> => {
  const result = await tx
    .insertInto('account_agents')
    .values({ agent_id: agent.agentId, account_id: agent.accountId, mode: agent.mode })
    .onConflict((conflict) => conflict.column('agent_id').doNothing())
    .executeTakeFirst()
  return result.numInsertedOrUpdatedRows === 1n
}

/** Makes an agent of the account the one that the console uses; undefined where the account does not have it. */
export const updateAgentUsed = async (
  tx: Tx,
  accountId: string,
  agentId: string,
): Promise<Mode | undefined> => {
  const row = await tx
    .updateTable('account_agents')
    .set({ used_since: now() })
    .where('agent_id', '=', agentId)
    .where('account_id', '=', accountId)
    .returning('mode')
    .executeTakeFirst()
  return row?.mode
}

export const countAccountAgents = async (tx: Tx, accountId: string): Promise<number> => {
  const rows = await tx
    .selectFrom('account_agents')
    .select('agent_id')
    .where('account_id', '=', accountId)
    .limit(agentsMax)
    .execute()
  return rows.length
}

/** The agent of a mode that the console uses. */
export const findUsedAgent = async (tx: Tx, accountId: string, mode: Mode): Promise<string | undefined> => {
  const row = await tx
    .selectFrom('account_agents')
    .select('agent_id')
    .where('account_id', '=', accountId)
    .where('mode', '=', mode)
    .orderBy('used_since', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.agent_id
}

export const findIsInAccount = async (tx: Tx, agentId: string): Promise<boolean> => {
  const row = await tx
    .selectFrom('account_agents')
    .select('agent_id')
    .where('agent_id', '=', agentId)
    .executeTakeFirst()
  return row !== undefined
}

/** The account of each of these agents that has one. */
export const listAccountsOfAgents = async (
  tx: Tx,
  agentIds: readonly string[],
): Promise<ReadonlyMap<string, string>> => {
  const { rows } = await sql<{ agentId: string; accountId: string }>`
    select key.agent_id as "agentId", owned.account_id as "accountId"
    from unnest(${[...agentIds]}::text[]) key (agent_id)
    cross join lateral (select account_id from account_agents where account_agents.agent_id = key.agent_id
      limit 1) owned`.execute(tx)
  return new Map(rows.map(({ agentId, accountId }) => [agentId, accountId]))
}

/** How many rows one statement deletes: a deletion of all at once would hold its locks for long. */
const batch = 1_000

/** Deletes expired links, challenges, invitations and sessions; called by the maintenance job. */
export const deleteExpired = async (tx: Tx): Promise<void> => {
  for (const name of ['account_links', 'account_challenges', 'account_invitations', 'account_sessions']) {
    const table = sql.table(name)
    for (let deleted = batch; deleted === batch;) {
      const { numAffectedRows } = await sql`
        delete from ${table} where ctid = any (array(
          select ctid from ${table} where expires_at < pohf_now() order by expires_at limit ${batch}))`.execute(
        tx,
      )
      deleted = Number(numAffectedRows ?? 0)
    }
  }
}

/** After a restore: a session may have ended in the lost span, and a link or a challenge may have been used. */
export const voidConsoleSignIns = async (tx: Tx): Promise<number> => {
  await sql`delete from account_links`.execute(tx)
  await sql`delete from account_challenges`.execute(tx)
  const { numAffectedRows } = await sql`delete from account_sessions`.execute(tx)
  return Number(numAffectedRows ?? 0)
}

import type { Tx } from '../platform/db/db.ts'
import type { Account } from './rules.ts'
import { findBalance, listBalances, listBalancesOfAgents } from './store.ts'

/** The balance of an account; zero for one that was never used. */
export const balanceOf = (tx: Tx, account: Account): Promise<bigint> => findBalance(tx, account)

/** Several balances of one agent, mode and unit in one query. An account that was never used is missing in the map. */
export const balancesOf = async (
  tx: Tx,
  ledger: Omit<Account, 'account'>,
  accounts: readonly string[],
): Promise<ReadonlyMap<string, bigint>> => {
  const rows = await listBalances(tx, ledger, accounts)
  return new Map(rows.map((row) => [row.account, row.balance]))
}

/** The same for several agents at once: per agent a map, empty where it never used one of the accounts. */
export const balancesOfAgents = async (
  tx: Tx,
  ledger: Omit<Account, 'account' | 'agentId'>,
  agentIds: readonly string[],
  accounts: readonly string[],
): Promise<ReadonlyMap<string, ReadonlyMap<string, bigint>>> => {
  const found = new Map(agentIds.map((agentId) => [agentId, new Map<string, bigint>()]))
  for (const row of await listBalancesOfAgents(tx, ledger, agentIds, accounts))
    found.get(row.agent_id)?.set(row.account, row.balance)
  return found
}

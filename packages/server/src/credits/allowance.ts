import { freeSealsPerMonth } from '@pohf/protocol'
import { balancesOf, balancesOfAgents, post } from '../ledger/index.ts'
import type { Ctx } from '../platform/ops/context.ts'
import type { Tx } from '../platform/db/db.ts'
import { claimFreePlan, type AgentLookup } from './free-plan.ts'
import { accounts, freeAccountOf, monthOf, transferLines } from './rules.ts'
import { findFreePlan } from './store.ts'

export type Allowance = {
  readonly at: Date
  readonly free: bigint
  readonly credits: bigint
  /** Zero or less. */
  readonly debt: bigint
}

/** Posts this month's free seals, once. */
const grantMonth = async (tx: Tx, agentId: string, month: string): Promise<void> => {
  await post(tx, {
    agentId,
    mode: 'live',
    kind: 'free_grant',
    reference: month,
    lines: transferLines(accounts.freePlan, freeAccountOf(month), BigInt(freeSealsPerMonth)),
  })
}

/** What a live agent may spend now. The first call claims its place in the free plan and this month's seals. */
export const readAllowance = async (
  tx: Tx,
  ctx: Pick<Ctx, 'config' | 'secrets'>,
  agents: AgentLookup,
  agentId: string,
): Promise<Allowance> => {
  const plan = await findFreePlan(tx, agentId)
  const month = monthOf(plan.at)
  const freeAccount = freeAccountOf(month)
  const hasPlan = plan.granted || (await claimFreePlan(tx, ctx, agents, agentId))
  const read = () =>
    balancesOf(tx, { agentId, mode: 'live', unit: 'credit' }, [accounts.balance, accounts.debt, freeAccount])
  let balances = await read()
  if (hasPlan && !balances.has(freeAccount)) {
    await grantMonth(tx, agentId, month)
    balances = await read()
  }
  return {
    at: plan.at,
    free: balances.get(freeAccount) ?? 0n,
    credits: balances.get(accounts.balance) ?? 0n,
    debt: balances.get(accounts.debt) ?? 0n,
  }
}

/** An allowance as it is stored; `free` is undefined where this month's seals were not posted yet. */
export type AllowanceSnapshot = Omit<Allowance, 'free' | 'at'> & { readonly free: bigint | undefined }

/** The allowances of several live agents at this time, in one query that changes nothing. */
export const readAllowanceSnapshots = async (
  tx: Tx,
  agentIds: readonly string[],
  at: Date,
): Promise<ReadonlyMap<string, AllowanceSnapshot>> => {
  const freeAccount = freeAccountOf(monthOf(at))
  const byAgent = await balancesOfAgents(tx, { mode: 'live', unit: 'credit' }, agentIds, [
    accounts.balance,
    accounts.debt,
    freeAccount,
  ])
  return new Map(
    [...byAgent].map(([agentId, balances]) => [
      agentId,
      {
        free: balances.get(freeAccount),
        credits: balances.get(accounts.balance) ?? 0n,
        debt: balances.get(accounts.debt) ?? 0n,
      },
    ]),
  )
}

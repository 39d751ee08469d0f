import type { Mode } from '@pohf/protocol'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction, type Tx } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import type { AgentId } from '../platform/ops/ids.ts'
import { readAllowance, readAllowanceSnapshots, type Allowance, type AllowanceSnapshot } from './allowance.ts'
import { checkPaidCheckouts, checkPostedPacks } from './card-check.ts'
import type { AgentLookup } from './free-plan.ts'
import { postPurchase, type Purchase } from './purchase.ts'

/** How long an agent with credits that got no free plan is not checked again. */
const refusedRetryMs = 5_000
const refusedMax = 10_000

const spendable = (allowance: Pick<Allowance, 'free' | 'credits' | 'debt'>): bigint => {
  if (allowance.debt < 0n) throw new Refusal('account_in_debt')
  return allowance.free + allowance.credits
}

/** The operations of credits for other modules. Spending is in the database: `credits_spend`, called by the mint. */
export const makeCredits = (ctx: Pick<Ctx, 'config' | 'secrets' | 'db'>, agents: AgentLookup) => {
  const refusedAt = new Map<string, number>()
  /** Claims the place in the free plan and this month's seals, if the agent is eligible. */
  const claimAllowance = async (agentId: AgentId): Promise<Allowance> => {
    const allowance = await inTransaction(ctx, agentId, (tx) => readAllowance(tx, ctx, agents, agentId))
    if (refusedAt.size >= refusedMax) refusedAt.clear()
    if (allowance.free === 0n) refusedAt.set(agentId, performance.now())
    return allowance
  }
  return {
    /** Whether one more verification can be paid for. Refuses an agent in debt before any other answer. */
    hasAllowance: async (tx: Tx, agent: { readonly agentId: string; readonly mode: Mode }) =>
      agent.mode === 'test' || spendable(await readAllowance(tx, ctx, agents, agent.agentId)) > 0n,
    /** The allowances of several live agents in one query; `countSpendable` turns each into a number. */
    readAllowanceSnapshots,
    /** How many verifications the agent can pay for. Refuses an agent in debt. */
    countSpendable: async (agentId: AgentId, snapshot: AllowanceSnapshot): Promise<bigint> => {
      if (snapshot.free !== undefined) return spendable({ ...snapshot, free: snapshot.free })
      const refused = refusedAt.get(agentId)
      if (snapshot.credits > 0n && refused !== undefined && performance.now() - refused < refusedRetryMs)
        return spendable({ ...snapshot, free: 0n })
      return spendable(await claimAllowance(agentId))
    },
    /** Posts a pack that was paid for, once per reference. */
    postPurchase: (tx: Tx, purchase: Purchase) => postPurchase(tx, purchase),
    /** Compares card payments with posted packs in both directions, a page at a time. */
    checkPaidCheckouts,
    checkPostedPacks,
    /** The free seals left of this month, for display. */
    readAllowance: (tx: Tx, agentId: string) => readAllowance(tx, ctx, agents, agentId),
  }
}
export type Credits = ReturnType<typeof makeCredits>

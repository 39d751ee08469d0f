import type { Mode } from '@pohf/protocol'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction, type Tx } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import { readAllowance, readAllowanceSnapshots, type Allowance, type AllowanceSnapshot } from './allowance.ts'
import { checkPaidCheckouts, checkPostedPacks } from './card-check.ts'
import type { AgentLookup } from './free-plan.ts'
import { postPurchase, type Purchase } from './purchase.ts'

/** Who has credits and was just told that it gets no free plan is not asked about again so soon. */
const refusedRetryMs = 5_000
const refusedMax = 10_000

const spendable = (allowance: Pick<Allowance, 'free' | 'credits' | 'debt'>): bigint => {
  if (allowance.debt < 0n) throw new Refusal('account_in_debt')
  return allowance.free + allowance.credits
}

/** What other modules may ask of credits. Paying itself is in the database: `credits_spend`, called by the mint. */
export const makeCredits = (ctx: Pick<Ctx, 'config' | 'secrets' | 'db'>, about: AgentLookup) => {
  const refusedAt = new Map<string, number>()
  /** Takes the place in the free plan and this month's seals, if the agent may have them. */
  const claimAllowance = async (agentId: `agt_${string}`): Promise<Allowance> => {
    const allowance = await inTransaction(ctx, agentId, (tx) => readAllowance(tx, ctx, about, agentId))
    if (refusedAt.size >= refusedMax) refusedAt.clear()
    if (allowance.free === 0n) refusedAt.set(agentId, performance.now())
    return allowance
  }
  return {
    /** Whether one more could be paid for. Refuses a debtor, who is to learn nothing else either. */
    hasAllowance: async (tx: Tx, agent: { readonly agentId: string; readonly mode: Mode }) =>
      agent.mode === 'test' || spendable(await readAllowance(tx, ctx, about, agent.agentId)) > 0n,
    /** What several live agents have, in one look; `countSpendable` makes a number of each. */
    readAllowanceSnapshots: readAllowanceSnapshots,
    /** How many verifications the agent can pay for. Refuses a debtor. */
    countSpendable: async (agentId: `agt_${string}`, seen: AllowanceSnapshot): Promise<bigint> => {
      if (seen.free !== undefined) return spendable({ ...seen, free: seen.free })
      const refused = refusedAt.get(agentId)
      if (seen.credits > 0n && refused !== undefined && performance.now() - refused < refusedRetryMs)
        return spendable({ ...seen, free: 0n })
      return spendable(await claimAllowance(agentId))
    },
    /** Posts a pack that was paid for, once per reference. */
    postPurchase: (tx: Tx, purchase: Purchase) => postPurchase(tx, purchase),
    /** Whether card money and posted packs agree, a page at a time: from money to credits, and back. */
    checkPaidCheckouts,
    checkPostedPacks,
    /** The free seals left of this month, for showing. */
    readAllowance: (tx: Tx, agentId: string) => readAllowance(tx, ctx, about, agentId),
  }
}
export type Credits = ReturnType<typeof makeCredits>

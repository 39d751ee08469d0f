import type { Mode } from '@pohf/protocol'
import type { Ctx } from '../platform/context.ts'
import type { Tx } from '../platform/db.ts'
import { Refusal } from '../platform/errors.ts'
import { readAllowance } from './allowance.ts'
import { checkPaidCheckouts, checkPostedPacks } from './card-check.ts'
import type { AboutAgents } from './free-plan.ts'
import { postPurchase, type Purchase } from './purchase.ts'
import { spendOne, type Spend } from './spend-one.ts'

/** What other modules may ask of credits. */
export const makeCredits = (ctx: Pick<Ctx, 'config' | 'secrets'>, about: AboutAgents) => ({
  /** Pays for one verification, once per reference: a free seal first, then a credit. */
  spendOne: (tx: Tx, spend: Spend) => spendOne(tx, ctx, about, spend),
  /** Whether one more could be paid for. Refuses a debtor, who is to learn nothing else either. */
  hasAllowance: async (tx: Tx, agent: { readonly agentId: string; readonly mode: Mode }) => {
    if (agent.mode === 'test') return true
    const allowance = await readAllowance(tx, ctx, about, agent.agentId)
    if (allowance.debt < 0n) throw new Refusal('account_in_debt')
    return allowance.free + allowance.credits > 0n
  },
  /** Posts a pack that was paid for, once per reference. */
  postPurchase: (tx: Tx, purchase: Purchase) => postPurchase(tx, purchase),
  /** Whether card money and posted packs agree, a page at a time: from money to credits, and back. */
  checkPaidCheckouts,
  checkPostedPacks,
  /** The free seals left of this month, for showing. */
  readAllowance: (tx: Tx, agentId: string) => readAllowance(tx, ctx, about, agentId),
})
export type Credits = ReturnType<typeof makeCredits>

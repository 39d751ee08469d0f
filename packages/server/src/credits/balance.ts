import { disputesShownMax, packNames, packs } from '@pohf/protocol'
import { balancesOf } from '../ledger/index.ts'
import type { Agent } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction, readNow } from '../platform/db/db.ts'
import type { Credits } from './credits.ts'
import { listDisputesShown } from './disputes/store.ts'
import { accounts, nextMonth, packOf } from './rules.ts'

const catalogue = packNames.map((pack) => ({ pack, ...packs[pack] }))

/** Everything is read from the ledger; free seals only where the agent has the free plan. */
export const balance = async (ctx: Ctx, credits: Credits, agent: Agent) =>
  inTransaction(ctx, agent.agentId, async (tx) => {
    const { agentId, mode } = agent
    const allowance = mode === 'live' ? await credits.readAllowance(tx, agentId) : undefined
    const consumed = mode === 'live' ? accounts.consumed.credit : accounts.consumed.test
    const balances = await balancesOf(tx, { agentId, mode, unit: 'credit' }, [
      accounts.balance,
      accounts.purchases,
      consumed,
    ])
    const disputes = await listDisputesShown(tx, { agentId, mode }, disputesShownMax)
    return {
      balance: Number(balances.get(accounts.balance) ?? 0n),
      lifetimePurchased: Number(-(balances.get(accounts.purchases) ?? 0n)),
      lifetimeConsumed: Number(balances.get(consumed) ?? 0n),
      packs: catalogue,
      freeRemaining: Number(allowance?.free ?? 0n),
      freeResetsAt: nextMonth(allowance?.at ?? (await readNow(tx))).toISOString(),
      disputes: disputes.map(({ pack, openUsdCents, lostUsdCents, disputedAt, ...dispute }) => ({
        ...dispute,
        pack: packOf(pack),
        state:
          openUsdCents > 0n ? ('open' as const) : lostUsdCents > 0n ? ('lost' as const) : ('won' as const),
        disputedAt: disputedAt.toISOString(),
      })),
    }
  })

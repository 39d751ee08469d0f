import type { Mode } from '@pohf/protocol'
import { balanceAfter, findPosting, InsufficientBalance, post } from '../ledger/index.ts'
import type { Ctx } from '../platform/context.ts'
import type { Tx } from '../platform/db.ts'
import { Refusal } from '../platform/errors.ts'
import { publish } from '../platform/outbox.ts'
import { readAllowance, type Allowance } from './allowance.ts'
import type { AboutAgents } from './free-plan.ts'
import { accounts, lowMark, move, noticeOf, sourceOf, type Source } from './rules.ts'

export type Spend = { readonly agentId: string; readonly mode: Mode; readonly reference: string }
export type Spent = { readonly spent: Source }

const kind = 'spend'

const notify = async (tx: Tx, spend: Spend, left: bigint): Promise<void> => {
  const type = noticeOf(left)
  if (!type) return
  const { agentId, mode } = spend
  const event = { agentId, mode, subject: agentId }
  const balance = Number(left)
  if (type === 'credits.low')
    await publish(tx, { ...event, type, data: { balance, threshold: Number(lowMark) } })
  else await publish(tx, { ...event, type, data: { balance } })
}

/** Spends from one source, or says by undefined that it is empty. */
const spendFrom = async (
  tx: Tx,
  spend: Spend,
  from: { source: 'free' | 'credit'; account: string; elsewhere: bigint },
): Promise<Spent | undefined> => {
  try {
    const posting = await post(tx, {
      ...spend,
      kind,
      lines: move(from.account, accounts.consumed[from.source], 1n),
    })
    // A call with the same reference was faster: what it spent is the answer, and it has told who must know.
    if (posting.repeated) return { spent: sourceOf(posting) }
    await notify(tx, spend, balanceAfter(posting, from.account) + from.elsewhere)
    return { spent: from.source }
  } catch (error) {
    if (error instanceof InsufficientBalance) return undefined
    throw error
  }
}

const spendLive = async (tx: Tx, spend: Spend, allowance: Allowance): Promise<Spent | undefined> => {
  const fromFree =
    allowance.free > 0n
      ? await spendFrom(tx, spend, {
          source: 'free',
          account: allowance.freeAccount,
          elsewhere: allowance.credits,
        })
      : undefined
  return fromFree ?? spendFrom(tx, spend, { source: 'credit', account: accounts.balance, elsewhere: 0n })
}

/** Pays for one verification, once per reference. */
export const spendOne = async (
  tx: Tx,
  ctx: Pick<Ctx, 'config' | 'secrets'>,
  about: AboutAgents,
  spend: Spend,
): Promise<Spent> => {
  const before = await findPosting(tx, { ...spend, kind })
  if (before) return { spent: sourceOf(before) }
  if (spend.mode === 'test') {
    await post(tx, { ...spend, kind, lines: move(accounts.sandbox, accounts.consumed.test, 1n) })
    return { spent: 'test' }
  }
  const allowance = await readAllowance(tx, ctx, about, spend.agentId)
  if (allowance.debt < 0n) throw new Refusal('account_in_debt')
  const spent = await spendLive(tx, spend, allowance)
  if (!spent) throw new Refusal('insufficient_credits', { buy: `${ctx.config.BASE_URL}/buy` })
  return spent
}

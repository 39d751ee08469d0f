import { packs, type Mode, type PackName } from '@pohf/protocol'
import { balanceOf, InsufficientBalance, post, type Posting } from '../ledger/index.ts'
import type { Tx } from '../platform/db/db.ts'
import { publish } from '../platform/queue/outbox.ts'
import { accounts, purchaseLines } from './rules.ts'
import { lockCreditPostings } from './store.ts'

export type Purchase = {
  readonly agentId: string
  readonly mode: Mode
  readonly pack: PackName
  /** The checkout that was paid: it posts once. */
  readonly reference: string
}

/** Two postings may settle the same debt; the later one reads the settled debt at its next attempt. */
const attemptsMax = 3

type NewCredits = Omit<Purchase, 'pack'> & { readonly credits: bigint }

/** Posts credits that were bought or granted, once per reference, and settles a debt with them first. */
export const postCredits = async (
  tx: Tx,
  kind: 'purchase' | 'credit_grant',
  { agentId, mode, reference, credits }: NewCredits,
): Promise<Posting> => {
  const from = kind === 'purchase' ? accounts.purchases : accounts.grants
  await lockCreditPostings(tx, { agentId, mode })
  for (let tries = 1; ; tries++) {
    const debt = await balanceOf(tx, { agentId, mode, account: accounts.debt, unit: 'credit' })
    try {
      return await post(tx, { agentId, mode, kind, reference, lines: purchaseLines(credits, debt, from) })
    } catch (error) {
      if (!(error instanceof InsufficientBalance) || tries >= attemptsMax) throw error
    }
  }
}

/** Posts a pack that was paid for, once per reference, and settles a debt with it first. */
export const postPurchase = async (tx: Tx, purchase: Purchase): Promise<{ readonly repeated: boolean }> => {
  const { agentId, mode, pack } = purchase
  const { repeated } = await postCredits(tx, 'purchase', {
    ...purchase,
    credits: BigInt(packs[pack].credits),
  })
  if (repeated) return { repeated }
  const balance = await balanceOf(tx, { agentId, mode, account: accounts.balance, unit: 'credit' })
  await publish(tx, {
    agentId,
    mode,
    type: 'credits.purchased',
    subject: agentId,
    data: { balance: Number(balance), pack, credits: packs[pack].credits },
  })
  return { repeated }
}

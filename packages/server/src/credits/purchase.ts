import { packs, type Mode, type PackName } from '@pohf/protocol'
import { balanceOf, InsufficientBalance, post, type Posting } from '../ledger/index.ts'
import type { Tx } from '../platform/db/db.ts'
import { publish } from '../platform/queue/outbox.ts'
import { accounts, purchaseLines } from './rules.ts'

export type Purchase = {
  readonly agentId: string
  readonly mode: Mode
  readonly pack: PackName
  /** The checkout that was paid: it posts once. */
  readonly reference: string
}

/** Two purchases may settle the same debt; the later one reads the settled debt at its next attempt. */
const attemptsMax = 3

const postPack = async (tx: Tx, purchase: Purchase): Promise<Posting> => {
  const { agentId, mode, pack, reference } = purchase
  for (let tries = 1; ; tries++) {
    const debt = await balanceOf(tx, { agentId, mode, account: accounts.debt, unit: 'credit' })
    const lines = purchaseLines(BigInt(packs[pack].credits), debt)
    try {
      return await post(tx, { agentId, mode, kind: 'purchase', reference, lines })
    } catch (error) {
      if (!(error instanceof InsufficientBalance) || tries >= attemptsMax) throw error
    }
  }
}

/** Posts a pack that was paid for, once per reference, and settles a debt with it first. */
export const postPurchase = async (tx: Tx, purchase: Purchase): Promise<{ readonly repeated: boolean }> => {
  const { agentId, mode, pack } = purchase
  const { repeated } = await postPack(tx, purchase)
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

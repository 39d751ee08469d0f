import { packNames, packs, type PackName } from '@pohf/protocol'
import { balancesOf, InsufficientBalance, post } from '../ledger/index.ts'
import type { PaidCheckout, Settler, ReversalChange } from '../payments/index.ts'
import type { Tx } from '../platform/db/db.ts'
import { publish } from '../platform/queue/outbox.ts'
import { postPurchase } from './purchase.ts'
import { accounts, purchaseLines, reversalLines, reversedCredits } from './rules.ts'

/** The first refusal by the ledger locks the accounts, so the second look at them is the last. */
const attemptsMax = 3

export const reversalKind = 'purchase_reversal'

export const packOf = (reference: string): PackName => {
  const pack = packNames.find((name) => name === reference)
  if (!pack) throw new Error('credits checkout names an unknown pack')
  return pack
}

const ledgerOf = ({ agentId, mode }: PaidCheckout) => ({ agentId, mode, unit: 'credit' }) as const

const readBalances = async (tx: Tx, checkout: PaidCheckout) => {
  const held = await balancesOf(tx, ledgerOf(checkout), [accounts.balance, accounts.debt])
  return { balance: held.get(accounts.balance) ?? 0n, debt: held.get(accounts.debt) ?? 0n }
}

/** Takes credits (more than zero) or gives them back (less), by what the accounts hold at that moment. */
const postCreditsChange = async (tx: Tx, checkout: PaidCheckout, credits: bigint, reference: string) => {
  for (let tries = 1; ; tries++) {
    const { balance, debt } = await readBalances(tx, checkout)
    const lines = credits > 0n ? reversalLines(credits, balance) : purchaseLines(-credits, debt)
    try {
      const { agentId, mode } = checkout
      return await post(tx, { agentId, mode, kind: reversalKind, reference, lines })
    } catch (error) {
      if (!(error instanceof InsufficientBalance) || tries >= attemptsMax) throw error
    }
  }
}

const applyReversal = async (tx: Tx, checkout: PaidCheckout, change: ReversalChange): Promise<void> => {
  const whole = BigInt(packs[packOf(checkout.reference)].credits)
  const creditsOf = (cents: bigint) => reversedCredits(whole, cents, checkout.amountUsdCents)
  const credits = creditsOf(change.afterUsdCents) - creditsOf(change.beforeUsdCents)
  // A few cents may be less than one credit.
  if (credits === 0n) return
  const { repeated } = await postCreditsChange(tx, checkout, credits, change.reference)
  if (repeated) return
  const { balance, debt } = await readBalances(tx, checkout)
  await publish(tx, {
    agentId: checkout.agentId,
    mode: checkout.mode,
    type: credits > 0n ? 'credits.reversed' : 'credits.restored',
    subject: checkout.agentId,
    data: {
      balance: Number(balance),
      owed: Number(-debt),
      credits: Number(credits > 0n ? credits : -credits),
      checkoutId: checkout.checkoutId,
    },
  })
}

/** What a card payment does to credits: a pack is posted once, and taken back as far as the money is. */
export const cardSettler: Settler = {
  applyPayment: async (tx, checkout) => {
    const { agentId, mode, checkoutId } = checkout
    await postPurchase(tx, { agentId, mode, pack: packOf(checkout.reference), reference: checkoutId })
  },
  applyReversal: applyReversal,
  // Whatever is given back, the credits go with it.
  findRefundable: async (_tx, checkout) => checkout.amountUsdCents,
}

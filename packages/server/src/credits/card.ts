import { packs } from '@pohf/protocol'
import { balancesOf, InsufficientBalance, post } from '../ledger/index.ts'
import type { PaidCheckout, Settler, ReversalChange } from '../payments/index.ts'
import type { Tx } from '../platform/db/db.ts'
import { publish } from '../platform/queue/outbox.ts'
import { updatePassRepeated, upsertDisputedPack, upsertPass } from './disputes/store.ts'
import { postPurchase } from './purchase.ts'
import { lockCreditPostings } from './store.ts'
import { accounts, packOf, purchaseLines, reversalLines, reversedCredits } from './rules.ts'

/** A posting that the ledger refuses has locked its accounts, so the balances that the next attempt reads do not change. */
const attemptsMax = 3

export const reversalKind = 'purchase_reversal'

const ledgerOf = ({ agentId, mode }: PaidCheckout) => ({ agentId, mode, unit: 'credit' }) as const

const readBalances = async (tx: Tx, checkout: PaidCheckout) => {
  const balances = await balancesOf(tx, ledgerOf(checkout), [accounts.balance, accounts.debt])
  return { balance: balances.get(accounts.balance) ?? 0n, debt: balances.get(accounts.debt) ?? 0n }
}

/** Takes credits back (above zero) or restores them (below zero), by the current balances. */
const postCreditsChange = async (tx: Tx, checkout: PaidCheckout, credits: bigint, reference: string) => {
  await lockCreditPostings(tx, checkout)
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

/** Reversal of credits after a refund or a lost dispute. A dispute that is won later restores them. */
const applyReversal = async (tx: Tx, checkout: PaidCheckout, change: ReversalChange): Promise<void> => {
  const whole = BigInt(packs[packOf(checkout.reference)].credits)
  const creditsOf = (cents: bigint) => reversedCredits(whole, cents, checkout.amountUsdCents)
  const credits = creditsOf(change.afterUsdCents) - creditsOf(change.beforeUsdCents)
  // A few cents may be less than one credit.
  if (credits === 0n) return
  const { repeated } = await postCreditsChange(tx, checkout, credits, change.reference)
  if (repeated) return
  // It may change which disputed pack paid for what.
  await updatePassRepeated(tx, checkout)
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

/** How card payments change credits: a pack is posted once, and reversed in proportion to the money. */
export const cardSettler: Settler = {
  applyPayment: async (tx, checkout) => {
    const { agentId, mode, checkoutId } = checkout
    await postPurchase(tx, { agentId, mode, pack: packOf(checkout.reference), reference: checkoutId })
  },
  applyReversal,
  applyDisputes: async (tx, checkout, parts) => {
    const { checkoutId, reference, amountUsdCents } = checkout
    const disputed = { ...parts, checkoutId, pack: packOf(reference), amountUsdCents }
    if (await upsertDisputedPack(tx, checkout, disputed)) await upsertPass(tx, checkout)
  },
  // A refund takes the credits back with it, so all of it is refundable.
  findRefundable: async (_tx, checkout) => checkout.amountUsdCents,
}

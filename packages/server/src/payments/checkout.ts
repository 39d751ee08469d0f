import type { Ctx } from '../platform/context.ts'
import type { Tx } from '../platform/db.ts'
import type { NewCheckout } from './rules.ts'
import { findOpenCheckout, insertCheckout, updateStaleExpired, updateTestCompleted } from './store.ts'

/** The open one can be closed between our two looks at it; three times in a row it is not. */
const attemptsMax = 3

/** What other modules may ask of payments. */
export const makePayments = (ctx: Pick<Ctx, 'config'>) => ({
  /** Opens a checkout, or gives the one that is open for this reference. */
  createCheckout: async (tx: Tx, checkout: NewCheckout) => {
    await updateStaleExpired(tx, checkout)
    for (let tries = 0; tries < attemptsMax; tries++) {
      const row =
        (await insertCheckout(tx, tx.ids.make('chk_'), checkout)) ?? (await findOpenCheckout(tx, checkout))
      if (row)
        return {
          checkoutId: row.checkout_id,
          checkoutUrl: `${ctx.config.BASE_URL}/checkout/${row.checkout_id}`,
          expiresAt: row.expires_at,
        }
    }
    throw new Error('no checkout could be opened')
  },
  /** Completes a sandbox checkout: its purchase is posted in the same transaction. Live ones are out of reach. */
  completeTestCheckout: async (tx: Tx, checkout: { agentId: string; checkoutId: string }): Promise<void> => {
    if (!(await updateTestCompleted(tx, checkout.agentId, checkout.checkoutId)))
      throw new Error('not an open test checkout')
  },
})
export type Payments = ReturnType<typeof makePayments>

import { setTimeout } from 'node:timers/promises'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction, type Tenant, type Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { CardPaymentStatus } from './facts.ts'
import { CardProviderError, type CardProvider } from './provider.ts'
import { cardUsdCentsMin, type NewCheckout } from '../rules.ts'
import {
  findOpenCheckout,
  insertCheckout,
  updateProviderAttempt,
  updateProviderSession,
  updateStaleExpired,
  updateTestCompleted,
} from '../store.ts'

/** The open one can be closed between our two looks at it; three times in a row it is not. */
const attemptsMax = 3
/** Another process asks the provider at this moment: its answer is a second away. */
const busyPollsMax = 10
const busyPollMs = 300

export type OpenedCheckout = {
  readonly checkoutId: string
  readonly checkoutUrl: string
  readonly expiresAt: Date
}
type Row = NonNullable<Awaited<ReturnType<typeof findOpenCheckout>>>

/** The row of the one open checkout for this reference, made where there is none. */
const findOrInsertCheckout = async (tx: Tx, checkout: NewCheckout): Promise<Row> => {
  await updateStaleExpired(tx, checkout)
  for (let tries = 0; tries < attemptsMax; tries++) {
    const row =
      (await insertCheckout(tx, tx.ids.make('chk_'), checkout)) ?? (await findOpenCheckout(tx, checkout))
    if (row) return row
  }
  throw new Error('no open checkout found or inserted after 3 attempts')
}

const tooSmall = () =>
  new Refusal('validation_failed', {
    details: [{ path: 'body', code: 'too_small', message: 'a card takes no payment below 0.50 USD' }],
  })

/** What other modules may ask of payments. */
export const makePayments = (ctx: Ctx, provider: CardProvider | undefined) => {
  const checkoutOf = (row: Row): OpenedCheckout => ({
    checkoutId: row.checkoutId,
    checkoutUrl: `${ctx.config.BASE_URL}/checkout/${row.checkoutId}`,
    expiresAt: row.expiresAt,
  })
  /** One question per checkout and process at a time; who comes meanwhile shares the answer. */
  const sessionRequests = new Map<string, Promise<string>>()

  const createProviderSession = async (
    cards: CardProvider,
    checkout: NewCheckout,
    row: Row,
  ): Promise<string> => {
    const key = { agentId: checkout.agentId, checkoutId: row.checkoutId }
    const tenant = checkout.agentId as Tenant
    try {
      // The same key for the same checkout: a call whose answer was lost makes no second session.
      const idempotencyKey = `${row.checkoutId}.${row.providerAttempt}`
      const session = await cards.createSession({ ...checkout, ...key, idempotencyKey })
      await inTransaction(ctx, tenant, (tx) => updateProviderSession(tx, key, session))
      return session.url
    } catch (error) {
      if (!(error instanceof CardProviderError)) throw error
      // The provider repeats its own fault under the same key. Nobody has seen a page of that attempt.
      if (error.isServerError)
        await inTransaction(ctx, tenant, (tx) => updateProviderAttempt(tx, key, row.providerAttempt))
      for (let look = 0; error.isInProgress && look < busyPollsMax; look++) {
        await setTimeout(busyPollMs)
        const now = await inTransaction(ctx, tenant, (tx) => findOpenCheckout(tx, checkout))
        if (now?.providerUrl) return now.providerUrl
      }
      throw new Refusal('card_provider_unreachable', { headers: { 'retry-after': '5' } })
    }
  }

  return {
    /** How a payment stands at the provider, by any name that the provider gives it. */
    findCardPayment: async (id: string): Promise<CardPaymentStatus> => {
      // Where cards are only played with, nothing is proven to the world.
      if (!provider || !(provider.livemode || ctx.config.loopback)) return 'foreign'
      try {
        return await provider.findPayment(id)
      } catch (error) {
        if (!(error instanceof CardProviderError)) throw error
        throw new Refusal('card_provider_unreachable', { headers: { 'retry-after': '5' } })
      }
    },
    acceptsCards: provider !== undefined,
    /** Opens a checkout that a person completes, or gives the open one: intent, call, settle. */
    openCheckout: async (checkout: NewCheckout): Promise<OpenedCheckout> => {
      const pays = checkout.mode === 'live' && provider !== undefined
      if (pays && checkout.amountUsdCents < cardUsdCentsMin) throw tooSmall()
      const row = await inTransaction(ctx, checkout.agentId as Tenant, (tx) =>
        findOrInsertCheckout(tx, checkout),
      )
      // A slow payment is under way: our page says so, and the provider's would take a second one.
      if (!pays || row.state === 'processing') return checkoutOf(row)
      if (row.providerUrl) return { ...checkoutOf(row), checkoutUrl: row.providerUrl }
      const underWay = sessionRequests.get(row.checkoutId) ?? createProviderSession(provider, checkout, row)
      sessionRequests.set(row.checkoutId, underWay)
      try {
        return { ...checkoutOf(row), checkoutUrl: await underWay }
      } finally {
        sessionRequests.delete(row.checkoutId)
      }
    },
    /** Opens a sandbox checkout and completes it: what it buys is posted in the same transaction. */
    openTestCheckout: async (
      tx: Tx,
      checkout: NewCheckout & { readonly mode: 'test' },
    ): Promise<OpenedCheckout> => {
      const row = await findOrInsertCheckout(tx, checkout)
      if (!(await updateTestCompleted(tx, checkout.agentId, row.checkoutId)))
        throw new Error('not an open test checkout')
      return checkoutOf(row)
    },
  }
}
export type Payments = ReturnType<typeof makePayments>

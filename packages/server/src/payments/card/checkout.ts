import { setTimeout } from 'node:timers/promises'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction, type Tenant, type Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { checkAndNarrow, checkRefusals, type Refusals } from '../../platform/http/refusals.ts'
import type { CardPaymentStatus } from './facts.ts'
import { CardProviderError, type CardProvider } from './provider.ts'
import { cardUsdCentsMin, type NewCheckout } from '../rules.ts'
import {
  findOpenCheckout,
  hasLiveCheckout,
  insertCheckout,
  updateProviderAttempt,
  updateProviderSession,
  updateStaleExpired,
  updateTestCompleted,
} from '../store.ts'

/** The open checkout can be closed between the insert and the read; not three times in a row. */
const attemptsMax = 3
/** Another process is creating the session: its response is about a second away. */
const busyPollsMax = 10
const busyPollMs = 300

export type OpenedCheckout = {
  readonly checkoutId: string
  readonly checkoutUrl: string
  readonly expiresAt: Date
}
type Row = NonNullable<Awaited<ReturnType<typeof findOpenCheckout>>>

/** The row of the only open checkout for this reference, inserted where there is none. */
const findOrInsertCheckout = async (tx: Tx, checkout: NewCheckout): Promise<Row> => {
  await updateStaleExpired(tx, checkout)
  for (let tries = 0; tries < attemptsMax; tries++) {
    const row =
      (await insertCheckout(tx, tx.ids.make('chk_'), checkout)) ?? (await findOpenCheckout(tx, checkout))
    if (row) return row
  }
  throw new Error(
    `no open checkout found or inserted for ${checkout.purpose} ${checkout.reference} of ${checkout.agentId} in ${attemptsMax} attempts`,
  )
}

const providerUnreachable = () =>
  new Refusal('card_provider_unreachable', { headers: { 'retry-after': '5' } })

type CardAmount = { readonly isPayable: boolean; readonly amountUsdCents: bigint }
const refuseBelowMinimum = ({ isPayable, amountUsdCents }: CardAmount) =>
  isPayable && amountUsdCents < cardUsdCentsMin
    ? new Refusal('validation_failed', {
        details: [{ path: 'body', code: 'too_small', message: 'a card payment must be at least 0.50 USD' }],
      })
    : undefined
/** Before anything is stored. */
const amountRefusals: Refusals<CardAmount> = [['below_card_minimum', refuseBelowMinimum]]

/** The address of the provider's page; undefined where the provider did not create one. */
type ProviderPage = { readonly url: string | undefined }
const refuseUnreachableProvider = ({ url }: ProviderPage) =>
  url === undefined ? providerUnreachable() : undefined
/** The checkout is stored and stays open: the next call tries again. */
const pageRefusals: Refusals<ProviderPage> = [['card_provider_unreachable', refuseUnreachableProvider]]

/** Every refusal of a card checkout, in the order in which they are checked. */
export const checkoutRefusals = [...amountRefusals, ...pageRefusals] as const

type PaymentsContext = {
  readonly ctx: Ctx
  /** One request for each checkout and process at a time; concurrent callers share the response. */
  readonly sessionRequests: Map<string, Promise<string | undefined>>
}

const createProviderSession = async (
  { ctx }: PaymentsContext,
  provider: CardProvider,
  checkout: NewCheckout,
  row: Row,
): Promise<string | undefined> => {
  const key = { agentId: checkout.agentId, checkoutId: row.checkoutId }
  const tenant = checkout.agentId as Tenant
  try {
    // The same key until a server error: a repeated call creates no second session.
    const idempotencyKey = `${row.checkoutId}.${row.providerAttempt}`
    const session = await provider.createSession({ ...checkout, ...key, idempotencyKey })
    await inTransaction(ctx, tenant, (tx) => updateProviderSession(tx, key, session))
    return session.url
  } catch (error) {
    if (!(error instanceof CardProviderError)) throw error
    // The provider would repeat its error under the same key, so the next attempt gets another key. No session of this
    // attempt was handed out.
    if (error.isServerError)
      await inTransaction(ctx, tenant, (tx) => updateProviderAttempt(tx, key, row.providerAttempt))
    for (let polls = 0; error.isInProgress && polls < busyPollsMax; polls++) {
      await setTimeout(busyPollMs)
      const current = await inTransaction(ctx, tenant, (tx) => findOpenCheckout(tx, checkout))
      if (current?.providerUrl) return current.providerUrl
    }
    return undefined
  }
}

/** The address of the provider's page, created where the checkout has none; undefined where that failed. */
const findOrCreatePage = async (
  context: PaymentsContext,
  provider: CardProvider,
  checkout: NewCheckout,
  row: Row,
): Promise<string | undefined> => {
  if (row.providerUrl) return row.providerUrl
  const { sessionRequests } = context
  const request =
    sessionRequests.get(row.checkoutId) ?? createProviderSession(context, provider, checkout, row)
  sessionRequests.set(row.checkoutId, request)
  try {
    return await request
  } finally {
    sessionRequests.delete(row.checkoutId)
  }
}

/** The operations of payments for other modules. */
export const makePayments = (ctx: Ctx, provider: CardProvider | undefined) => {
  const context: PaymentsContext = { ctx, sessionRequests: new Map() }
  const checkoutOf = (row: Row): OpenedCheckout => ({
    checkoutId: row.checkoutId,
    checkoutUrl: `${ctx.config.BASE_URL}/checkout/${row.checkoutId}`,
    expiresAt: row.expiresAt,
  })
  return {
    /**
     * The status of a payment that was made through a checkout of this agent, by any of its ids at the provider. The
     * payment of another agent, settled or not, is `foreign`, as one that does not exist.
     */
    findCardPayment: async (agentId: Tenant, id: string): Promise<CardPaymentStatus> => {
      // Payments of the provider's test mode prove nothing, except on a developer's machine.
      if (!provider || !(provider.livemode || ctx.config.loopback)) return 'foreign'
      try {
        const found = await provider.findPayment(id)
        const checkoutId = found?.checkoutId
        if (!found || checkoutId === undefined) return 'foreign'
        const isOwn = await inTransaction(ctx, agentId, (tx) => hasLiveCheckout(tx, { agentId, checkoutId }))
        return isOwn ? found.status : 'foreign'
      } catch (error) {
        if (!(error instanceof CardProviderError)) throw error
        throw providerUnreachable()
      }
    },
    acceptsCards: provider !== undefined,
    /** Opens a checkout that a person completes, or returns the open one: store the intent, call, store the session. */
    openCheckout: async (checkout: NewCheckout): Promise<OpenedCheckout> => {
      const isPayable = checkout.mode === 'live' && provider !== undefined
      checkRefusals(amountRefusals, { isPayable, amountUsdCents: checkout.amountUsdCents })
      const row = await inTransaction(ctx, checkout.agentId as Tenant, (tx) =>
        findOrInsertCheckout(tx, checkout),
      )
      // A slow payment is in progress: our page says so, and the provider's page would accept a second one.
      if (!isPayable || row.state === 'processing') return checkoutOf(row)
      const page = { url: await findOrCreatePage(context, provider, checkout, row) }
      const checkoutUrl = checkAndNarrow(pageRefusals, page, ({ url }) => url)
      return { ...checkoutOf(row), checkoutUrl }
    },
    /** Opens a sandbox checkout and completes it. The caller posts what it buys in the same transaction. */
    openTestCheckout: async (
      tx: Tx,
      checkout: NewCheckout & { readonly mode: 'test' },
    ): Promise<OpenedCheckout> => {
      const row = await findOrInsertCheckout(tx, checkout)
      if (!(await updateTestCompleted(tx, checkout.agentId, row.checkoutId)))
        throw new Error(
          `test checkout ${row.checkoutId} for ${checkout.purpose} ${checkout.reference} is ${row.state}, not created, while completing it`,
        )
      return checkoutOf(row)
    },
  }
}
export type Payments = ReturnType<typeof makePayments>

import type { Stripe } from 'stripe'
import type { Ctx } from '../../platform/ops/context.ts'
import type { RefundStateFact } from '../refunds/rules.ts'
import {
  cardEventTypes,
  readCardEvent,
  readCardPaymentStatus,
  readCheckoutId,
  readRefund,
  readSession,
  type CardEvent,
  type CardPaymentStatus,
  type SessionFact,
} from './facts.ts'

/** The provider did not do what was requested. */
export class CardProviderError extends Error {
  /** The provider stores such an error under the idempotency key and repeats it. */
  readonly isServerError: boolean
  /** Another request under the same idempotency key is running. */
  readonly isInProgress: boolean
  /** The provider's code of a final refusal: the same request gets the same response. */
  readonly refusal: string | undefined
  constructor(
    operation: string,
    response: { readonly status: number; readonly code: string | undefined },
    options: ErrorOptions,
  ) {
    const { status, code } = response
    super(`card provider request failed: ${operation}, status ${status}`, options)
    this.isServerError = status >= 500
    this.isInProgress = status === 409
    this.refusal = [400, 402, 404].includes(status) ? (code ?? 'refused').slice(0, 100) : undefined
  }
}

const nameCharsMax = 250
const pageSize = 100
/** At most 50,000 events in one run, newest first; where there are more, the log says so. */
const eventPagesMax = 500
/** At most 5,000 refunds of one payment. */
const refundPagesMax = 50

type ProviderParts = {
  readonly ctx: Pick<Ctx, 'config' | 'log' | 'clock'>
  readonly client: Stripe
  readonly asStripeError: (error: unknown) => Stripe.errors.StripeError | undefined
  readonly webhookSecret: string
  readonly livemode: boolean
}

/** What the log may say of an error: never the request, which holds the key. */
const errorFieldsOf = (error: unknown, known: Stripe.errors.StripeError | undefined) =>
  known
    ? { type: known.type, code: known.code, status: known.statusCode, providerRequestId: known.requestId }
    : { type: error instanceof Error ? error.name : 'unknown' }

const callProvider = async <T>(
  { ctx, asStripeError }: ProviderParts,
  operation: string,
  call: () => Promise<T>,
): Promise<T> => {
  try {
    return await call()
  } catch (error) {
    const known = asStripeError(error)
    ctx.log.warn({ operation, ...errorFieldsOf(error, known) }, 'card provider request failed')
    const response = { status: known?.statusCode ?? 0, code: known?.code }
    throw new CardProviderError(operation, response, { cause: error })
  }
}

const isMissing = ({ asStripeError }: ProviderParts, error: unknown): boolean =>
  asStripeError(error)?.code === 'resource_missing'

type SessionRequest = {
  readonly checkoutId: string
  readonly amountUsdCents: bigint
  readonly description: string
  readonly idempotencyKey: string
}
const createSession = async ({ ctx, client }: ProviderParts, request: SessionRequest) => {
  const { checkoutId, amountUsdCents, description, idempotencyKey } = request
  const returnUrlOf = (result: 'paid' | 'cancelled') =>
    `${ctx.config.BASE_URL}/checkout/${checkoutId}?returned=${result}`
  const session = await client.checkout.sessions.create(
    {
      mode: 'payment',
      client_reference_id: checkoutId,
      line_items: [
        {
          quantity: 1,
          price_data: {
            currency: 'usd',
            unit_amount: Number(amountUsdCents),
            product_data: { name: description.slice(0, nameCharsMax) },
          },
        },
      ],
      metadata: { checkout_id: checkoutId },
      payment_intent_data: { metadata: { checkout_id: checkoutId } },
      success_url: returnUrlOf('paid'),
      cancel_url: returnUrlOf('cancelled'),
    },
    { idempotencyKey },
  )
  if (session.url === null)
    throw new Error(
      `session ${session.id} is ${session.status} and has no page after its creation for checkout ${checkoutId}`,
    )
  return { sessionId: session.id, url: session.url }
}

const findSession = async (
  parts: ProviderParts,
  sessionId: string,
): Promise<SessionFact | 'unknown' | undefined> => {
  try {
    return readSession(
      await parts.client.checkout.sessions.retrieve(sessionId, { expand: ['payment_intent'] }),
    )
  } catch (error) {
    if (isMissing(parts, error)) return 'unknown'
    throw error
  }
}

/** A payment of the provider's account, and the checkout that it was made for. */
type FoundPayment = { readonly status: CardPaymentStatus; readonly checkoutId: string | undefined }

const findPayment = async (parts: ProviderParts, paymentRef: string): Promise<FoundPayment | undefined> => {
  const { client } = parts
  const kind = paymentRef.slice(0, 2)
  try {
    const object =
      kind === 'pi'
        ? await client.paymentIntents.retrieve(paymentRef, { expand: ['latest_charge'] })
        : kind === 'cs'
          ? await client.checkout.sessions.retrieve(paymentRef, {
              expand: ['payment_intent', 'payment_intent.latest_charge'],
            })
          : await client.charges.retrieve(paymentRef)
    return { status: readCardPaymentStatus(kind, object), checkoutId: readCheckoutId(object) }
  } catch (error) {
    if (isMissing(parts, error)) return undefined
    throw error
  }
}

type ProviderRefundRequest = {
  readonly refundId: string
  readonly paymentId: string
  readonly amountUsdCents: bigint
  readonly idempotencyKey: string
}
const requireRefund = (object: unknown, refundId: string): RefundStateFact => {
  const fact = readRefund(object)
  if (!fact) throw new Error(`refund ${refundId} not found in the response of the card provider`)
  return fact
}
const createRefund = async ({ client }: ProviderParts, request: ProviderRefundRequest) =>
  requireRefund(
    await client.refunds.create(
      {
        payment_intent: request.paymentId,
        amount: Number(request.amountUsdCents),
        reason: 'requested_by_customer',
        metadata: { refund_id: request.refundId },
      },
      { idempotencyKey: request.idempotencyKey },
    ),
    request.refundId,
  )
const findOwnRefund = async (
  { client }: ProviderParts,
  paymentId: string,
  refundId: string,
): Promise<RefundStateFact | undefined> => {
  let after: string | undefined
  for (let page = 0; page < refundPagesMax; page++) {
    const { data, has_more: more } = await client.refunds.list({
      payment_intent: paymentId,
      limit: pageSize,
      ...(after === undefined ? {} : { starting_after: after }),
    })
    const own = data
      .flatMap((refund) => readRefund(refund) ?? [])
      .find((refund) => refund.refundId === refundId && refund.state !== 'failed')
    after = data.at(-1)?.id
    if (own || !more || after === undefined) return own
  }
  // Not "none": the caller would refund the money twice.
  throw new Error(
    `refund ${refundId} not found in ${refundPagesMax} pages of refunds of payment ${paymentId}`,
  )
}

const listCardEvents = async (
  { ctx, client, livemode }: ProviderParts,
  since: Date,
): Promise<CardEvent[]> => {
  const events: CardEvent[] = []
  let after: string | undefined
  for (let page = 0; page < eventPagesMax; page++) {
    const { data, has_more: more } = await client.events.list({
      types: [...cardEventTypes],
      created: { gte: Math.floor(since.getTime() / 1_000) },
      limit: pageSize,
      ...(after === undefined ? {} : { starting_after: after }),
    })
    events.push(...data.flatMap((event) => readCardEvent(event, livemode) ?? []))
    after = data.at(-1)?.id
    if (!more || after === undefined) return events.toReversed()
  }
  ctx.log.error({ events: events.length }, 'card event page limit reached')
  return events.toReversed()
}

const readSignedEvent = (
  { ctx, client, webhookSecret, livemode }: ProviderParts,
  text: string,
  header: string | undefined,
): CardEvent | 'not ours' | undefined => {
  const nowMs = ctx.clock.now().getTime()
  try {
    const event = client.webhooks.constructEvent(
      text,
      header ?? '',
      webhookSecret,
      undefined,
      undefined,
      nowMs,
    )
    return readCardEvent(event, livemode) ?? 'not ours'
  } catch {
    return undefined
  }
}

type ProviderSettings = Pick<ProviderParts, 'ctx' | 'webhookSecret' | 'livemode'> & {
  readonly secretKey: string
}
/** Imports the SDK at the first call: its 220 modules would be an eighth of what an api loads at its start. */
const makePartsLoader = ({ secretKey, ...settings }: ProviderSettings): (() => Promise<ProviderParts>) => {
  let parts: Promise<ProviderParts> | undefined
  return () =>
    (parts ??= import('./client.ts').then(({ makeStripeClient, asStripeError }) => {
      const client = makeStripeClient({ secretKey, apiBase: settings.ctx.config.STRIPE_API_BASE })
      return { ...settings, client, asStripeError }
    }))
}

/** The card provider, where one is configured. Every call goes through the platform's outbound client. */
export const makeCardProvider = (ctx: Pick<Ctx, 'config' | 'log' | 'clock'>) => {
  const { STRIPE_SECRET_KEY: secretKey, STRIPE_WEBHOOK_SECRET: webhookSecret } = ctx.config
  if (secretKey === undefined || webhookSecret === undefined) return undefined
  const livemode = /^[sr]k_live_/.test(secretKey)
  const load = makePartsLoader({ ctx, secretKey, webhookSecret, livemode })
  const call = async <T>(operation: string, work: (parts: ProviderParts) => Promise<T>): Promise<T> => {
    const parts = await load()
    return callProvider(parts, operation, () => work(parts))
  }
  return {
    livemode,
    createSession: (request: SessionRequest) =>
      call('create a session', (parts) => createSession(parts, request)),
    /** The state of a session; `unknown` where the provider has no such session, so that nobody can pay it. */
    findSession: (sessionId: string) => call('read a session', (parts) => findSession(parts, sessionId)),
    /** A payment, by its own id (`pi_`), or that of its session (`cs_`) or charge (`ch_`, `py_`). */
    findPayment: (paymentRef: string) => call('read a payment', (parts) => findPayment(parts, paymentRef)),
    expireSession: (sessionId: string) =>
      call('expire a session', async ({ client }) =>
        readSession(await client.checkout.sessions.expire(sessionId)),
      ),
    createRefund: (request: ProviderRefundRequest) =>
      call('create a refund', (parts) => createRefund(parts, request)),
    /** The refund that carries our id, where an earlier request created it and its response was lost. */
    findOwnRefund: (paymentId: string, refundId: string) =>
      call('list refunds', (parts) => findOwnRefund(parts, paymentId, refundId)),
    findRefund: (providerRefundId: string) =>
      call('read a refund', async ({ client }) =>
        requireRefund(await client.refunds.retrieve(providerRefundId), providerRefundId),
      ),
    /** The provider's events since that time, oldest first, whether or not their webhooks arrived. */
    listCardEvents: (since: Date) => call('list events', (parts) => listCardEvents(parts, since)),
    /** An event whose signature is valid, or undefined. */
    readSignedEvent: async (text: string, header: string | undefined) =>
      readSignedEvent(await load(), text, header),
  }
}
export type CardProvider = NonNullable<ReturnType<typeof makeCardProvider>>

import { Stripe } from 'stripe'
import type { Ctx } from '../../platform/ops/context.ts'
import { makeStripeClient } from './client.ts'
import {
  cardEventTypes,
  readCardEvent,
  readRefund,
  readSession,
  readCardPaymentStatus,
  type CardEvent,
  type CardPaymentStatus,
  type SessionFact,
} from './facts.ts'
import type { RefundStateFact } from '../refunds/rules.ts'

/** The provider did not do what was asked. `answered` where it said so itself, with a fault of its own. */
export class CardProviderError extends Error {
  readonly isServerError: boolean
  readonly isInProgress: boolean
  /** Its own word for a no that stays a no: the same question gets the same answer. */
  readonly refusal: string | undefined
  constructor(status: number, code: string | undefined) {
    super('card provider request failed')
    this.isServerError = status >= 500
    this.isInProgress = status === 409
    this.refusal = [400, 402, 404].includes(status) ? (code ?? 'refused').slice(0, 100) : undefined
  }
}

type SessionRequest = {
  readonly checkoutId: string
  readonly amountUsdCents: bigint
  readonly description: string
  readonly idempotencyKey: string
}

const nameCharsMax = 250
/** At most 5,000 messages in one look. More are a flood, and the log says so. */
const pageSize = 100
const pagesMax = 50

/** What may be said of a fault in the log: never what was sent, for the key is in it. */
const errorFieldsOf = (error: unknown) =>
  error instanceof Stripe.errors.StripeError
    ? { type: error.type, code: error.code, status: error.statusCode, providerRequestId: error.requestId }
    : { type: error instanceof Error ? error.name : 'unknown' }

type ProviderRefundRequest = {
  readonly refundId: string
  readonly paymentId: string
  readonly amountUsdCents: bigint
  readonly idempotencyKey: string
}
const requireRefund = (object: unknown): RefundStateFact => {
  const fact = readRefund(object)
  if (!fact) throw new Error('the refund cannot be read')
  return fact
}

/** The card provider, where one is set up. Every call leaves by platform/outbound.ts. */
export const makeCardProvider = (ctx: Pick<Ctx, 'config' | 'log' | 'clock'>) => {
  const { STRIPE_SECRET_KEY: secretKey, STRIPE_WEBHOOK_SECRET: webhookSecret } = ctx.config
  if (secretKey === undefined || webhookSecret === undefined) return undefined
  const client = makeStripeClient({ secretKey, apiBase: ctx.config.STRIPE_API_BASE })
  const livemode = /^[sr]k_live_/.test(secretKey)

  const callProvider = async <T>(what: string, call: () => Promise<T>): Promise<T> => {
    try {
      return await call()
    } catch (error) {
      ctx.log.warn({ what, ...errorFieldsOf(error) }, 'card provider request failed')
      const status = error instanceof Stripe.errors.StripeError ? (error.statusCode ?? 0) : 0
      throw new CardProviderError(status, error instanceof Stripe.errors.StripeError ? error.code : undefined)
    }
  }
  const returnUrlOf = (checkoutId: string, how: string) =>
    `${ctx.config.BASE_URL}/checkout/${checkoutId}?returned=${how}`

  return {
    livemode,
    createSession: ({ checkoutId, amountUsdCents, description, idempotencyKey }: SessionRequest) =>
      callProvider('create a session', async () => {
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
            success_url: returnUrlOf(checkoutId, 'paid'),
            cancel_url: returnUrlOf(checkoutId, 'cancelled'),
          },
          { idempotencyKey },
        )
        if (session.url === null) throw new Error('the session has no page')
        return { sessionId: session.id, url: session.url }
      }),
    /** How a session stands; `unknown` where the provider has none of this name, so that nobody can pay it. */
    findSession: (sessionId: string): Promise<SessionFact | 'unknown' | undefined> =>
      callProvider('read a session', async () => {
        try {
          return readSession(
            await client.checkout.sessions.retrieve(sessionId, { expand: ['payment_intent'] }),
          )
        } catch (error) {
          if (error instanceof Stripe.errors.StripeError && error.code === 'resource_missing')
            return 'unknown'
          throw error
        }
      }),
    /** How a payment stands, by the id of itself (`pi_`), its session (`cs_`) or its charge (`ch_`, `py_`). */
    findPayment: (paymentRef: string): Promise<CardPaymentStatus> =>
      callProvider('look a payment up', async () => {
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
          return readCardPaymentStatus(kind, object)
        } catch (error) {
          if (error instanceof Stripe.errors.StripeError && error.code === 'resource_missing')
            return 'foreign'
          throw error
        }
      }),
    expireSession: (sessionId: string): Promise<SessionFact | undefined> =>
      callProvider('end a session', async () =>
        readSession(await client.checkout.sessions.expire(sessionId)),
      ),
    createRefund: ({ refundId, paymentId, amountUsdCents, idempotencyKey }: ProviderRefundRequest) =>
      callProvider('refund', async () =>
        requireRefund(
          await client.refunds.create(
            {
              payment_intent: paymentId,
              amount: Number(amountUsdCents),
              reason: 'requested_by_customer',
              metadata: { refund_id: refundId },
            },
            { idempotencyKey },
          ),
        ),
      ),
    /** The refund that carries our name, where an earlier question made it and its answer was lost. */
    findOwnRefund: (paymentId: string, refundId: string): Promise<RefundStateFact | undefined> =>
      callProvider('look for a refund', async () => {
        const { data } = await client.refunds.list({ payment_intent: paymentId, limit: pageSize })
        return data
          .flatMap((one) => readRefund(one) ?? [])
          .find((one) => one.refundId === refundId && one.state !== 'failed')
      }),
    findRefund: (providerRefundId: string): Promise<RefundStateFact> =>
      callProvider('read a refund', async () =>
        requireRefund(await client.refunds.retrieve(providerRefundId)),
      ),
    /** What the provider has said since then, oldest first, whether or not we heard it. */
    listCardEvents: (since: Date): Promise<CardEvent[]> =>
      callProvider('list what was said', async () => {
        const messages: CardEvent[] = []
        let after: string | undefined
        for (let page = 0; page < pagesMax; page++) {
          const { data, has_more: more } = await client.events.list({
            types: [...cardEventTypes],
            created: { gte: Math.floor(since.getTime() / 1_000) },
            limit: pageSize,
            ...(after === undefined ? {} : { starting_after: after }),
          })
          messages.push(...data.flatMap((event) => readCardEvent(event, livemode) ?? []))
          after = data.at(-1)?.id
          if (!more || after === undefined) return messages.toReversed()
        }
        ctx.log.error({ messages: messages.length }, 'card event page limit reached')
        return messages.toReversed()
      }),
    /** A message whose signature fits, or undefined. */
    readSignedEvent: (text: string, header: string | undefined): CardEvent | 'not ours' | undefined => {
      try {
        const event = client.webhooks.constructEvent(
          text,
          header ?? '',
          webhookSecret,
          undefined,
          undefined,
          ctx.clock.now().getTime(),
        )
        return readCardEvent(event, livemode) ?? 'not ours'
      } catch {
        return undefined
      }
    },
  }
}
export type CardProvider = NonNullable<ReturnType<typeof makeCardProvider>>
